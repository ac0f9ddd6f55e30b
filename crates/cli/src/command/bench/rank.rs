//! `skolem bench rank`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use skolem::evaluate::{Queries, Test, Wanted, evaluate};
use skolem::model::{Logic, Model, Settings, Weights};
use skolem::program::Union;
use skolem::store::Folder;
use skolem_kg::dataset::{self, Answers, Example, Origin};
use skolem_kg::rng::Rng;
use skolem_kg::{Entity, Split};

use super::torch::{Ranked, Torch, Tuning};
use crate::command::open_graph;
use crate::output::{self, grouped, table};
use crate::progress;

/// Queries ranked by us and by PyTorch, with a model of random weights at the sizes of the paper
///
/// PyTorch ranks them one at a time with dense differences, as the published program does, and in batches with
/// torch.cdist. All ranks are compared, too.
#[derive(clap::Args)]
pub struct Args {
    /// The graph
    graph: PathBuf,
    /// The query set
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Which split's answers are to be found
    #[arg(long, default_value = "test")]
    split: Split,
    /// Half the numbers of an entity
    #[arg(long, default_value_t = 400)]
    dim: usize,
    /// Width of the hidden layers
    #[arg(long, default_value_t = 1600)]
    hidden: usize,
    /// At most this many queries of each shape
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Queries that PyTorch ranks one at a time, and in batches
    #[arg(long, value_name = "ONE,BATCHED", value_delimiter = ',', default_values_t = [100, 1000], num_args = 1)]
    few: Vec<usize>,
    /// A Python that has torch
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// The PyTorch program
    #[arg(long, value_name = "FILE", default_value = "benches/torch/rank.py")]
    torch_script: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A way to rank, on some of the queries.
#[derive(Serialize)]
struct Row {
    way: String,
    queries: usize,
    per_second: f64,
    /// How many times more queries a second we rank.
    ratio: f64,
    goal: &'static str,
    met: Option<bool>,
    /// How far the mean reciprocal rank is from ours on the same queries.
    differs: Option<f64>,
    /// The most memory of the process, in bytes.
    memory: Option<f64>,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = open_graph(&args.graph)?;
    let most = args.most.unwrap_or(usize::MAX);
    let wanted = Wanted { split: args.split, most, entailment: false };
    let queries = Queries::read(&graph, vec![args.queries.clone()], wanted, || Ok(()))?;
    let tests = queries.tests(|_| true)?.collect::<skolem::Result<Vec<Test>>>()?;
    let model = Logic { dim: args.dim, hidden: args.hidden, ..Logic::default() };
    model.check()?;
    let weights: Weights<f32> =
        model.weights(graph.entity_count(), graph.relation_count(), &mut Rng::new(1));
    let waiting = progress::waiting("ranking");
    let (seconds, _) = ours(&model, &weights, &tests)?;
    let per_second = tests.len() as f64 / seconds;
    let memory = super::updates::most_memory();
    waiting.finish_and_clear();
    let mut rows = vec![Row {
        way: "ours".into(),
        queries: tests.len(),
        per_second,
        ratio: 1.0,
        goal: "",
        met: None,
        differs: None,
        memory,
    }];
    let torch = Torch::find(&args.python, &args.torch_script);
    if let Err(reason) = &torch {
        eprintln!("SKIPPED: PyTorch is not measured, ours alone is: {reason}");
    }
    if let Ok(torch) = torch {
        let folder = tempfile::tempdir().context("a folder for the weights")?;
        Folder::at(folder.path()).write_weights(&weights, &Default::default())?;
        let ways = [
            ("published, one at a time", "published", Tuning::Default, args.few[0], 100.0),
            ("torch.cdist, 256 at a time", "cdist", Tuning::Default, args.few[1], 20.0),
            ("the same with large pages", "cdist", Tuning::Tuned, args.few[1], 20.0),
        ];
        for (name, way, tuning, few, least) in ways {
            let some = spread(&tests, few);
            let file = folder.path().join("queries.jsonl");
            write_tests(&file, &some)?;
            let waiting = progress::waiting(name);
            let found = theirs(&torch, args, folder.path(), &file, way, tuning)?;
            waiting.finish_and_clear();
            let (_, mrr) = ours(&model, &weights, &some)?;
            let ratio = per_second / found.per_second;
            rows.push(Row {
                way: name.into(),
                queries: some.len(),
                per_second: found.per_second,
                ratio,
                goal: if least == 100.0 { "≥ 100 ×" } else { "≥ 20 ×" },
                met: Some(ratio >= least),
                differs: Some((found.mrr - mrr).abs()),
                memory: Some(found.peak_rss_mb * f64::from(1 << 20)),
            });
        }
    }
    print(args, graph.entity_count(), &rows, out)?;
    Ok(ExitCode::SUCCESS)
}

/// Seconds to rank them, and their mean reciprocal rank, each query counting the same.
fn ours(model: &Logic, weights: &Weights<f32>, tests: &[Test]) -> Result<(f64, f64)> {
    let start = Instant::now();
    let report = evaluate(model, weights, tests.iter().map(Ok), Union::Disjuncts, |_| Ok(()))?;
    let seconds = start.elapsed().as_secs_f64();
    let sum: f64 = report.shapes.values().map(|of| of.mrr * of.queries as f64).sum();
    Ok((seconds, sum / tests.len().max(1) as f64))
}

fn theirs(
    torch: &Torch,
    args: &Args,
    folder: &Path,
    queries: &Path,
    way: &str,
    tuning: Tuning,
) -> Result<Ranked> {
    let weights = Folder::at(folder).file("weights.safetensors").display().to_string();
    let queries = queries.display().to_string();
    let (dim, hidden) = (args.dim.to_string(), args.hidden.to_string());
    let arguments = [
        "--weights",
        &weights,
        "--queries",
        &queries,
        "--way",
        way,
        "--dim",
        &dim,
        "--hidden",
        &hidden,
    ];
    torch.run(&arguments.map(str::to_owned), tuning)
}

/// Some of the queries, of all parts of the list alike.
fn spread(tests: &[Test], few: usize) -> Vec<Test> {
    let few = few.clamp(1, tests.len().max(1));
    (0..few.min(tests.len())).map(|at| tests[at * tests.len() / few].clone()).collect()
}

/// Queries with their answers, one JSON object a line.
fn write_tests(path: &Path, tests: &[Test]) -> Result<()> {
    let mut writer = dataset::create(path, Origin::default())?;
    let listed =
        |numbers: &[u32]| Answers::listed(numbers.iter().map(|number| Entity(*number)).collect());
    for test in tests {
        let (easy, hard) = (listed(&test.easy), listed(&test.hard));
        writer.write(&Example { query: test.query.clone(), easy, hard })?;
    }
    Ok(writer.finish()?)
}

fn print(args: &Args, entities: usize, rows: &[Row], out: &mut dyn Write) -> Result<()> {
    if args.json {
        return output::json(out, &rows);
    }
    let Args { dim, hidden, .. } = args;
    let threads = rayon::current_num_threads();
    writeln!(out, "d {dim}, h {hidden}, {} entities, {threads} threads\n", grouped(entities))?;
    let cells = |row: &Row| {
        let met = row.met.map_or("", |met| if met { "met" } else { "missed" });
        vec![
            row.way.clone(),
            grouped(row.queries),
            format!("{:.1}", row.per_second),
            format!("{:.1} ×", row.ratio),
            row.goal.to_owned(),
            met.to_owned(),
            row.differs.map_or(String::new(), |differs| format!("{differs:.1e}")),
            row.memory.map_or(String::new(), |bytes| format!("{:.2} GB", bytes / 1e9)),
        ]
    };
    let header =
        ["way", "queries", "queries/s", "ours is faster", "goal", "", "MRR differs by", "memory"];
    Ok(writeln!(out, "{}", table(&header, 1, rows.iter().map(cells).collect()))?)
}
