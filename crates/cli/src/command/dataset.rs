//! `skolem dataset`

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use rayon::prelude::*;
use skolem_kg::dataset::{self, Answers, Difference, Example, Origin, ShapeComparison, Summary};
use skolem_kg::exact::Answering;
use skolem_kg::query::tuple::Tuple;
use skolem_kg::{Entity, Graph, Query, Shape, Split};

use super::{cancellation, check, check_writable, open_graph};
use crate::output::{self, count, grouped, table};
use crate::progress;

const AFTER_HELP: &str = "\
Formats, by the name of the file:
  *.skq              our own: compact and checksummed
  *.jsonl, *.jsonl.gz    one JSON object a line: t the shape, q the nested tuple, ne and nh the
                     number of easy and hard answers, easy and hard the answers themselves
  test-queries.pkl   KGReasoning's pickles (or train-, valid-), with the answers files beside them

Examples:
  skolem dataset stats queries/test.skq
  skolem dataset verify nell.kg betae.test.jsonl.gz --split test
  skolem dataset answer nell.kg test-queries.pkl test.skq --split test
  skolem dataset compare test-queries.pkl betae.test.jsonl.gz
  skolem dataset convert test.skq peer/test-queries.pkl";

/// Look at, check, answer, compare and convert query sets
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Count queries and mean answers by shape
    Stats {
        /// The query set
        file: PathBuf,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer every query exactly and compare with what the file says; exit code 1 if any differs
    Verify {
        /// The graph
        graph: PathBuf,
        /// The query set
        file: PathBuf,
        /// Easy answers are those of the next smaller split
        #[arg(long, value_name = "train|valid|test")]
        split: Split,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer every query exactly and write the set with its answers
    Answer {
        /// The graph
        graph: PathBuf,
        /// The query set
        file: PathBuf,
        /// The file to write
        out: PathBuf,
        /// Easy answers are those of the next smaller split
        #[arg(long, value_name = "train|valid|test")]
        split: Split,
    },
    /// Tell whether two sets have the same queries and answers; exit code 1 if not
    Compare {
        /// One query set
        a: PathBuf,
        /// Another
        b: PathBuf,
        /// Leave out shapes that only one of the sets has
        #[arg(long)]
        shared_shapes: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a set in another format
    Convert {
        /// The query set
        file: PathBuf,
        /// The file to write
        out: PathBuf,
    },
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    match &args.action {
        Action::Stats { file, json } => stats(out, file, *json),
        Action::Verify { graph, file, split, json } => {
            verify(out, &open_graph(graph)?, file, *split, *json)
        }
        Action::Answer { graph, file, out: to, split } => {
            answer(out, &open_graph(graph)?, file, to, *split)
        }
        Action::Compare { a, b, shared_shapes, json } => compare(out, a, b, *shared_shapes, *json),
        Action::Convert { file, out: to } => convert(out, file, to),
    }
}

/// Queries that are answered at once.
const CHUNK: usize = 2048;

#[derive(serde::Serialize)]
struct ShapeRow {
    shape: String,
    queries: usize,
    mean_easy: Option<f64>,
    mean_hard: Option<f64>,
}

fn stats(out: &mut dyn Write, file: &Path, json: bool) -> Result<ExitCode> {
    let counter = progress::counter("queries");
    let summary = Summary::of(dataset::read(file)?.inspect(|_| counter.inc(1)))?;
    counter.finish_and_clear();
    let rows = summary.shapes().iter().map(|numbers| ShapeRow {
        shape: numbers.shape.to_string(),
        queries: numbers.queries,
        mean_easy: numbers.mean_easy(),
        mean_hard: numbers.mean_hard(),
    });
    let rows: Vec<ShapeRow> = rows.collect();
    if json {
        output::json(out, &rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mean = |mean: Option<f64>| mean.map_or("—".to_owned(), |mean| format!("{mean:.2}"));
    let cells = rows
        .into_iter()
        .map(|row| vec![row.shape, grouped(row.queries), mean(row.mean_easy), mean(row.mean_hard)]);
    let header = ["shape", "queries", "mean easy answers", "mean hard answers"];
    writeln!(out, "{}", table(&header, 1, cells.collect()))?;
    writeln!(out, "{}", count(summary.queries(), "query"))?;
    Ok(ExitCode::SUCCESS)
}

/// The easy and hard answers of a query, computed.
struct Answered {
    example: Example,
    easy: Vec<Entity>,
    hard: Vec<Entity>,
}

/// Answers every query of a file, in order, on all threads.
fn answer_all(
    graph: &Graph,
    file: &Path,
    split: Split,
    mut each: impl FnMut(Answered) -> Result<()>,
) -> Result<()> {
    let cancelled = cancellation();
    let big = graph.edges(split)?;
    let small = split.smaller().map(|split| graph.edges(split)).transpose()?;
    let evaluators = || (Answering::new(big), small.map(Answering::new));
    let one = |(big, small): &mut (Answering<'_>, Option<Answering<'_>>), example: Example| {
        check(&cancelled)?;
        known(graph, &example.query)?;
        let all = big.set(&example.query)?;
        let count = graph.entity_count();
        let (easy, hard) = match small {
            Some(small) => {
                let easy = small.set(&example.query)?;
                (easy.clone(), all.intersection(easy.complement()))
            }
            // Train queries have one graph, and all their answers are easy.
            None => (all.clone(), all.clone().intersection(all.complement())),
        };
        let [easy, hard] = [easy, hard].map(|set| set.into_sorted(count));
        Ok(Answered { example, easy, hard })
    };
    let counter = progress::counter("queries");
    let mut examples = dataset::read(file)?;
    loop {
        let chunk: Vec<Example> =
            examples.by_ref().take(CHUNK).collect::<skolem_kg::Result<_>>()?;
        if chunk.is_empty() {
            break;
        }
        let done: skolem_kg::Result<Vec<Answered>> =
            chunk.into_par_iter().with_min_len(16).map_init(evaluators, one).collect();
        for answered in done? {
            counter.inc(1);
            each(answered)?;
        }
    }
    counter.finish_and_clear();
    Ok(())
}

/// Refuses queries about entities or relations that the graph does not have.
fn known(graph: &Graph, query: &Query) -> skolem_kg::Result<()> {
    let fits = query.terms().iter().all(|term| match term {
        Query::Anchor(entity) => entity.index() < graph.entity_count(),
        Query::Follow(relation, _) => relation.index() < graph.relation_count(),
        _ => true,
    });
    match fits {
        true => Ok(()),
        false => Err(skolem_kg::Error::Setting(format!(
            "the query {} speaks of an entity or relation that the graph does not have \
             (is it the graph that the queries were made for?)",
            tuple(query)
        ))),
    }
}

fn tuple(query: &Query) -> String {
    serde_json::to_string(&Tuple::of(query)).unwrap_or_default()
}

#[derive(Default, serde::Serialize)]
struct Verified {
    queries: usize,
    checked: usize,
    different: usize,
    /// The first few that differ.
    differences: Vec<String>,
}

fn verify(
    out: &mut dyn Write,
    graph: &Graph,
    file: &Path,
    split: Split,
    json: bool,
) -> Result<ExitCode> {
    let mut verified = Verified::default();
    answer_all(graph, file, split, |Answered { example, easy, hard }| {
        verified.queries += 1;
        let said = [(&example.easy, &easy), (&example.hard, &hard)];
        verified.checked += usize::from(said.iter().all(|(said, _)| **said != Answers::Unknown));
        let differs = said.iter().any(|(said, found)| match said {
            Answers::Unknown => false,
            Answers::Count(count) => *count != found.len(),
            Answers::Listed(list) => list != *found,
        });
        if differs {
            verified.different += 1;
            if verified.differences.len() < 10 {
                let numbers = said.map(|(said, found)| (said.count(), found.len()));
                let [(easy, ours), (hard, our_hard)] = numbers;
                let said =
                    |count: Option<usize>| count.map_or("?".into(), |count| count.to_string());
                verified.differences.push(format!(
                    "{}: the file says {} easy and {} hard answers, the graph {ours} and {our_hard}",
                    tuple(&example.query),
                    said(easy),
                    said(hard)
                ));
            }
        }
        Ok(())
    })?;
    if json {
        output::json(out, &verified)?;
    } else {
        verified.differences.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(
            out,
            "{}: {}, {} with answers to check, {}",
            file.display(),
            count(verified.queries, "query"),
            grouped(verified.checked),
            count(verified.different, "difference")
        )?;
    }
    Ok(ExitCode::from(u8::from(verified.different > 0)))
}

fn answer(
    out: &mut dyn Write,
    graph: &Graph,
    file: &Path,
    to: &Path,
    split: Split,
) -> Result<ExitCode> {
    check_writable(to)?;
    let origin = Origin { graph: graph.fingerprint(), split: Some(split) };
    let mut writer = dataset::create(to, origin)?;
    let mut queries = 0;
    answer_all(graph, file, split, |answered| {
        queries += 1;
        let [easy, hard] = [answered.easy, answered.hard].map(Answers::Listed);
        Ok(writer.write(&Example { query: answered.example.query, easy, hard })?)
    })?;
    writer.finish()?;
    writeln!(out, "{}: {} with answers", to.display(), count(queries, "query"))?;
    Ok(ExitCode::SUCCESS)
}

fn compare(
    out: &mut dyn Write,
    a: &Path,
    b: &Path,
    shared_shapes: bool,
    json: bool,
) -> Result<ExitCode> {
    let counter = progress::counter("queries");
    let shared = match shared_shapes {
        true => Some(shapes_of(a)?.intersection(&shapes_of(b)?).cloned().collect()),
        false => None,
    };
    let wanted = |example: &skolem_kg::Result<Example>| {
        counter.inc(1);
        let shape = example.as_ref().map(|example| example.query.shape().canonical());
        shared.as_ref().is_none_or(|shared: &BTreeSet<Shape>| {
            shape.map_or(true, |shape| shared.contains(&shape))
        })
    };
    let [a, b] = [dataset::read(a)?, dataset::read(b)?].map(|set| set.filter(&wanted));
    let compared = dataset::compare(a, b)?;
    counter.finish_and_clear();
    let same = compared.is_same();
    let first = compared.first_difference.as_ref().map(Difference::to_string);
    let rows: Vec<Compared> = compared.shapes.iter().map(Compared::of).collect();
    if json {
        output::json(out, &serde_json::json!({ "same": same, "first": first, "shapes": rows }))?;
    } else {
        let numbers = |row: &Compared| {
            [row.left, row.right, row.both, row.answers_compared, row.answers_different]
                .map(grouped)
        };
        let cells = rows
            .iter()
            .map(|row| std::iter::once(row.shape.clone()).chain(numbers(row)).collect::<Vec<_>>());
        let header = ["shape", "left", "right", "in both", "answers compared", "different"];
        writeln!(out, "{}", table(&header, 1, cells.collect()))?;
        writeln!(out, "{}", first.unwrap_or_else(|| "the same".into()))?;
    }
    Ok(ExitCode::from(u8::from(!same)))
}

fn shapes_of(file: &Path) -> Result<BTreeSet<Shape>> {
    let summary = Summary::of(dataset::read(file)?)?;
    Ok(summary.shapes().iter().map(|numbers| numbers.shape.clone()).collect())
}

#[derive(serde::Serialize)]
struct Compared {
    shape: String,
    left: usize,
    right: usize,
    both: usize,
    answers_compared: usize,
    answers_different: usize,
}

impl Compared {
    fn of(numbers: &ShapeComparison) -> Compared {
        Compared {
            shape: numbers.shape.to_string(),
            left: numbers.left,
            right: numbers.right,
            both: numbers.both,
            answers_compared: numbers.answers_compared,
            answers_different: numbers.answers_different,
        }
    }
}

fn convert(out: &mut dyn Write, file: &Path, to: &Path) -> Result<ExitCode> {
    check_writable(to)?;
    let counter = progress::counter("queries");
    let mut writer = dataset::create(to, Origin::default())?;
    let mut queries = 0;
    for example in dataset::read(file)? {
        writer.write(&example?)?;
        queries += 1;
        counter.inc(1);
    }
    writer.finish()?;
    counter.finish_and_clear();
    writeln!(out, "{}: {}", to.display(), count(queries, "query"))?;
    Ok(ExitCode::SUCCESS)
}
