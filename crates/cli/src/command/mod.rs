//! One file a command: its arguments, what it does and what it prints.

pub mod ask;
pub mod bench;
pub mod completions;
pub mod dataset;
pub mod demo;
pub mod eval;
pub mod find;
pub mod import;
pub mod query;
pub mod reproduce;
pub mod sample;
pub mod stats;
pub mod train;

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use skolem_kg::exact::Stop;
use skolem_kg::{Error, Graph, GraphBuilder, Split};

use crate::args::{Args, Command};

/// The built-in graph.
const WORLD: &str = include_str!("../../../../data/world.tsv");

/// Runs a command; what it prints goes to `out`.
pub fn run(args: Args, out: &mut dyn Write) -> Result<ExitCode> {
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().context("cannot start the threads")?;
    }
    match args.command {
        Command::Demo(args) => demo::run(&args, out),
        Command::Import(args) => import::run(&args, out),
        Command::Stats(args) => stats::run(&args, out),
        Command::Find(args) => find::run(&args, out),
        Command::Ask(args) => ask::run(&args, out),
        Command::Query(args) => query::run(&args, out),
        Command::Train(args) => train::run(&args, out),
        Command::Eval(args) => eval::run(&args, out),
        Command::Sample(args) => sample::run(&args, out),
        Command::Dataset(args) => dataset::run(&args, out),
        Command::Reproduce(args) => reproduce::run(&args, out),
        Command::Bench(args) => bench::run(&args, out),
        Command::Completions(args) => completions::run(&args, out),
    }
}

/// Opens a graph; `@world` is the built-in one.
fn open_graph(path: &Path) -> Result<Graph> {
    if path == Path::new("@world") {
        return world(None);
    }
    Ok(Graph::open(path)?)
}

/// The built-in graph, with some edges held out for valid and test if a seed is given.
fn world(held_out: Option<u64>) -> Result<Graph> {
    let mut builder = GraphBuilder::default();
    for line in WORLD.lines() {
        let mut fields = line.split('\t');
        if let (Some(head), Some(relation), Some(tail)) =
            (fields.next(), fields.next(), fields.next())
        {
            builder.edge_named(Split::Train, head, relation, tail)?;
        }
    }
    if let Some(seed) = held_out {
        builder.hold_out(0.05, 0.05, seed)?;
    }
    Ok(builder.finish()?.0)
}

/// Refuses a file to write that is a folder or in no folder, before any work is done for it.
fn check_writable(file: &Path) -> Result<()> {
    if file.is_dir() {
        bail!("{}: is a folder, not a file to write", file.display());
    }
    match file.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            bail!("{}: there is no folder {}", file.display(), folder.display())
        }
        _ => Ok(()),
    }
}

/// A question given on the command line; `-` means standard input.
fn question_text(given: &str) -> Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut text = String::new();
    // One byte more than a question may have, so that a longer one is refused, not cut.
    let most = skolem_kg::query::MOST_TEXT as u64 + 1;
    std::io::stdin().lock().take(most).read_to_string(&mut text).context("standard input")?;
    Ok(text)
}

/// Becomes true when the user presses Ctrl-C or the system ends the program; a second time ends it
/// at once.
fn cancellation() -> Arc<AtomicBool> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = cancelled.clone();
    // Without a handler the program just ends, which is not worth failing for.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    cancelled
}

/// Fails if the work was cancelled.
fn check(cancelled: &AtomicBool) -> skolem_kg::Result<()> {
    match cancelled.load(Ordering::Relaxed) {
        true => Err(Error::Stopped(Stop::Cancelled)),
        false => Ok(()),
    }
}

/// Reads durations such as `500ms`, `10s`, `2m` or `1h`; a bare number is seconds.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic());
    let number: f64 =
        digits.parse().map_err(|_| format!("'{text}' is no time (as in 10s or 2m)"))?;
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit '{other}' (ms, s, m or h)")),
    };
    std::time::Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}
