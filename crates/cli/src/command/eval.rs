//! `skolem eval`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use skolem::evaluate::{Figures, evaluate, read_tests};
use skolem::program::Union;
use skolem::store::Folder;
use skolem::with_model;
use skolem_kg::Split;

use super::{cancellation, check};
use crate::output::{self, table};
use crate::progress;

/// Rank all entities for queries with hard answers: MRR and Hits@k per shape
#[derive(clap::Args)]
pub struct Args {
    /// The model's folder
    model: PathBuf,
    /// The query set
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Which split's answers are to be found
    #[arg(long, default_value = "test")]
    split: Split,
    /// At most this many queries of each shape
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Answer unions by De Morgan's law instead of one disjunct at a time
    #[arg(long)]
    de_morgan: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let (config, graph, weights) = Folder::at(&args.model).open()?;
    let tests = read_tests(&graph, &args.queries, args.split, args.most.unwrap_or(usize::MAX))?;
    let cancelled = cancellation();
    let bar = progress::items(tests.len() as u64, "ranking");
    let union = if args.de_morgan { Union::DeMorgan } else { Union::Disjuncts };
    let progress = |done| {
        bar.inc(done as u64);
        Ok(check(&cancelled)?)
    };
    let report =
        with_model!(&config.model, |model| evaluate(model, &weights, &tests, union, progress))?;
    bar.finish_and_clear();
    if !report.left_out.is_empty() {
        let shapes: Vec<&str> = report.left_out.iter().map(|shape| &shape[..]).collect();
        let kind = config.model.name();
        eprintln!("{kind} has no complement: shapes {} are left out", shapes.join(", "));
    }
    if args.json {
        let value = serde_json::json!({
            "shapes": report.shapes, "left_out": report.left_out, "epfo": report.epfo(),
            "negation": report.negation(), "mrr": report.mrr(),
        });
        output::json(out, &value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let row = |shape: &str, of: &Figures| {
        let Figures { queries, mrr, hits1, hits3, hits10 } = *of;
        let mut row = vec![shape.to_owned(), output::grouped(queries)];
        row.extend([mrr, hits1, hits3, hits10].map(percent));
        row
    };
    let mut rows: Vec<_> =
        report.in_order().into_iter().map(|(shape, of)| row(shape, of)).collect();
    for (name, mean) in
        [("mean without negation", report.epfo()), ("mean with negation", report.negation())]
    {
        if let Some(mean) = mean {
            rows.push(vec![name.into(), String::new(), percent(mean)]);
        }
    }
    writeln!(
        out,
        "{}",
        table(&["shape", "queries", "MRR", "Hits@1", "Hits@3", "Hits@10"], 1, rows)
    )?;
    Ok(ExitCode::SUCCESS)
}
