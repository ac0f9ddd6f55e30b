//! The `skolem` program: one file a command under `command/`.

mod args;
mod command;
mod failure;
mod output;
mod progress;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let done = command::run(args, &mut out).and_then(|code| {
        out.flush()?;
        Ok(code)
    });
    match done {
        Ok(code) => code,
        // Whoever reads has read enough, as in `skolem ask … | head`.
        Err(error) if failure::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = out.flush();
            failure::report(&error)
        }
    }
}
