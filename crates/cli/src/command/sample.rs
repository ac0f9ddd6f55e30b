//! `skolem sample`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use skolem_kg::dataset::{self, Answers, Example, Origin};
use skolem_kg::query::shape::NAMED;
use skolem_kg::sample::{Outcome, Settings, sample};
use skolem_kg::{Graph, Shape, Split};

use super::{cancellation, check, open_graph};
use crate::output::{self, count, grouped, table};
use crate::progress;

const AFTER_HELP: &str = "\
Train queries are drawn from the train edges, with all their answers. Valid and test queries have
at least one hard answer: one that the smaller split does not entail.

Without --count, train gets as BetaE's data sets have: every 1p query, as many of each other shape,
a tenth as many of those with negation; valid and test get every 1p query, and 5,000 of each other.

Examples:
  skolem sample mine.kg --out queries
  skolem sample mine.kg --out queries --split test --shape 2i --shape 'p(p(e) & !p(e))' --count 500
  skolem sample mine.kg --out peer --format pickle";

/// Draw queries of any shape from a graph, with their answers
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The graph
    graph: PathBuf,

    /// The folder to write to, one file a split
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,

    /// Which sets to draw [default: those that the graph has edges for]
    #[arg(long, value_name = "train|valid|test", value_delimiter = ',')]
    split: Vec<Split>,

    /// A shape by name or pattern; repeat for more [default: the 10 of training, or all 14]
    #[arg(long, value_name = "SHAPE")]
    shape: Vec<Shape>,

    /// How many queries of each shape, 1p too
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// Leave out valid and test queries with more hard answers than this
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    most_hard: usize,

    /// Same seed, same queries
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// The format of the files
    #[arg(long, value_enum, default_value_t = Format::Skq)]
    format: Format,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Our own: compact and checksummed
    Skq,
    /// JSON lines
    Jsonl,
    /// JSON lines, gzipped
    JsonlGz,
    /// KGReasoning's pickles
    Pickle,
}

impl Format {
    fn file(self, split: Split) -> String {
        match self {
            Format::Skq => format!("{split}.skq"),
            Format::Jsonl => format!("{split}.jsonl"),
            Format::JsonlGz => format!("{split}.jsonl.gz"),
            Format::Pickle => format!("{split}-queries.pkl"),
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "a number from 1 on".into())
}

/// How many queries of a shape valid and test get, as in the published sets.
const PER_SHAPE: usize = 5000;

#[derive(serde::Serialize)]
struct Row {
    split: &'static str,
    shape: String,
    wanted: Option<usize>,
    #[serde(flatten)]
    outcome: Outcome,
    mean_easy: f64,
    mean_hard: f64,
    seconds: f64,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = open_graph(&args.graph)?;
    let splits: Vec<Split> = match args.split.is_empty() {
        true => Split::ALL.into_iter().filter(|split| graph.edges_added_by(*split) > 0).collect(),
        false => args.split.clone(),
    };
    if args.out.is_file() {
        bail!("{}: is a file, not a folder to write to", args.out.display());
    }
    std::fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let mut rows = Vec::new();
    for split in splits {
        draw(&graph, split, args, &mut rows)?;
    }
    match args.json {
        true => output::json(out, &rows)?,
        false => print(out, &rows)?,
    }
    // What was drawn comes before the notes about it, also where both go to one place.
    out.flush()?;
    for row in rows.iter().filter(|row| row.wanted.is_some_and(|wanted| row.outcome.drawn < wanted))
    {
        eprintln!(
            "note: found only {} of the {} {} queries wanted for {}",
            row.outcome.drawn,
            row.wanted.unwrap_or(0),
            row.shape,
            row.split
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws all queries of one split into one file.
fn draw(graph: &Graph, split: Split, args: &Args, rows: &mut Vec<Row>) -> Result<()> {
    let path = args.out.join(args.format.file(split));
    let origin = Origin { graph: graph.fingerprint(), split: Some(split) };
    let mut writer = dataset::create(&path, origin)?;
    let cancelled = cancellation();
    for shape in shapes(split, args)? {
        let start = Instant::now();
        let wanted = wanted(graph, split, &shape, args)?;
        let what = format!("{split} {shape}");
        let bar = match wanted {
            Some(wanted) => progress::items(wanted as u64, &what),
            None => progress::counter(&what),
        };
        let settings = Settings {
            shape: shape.clone(),
            split,
            count: wanted,
            most_hard: args.most_hard,
            seed: args.seed,
        };
        let (mut easy, mut hard) = (0, 0);
        let outcome = sample(graph, &settings, |drawn| {
            check(&cancelled)?;
            easy += drawn.easy.len();
            hard += drawn.hard.len();
            bar.inc(1);
            writer.write(&Example {
                query: drawn.query,
                easy: Answers::Listed(drawn.easy),
                hard: Answers::Listed(drawn.hard),
            })
        })?;
        bar.finish_and_clear();
        let mean = |sum: usize| sum as f64 / outcome.drawn.max(1) as f64;
        rows.push(Row {
            split: split.name(),
            shape: shape.to_string(),
            wanted,
            outcome,
            mean_easy: mean(easy),
            mean_hard: mean(hard),
            seconds: start.elapsed().as_secs_f64(),
        });
    }
    writer.finish()?;
    Ok(())
}

fn shapes(split: Split, args: &Args) -> Result<Vec<Shape>> {
    if !args.shape.is_empty() {
        return Ok(args.shape.clone());
    }
    // Those that only testing has: a model must generalise to them.
    let untrained = ["pi", "ip", "2u", "up"];
    let names = NAMED.iter().map(|(name, _)| *name);
    let names = names.filter(|name| split != Split::Train || !untrained.contains(name));
    names.map(|name| Ok(name.parse()?)).collect()
}

fn wanted(graph: &Graph, split: Split, shape: &Shape, args: &Args) -> Result<Option<usize>> {
    let is_1p = shape.name() == Some("1p");
    Ok(match (args.count, split) {
        (Some(count), _) => Some(count),
        (None, _) if is_1p => None,
        (None, Split::Train) => {
            let all = graph.edges(Split::Train)?.run_count();
            Some(if shape.has_negation() { all / 10 } else { all })
        }
        (None, _) => Some(PER_SHAPE),
    })
}

fn print(out: &mut dyn Write, rows: &[Row]) -> Result<()> {
    let cells = rows.iter().map(|row| {
        let left_out =
            row.outcome.broken + row.outcome.unfit + row.outcome.too_many + row.outcome.repeated;
        vec![
            row.split.to_owned(),
            row.shape.clone(),
            grouped(row.outcome.drawn),
            format!("{:.1}", row.mean_easy),
            format!("{:.1}", row.mean_hard),
            grouped(left_out),
            format!("{:.1}", row.seconds),
        ]
    });
    let header = ["split", "shape", "queries", "easy", "hard", "attempts left out", "seconds"];
    writeln!(out, "{}", table(&header, 2, cells.collect()))?;
    let all: usize = rows.iter().map(|row| row.outcome.drawn).sum();
    let seconds: f64 = rows.iter().map(|row| row.seconds).sum();
    writeln!(out, "{} in {seconds:.1} s", count(all, "query"))?;
    Ok(())
}
