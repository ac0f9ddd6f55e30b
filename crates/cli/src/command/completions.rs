//! `skolem completions`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a script that completes commands and options in a shell
#[derive(clap::Args)]
#[command(after_help = "Example: skolem completions bash > /etc/bash_completion.d/skolem")]
pub struct Args {
    /// The shell to write for
    shell: Shell,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::Args::command(), "skolem", &mut script);
    out.write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
