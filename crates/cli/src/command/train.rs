//! `skolem train`

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use indicatif::ProgressBar;
use skolem::config::Config;
use skolem::evaluate::{Test, read_tests, sample_tests};
use skolem::store::Folder;
use skolem::train::feed::Example;
use skolem::train::run::{Event, Limit, Moment, Outcome, Plan, check, train};
use skolem_kg::dataset::{self, Answers};
use skolem_kg::{Graph, Split};

use super::{cancellation, duration, open_graph};
use crate::output::{self, count, grouped};
use crate::progress;

/// Learn a model of a graph
///
/// Without --queries, training queries are sampled from the graph while it learns, and valid queries before.
/// Ctrl-C saves and ends; --resume goes on from there.
#[derive(clap::Args)]
pub struct Args {
    /// The graph (.kg, or @world); not needed with --resume
    #[arg(required_unless_present = "resume")]
    graph: Option<PathBuf>,
    /// The folder that the model goes into
    #[arg(long, value_name = "MODEL")]
    out: PathBuf,
    /// A folder with query sets: files whose names have `train` in them, and `valid`
    #[arg(long, value_name = "DIR")]
    queries: Option<PathBuf>,
    /// A file with settings; see docs/recipes.md
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, as in train.rate=0.001 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How long to learn, as in 90s, 30m or 2h [default: 30m]
    #[arg(long, value_parser = duration, conflicts_with = "updates")]
    time: Option<Duration>,
    /// How many updates to make, instead of --time
    #[arg(long, value_name = "N")]
    updates: Option<u64>,
    /// Go on with the model in --out
    #[arg(long, conflicts_with_all = ["config", "set"])]
    resume: bool,
    /// Print every knob with its value, and learn nothing
    #[arg(long)]
    show_config: bool,
    /// The outcome as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    if args.show_config {
        write!(out, "{}", Config::layered(args.config.as_deref(), &args.set)?.to_toml()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = Folder::at(&args.out);
    let given = match (args.time, args.updates) {
        (Some(time), _) => Some(Limit::Seconds(time.as_secs_f64())),
        (_, Some(updates)) => Some(Limit::Updates(updates)),
        _ => None,
    };
    let (config, graph, limit) = match args.resume {
        true => {
            let (about, config) = folder.description()?;
            let graph = folder.graph(&about)?;
            (config, graph, given.unwrap_or(about.limit))
        }
        false => {
            let config = Config::layered(args.config.as_deref(), &args.set)?;
            let Some(path) = &args.graph else { bail!("name a graph to learn from") };
            let graph = open_graph(path)?;
            folder.check_free(&graph)?;
            (config, graph, given.unwrap_or(Limit::Seconds(1800.0)))
        }
    };
    check(&graph, &config)?;
    let cancelled = cancellation();
    let examples = args.queries.as_deref().map(|queries| examples(queries, &cancelled));
    let examples = examples.transpose()?;
    let tests = tests(&graph, &config, args.queries.as_deref())?;
    let plan = Plan {
        graph: &graph,
        config: &config,
        limit,
        examples,
        tests,
        folder: &folder,
        resume: args.resume,
        cancelled: &cancelled,
    };
    let outcome = learn(plan)?;
    report(args, &outcome, out)?;
    Ok(if outcome.cancelled { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

/// Learns with a progress bar, or with log lines where there is no terminal.
pub fn learn(plan: Plan<'_>) -> skolem::Result<Outcome> {
    let mut watch = Watch::new();
    let outcome = train(plan, |event| watch.see(&event));
    watch.bar.finish_and_clear();
    outcome
}

/// Query sets of a folder whose names have a word in them: `train.skq`, `betae.valid.jsonl.gz`.
pub fn files_with(folder: &Path, word: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).map_err(skolem::Error::io(folder))?;
    for entry in entries {
        let path = entry.map_err(skolem::Error::io(folder))?.path();
        if has_word(&path, word) && dataset::Format::of(&path).is_ok() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether the name of a file has a word in it.
pub fn has_word(file: &Path, word: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.split(['.', '-', '_']).any(|part| part == word)
}

/// The same, of which there must be some.
fn some_with(folder: &Path, word: &str) -> Result<Vec<PathBuf>> {
    let found = files_with(folder, word)?;
    if found.is_empty() {
        bail!("{}: there is no query set with '{word}' in its name", folder.display());
    }
    Ok(found)
}

fn examples(folder: &Path, cancelled: &AtomicBool) -> Result<Vec<Example>> {
    let mut examples = Vec::new();
    let counter = progress::counter("training queries");
    for file in some_with(folder, "train")? {
        for example in dataset::read(&file)? {
            let example = example?;
            super::check(cancelled)?;
            let answers = match example.easy {
                Answers::Listed(entities) if !entities.is_empty() => {
                    Some(entities.into_iter().map(|entity| entity.0).collect())
                }
                _ => None,
            };
            examples.push(Example { query: example.query, answers });
            counter.inc(1);
        }
    }
    counter.finish_and_clear();
    Ok(examples)
}

fn tests(graph: &Graph, config: &Config, queries: Option<&Path>) -> Result<Vec<Test>> {
    if config.evaluate.times == 0 || graph.edges_added_by(Split::Valid) == 0 {
        return Ok(Vec::new());
    }
    let most = config.evaluate.queries;
    let Some(folder) = queries else {
        return Ok(sample_tests(graph, Split::Valid, most, config.train.seed)?);
    };
    let mut tests = Vec::new();
    for file in some_with(folder, "valid")? {
        tests.extend(read_tests(graph, &file, Split::Valid, most)?);
    }
    Ok(tests)
}

/// Shows how a run goes.
struct Watch {
    bar: ProgressBar,
    is_terminal: bool,
    started: Instant,
    first: Option<Moment>,
    said: Instant,
    mrr: Option<f64>,
}

impl Watch {
    fn new() -> Watch {
        let now = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        let bar = progress::share();
        Watch { bar, is_terminal, started: now, first: None, said: now, mrr: None }
    }

    fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Start { update, weights, missing, left_out } => {
                if !left_out.is_empty() {
                    self.line(&format!(
                        "this kind of model has no complement: shapes {} are left out",
                        left_out.join(", ")
                    ));
                }
                if !missing.is_empty() {
                    self.line(&format!(
                        "no query of shape {} is there: left out",
                        missing.join(", ")
                    ));
                }
                let from = if *update > 0 {
                    format!(", from update {}", grouped(*update as usize))
                } else {
                    String::new()
                };
                self.line(&format!("learning {} numbers{from}", grouped(*weights)));
                self.started = Instant::now();
            }
            Event::Update(at) => {
                let first = *self.first.get_or_insert(*at);
                let speed =
                    (at.update - first.update) as f64 / (at.seconds - first.seconds).max(1e-9);
                let mrr = self
                    .mrr
                    .map(|mrr| format!(", valid MRR {:.1}", 100.0 * mrr))
                    .unwrap_or_default();
                let text = format!("loss {:.3}, {speed:.1} updates/s{mrr}", at.loss);
                self.bar.set_position((at.progress.min(1.0) * 1e4) as u64);
                self.bar.set_message(format!("{text}{}", left(&first, at)));
                if !self.is_terminal && self.said.elapsed() > Duration::from_secs(30) {
                    self.said = Instant::now();
                    self.line(&format!("update {}: {text}{}", at.update, left(&first, at)));
                }
            }
            Event::Evaluated { at, report, best } => {
                self.mrr = report.mrr();
                let average = |share: Option<f64>| {
                    share.map_or("–".into(), |share| format!("{:.1}", 100.0 * share))
                };
                let mark = if *best { " (best so far)" } else { "" };
                self.line(&format!(
                    "update {} at {:.0} s: loss {:.3}, valid MRR without negation {}, with {}{mark}",
                    at.update, at.seconds, at.loss, average(report.epfo()), average(report.negation())
                ));
            }
            Event::Saved(_) => {}
        }
    }

    fn line(&self, text: &str) {
        match self.is_terminal {
            true => self.bar.println(text),
            false => eprintln!("{text}"),
        }
    }
}

/// The time that is left, as the speed so far has it.
fn left(first: &Moment, at: &Moment) -> String {
    let done = at.progress - first.progress;
    if done <= 0.0 {
        return String::new();
    }
    let seconds = ((at.seconds - first.seconds) * (1.0 - at.progress) / done).max(0.0) as u64;
    match seconds {
        0..60 => format!(", {seconds} s left"),
        _ => format!(", {}:{:02} min left", seconds / 60, seconds % 60),
    }
}

fn report(args: &Args, outcome: &Outcome, out: &mut dyn Write) -> Result<()> {
    if args.json {
        let value = serde_json::json!({
            "model": args.out,
            "updates": outcome.update,
            "seconds": outcome.seconds,
            "waited": outcome.waited,
            "best_mrr": outcome.best.map(|(mrr, _)| mrr),
            "best_update": outcome.best.map(|(_, update)| update),
            "cancelled": outcome.cancelled,
            "stopped_early": outcome.stopped_early,
        });
        return output::json(out, &value);
    }
    let updates = count(outcome.update as usize, "update");
    let how = match (outcome.cancelled, outcome.stopped_early) {
        (true, _) => " (stopped; --resume goes on)",
        (_, true) => " (stopped early: the valid MRR did not get better)",
        _ => "",
    };
    writeln!(out, "{}: {updates} in {:.0} s{how}", args.out.display(), outcome.seconds)?;
    if let Some((mrr, update)) = outcome.best {
        writeln!(out, "best valid MRR {:.1} at update {update}", 100.0 * mrr)?;
    }
    Ok(())
}
