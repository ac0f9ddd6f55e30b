//! `skolem bench`

mod rank;
mod report;
mod torch;
mod train;
mod updates;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

/// Measure this program against others, on this machine
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    Rank(rank::Args),
    Train(train::Args),
    /// One kind of update, in a process of its own; one line of JSON
    #[command(hide = true)]
    Update(updates::Args),
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    match &args.bench {
        Bench::Rank(args) => rank::run(args, out),
        Bench::Train(args) => train::run(args, out),
        Bench::Update(args) => updates::run(args, out),
    }
}
