//! `skolem eval`

mod figures;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use skolem::evaluate::{Queries, Uncertainty, Wanted, evaluate};
use skolem::model::{Model, Weights};
use skolem::program::Union;
use skolem::store::Folder;
use skolem::with_model;
use skolem_kg::store::write_atomically;
use skolem_kg::{Query, Split, dataset};

use super::{cancellation, check, check_writable};
use crate::output::{self, count};
use crate::progress;
use figures::Measured;

const AFTER_HELP: &str = "\
Unions are answered twice: 2u and up take the best score of their disjuncts, 2u-DM and up-DM are computed
as complements by De Morgan's law, and are in no mean. Answers that score the same share the mean of their
ranks.

Of a model with truth bounds it is also shown how its uncertainty goes with the number of answers.

Examples:
  skolem eval model --queries queries --split test
  skolem eval model --queries queries/valid.skq --split valid --csv valid.csv
  skolem eval model --queries FB15k-237-betae --cardinality --json";

/// Rank all entities for queries with hard answers: MRR and Hits@k per shape
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The model's folder
    model: PathBuf,
    /// The query set, or a folder with sets whose names have the split in them
    #[arg(long, value_name = "FILE|DIR")]
    queries: PathBuf,
    /// Which split's answers are to be found
    #[arg(long, default_value = "test")]
    split: Split,
    /// At most this many queries of each shape
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Find all answers on the split's edges, not only those that the smaller split lacks: for models that
    /// learnt from these edges (train.split)
    #[arg(long)]
    entailment: bool,
    /// Also tell the number of answers from each measure of uncertainty, by a net that learns from half of
    /// the queries
    #[arg(long)]
    cardinality: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Every figure into a file, a row a shape; `-` prints these instead of tables
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let file = args.csv.as_deref().filter(|path| path.as_os_str() != "-");
    let prints_csv = args.csv.is_some() && file.is_none();
    if prints_csv && args.json {
        return Err(skolem_kg::Error::Setting("--json or --csv -, not both".into()).into());
    }
    file.map_or(Ok(()), check_writable)?;
    let measured = measure(args)?;
    if let Some(file) = file {
        let text = measured.csv();
        write_atomically(file, |out| out.write_all(text.as_bytes()))?;
    }
    match (args.json, prints_csv) {
        (true, _) => output::json(out, &measured)?,
        (_, true) => out.write_all(measured.csv().as_bytes())?,
        _ => measured.print(out)?,
    }
    // What was measured comes before the notes about it, also where both go to one place.
    out.flush()?;
    for (shape, queries) in &measured.ranks.unranked {
        let queries = count(*queries, &format!("{shape} query"));
        eprintln!("note: left out {queries} without hard answers on the {} split", args.split);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args) -> Result<Measured> {
    let (config, graph, weights) = Folder::at(&args.model).open()?;
    let learnt = config.train.split()?;
    if !args.entailment && learnt >= args.split {
        eprintln!(
            "note: the model learnt from the {learnt} edges, so it was shown these answers \
             (--entailment ranks all that they entail)"
        );
    }
    let cancelled = cancellation();
    let files = match args.queries.is_dir() {
        true => dataset::files(&args.queries, args.split)?,
        false => vec![args.queries.clone()],
    };
    if files.len() > 1 {
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        eprintln!("note: ranking the queries of {}", names.join(", "));
    }
    let counter = progress::counter("queries");
    let most = args.most.unwrap_or(usize::MAX);
    let wanted = Wanted { split: args.split, most, entailment: args.entailment };
    let queries = Queries::read(&graph, files, wanted, || {
        counter.inc(1);
        Ok(check(&cancelled)?)
    })?;
    counter.finish_and_clear();
    if queries.count(|_| true) == 0 {
        bail!("{}: there is no query in it", args.queries.display());
    }
    let seed = config.train.seed;
    let measured =
        with_model!(&config.model, |model| measure_model(args, model, &weights, &queries, seed))?;
    if measured.ranks.shapes.is_empty() && measured.ranks.left_out.is_empty() {
        bail!(
            "{}: no query has a hard answer on the {} split: name another --split",
            args.queries.display(),
            args.split
        );
    }
    if !measured.ranks.left_out.is_empty() {
        let shapes: Vec<&str> = measured.ranks.left_out.iter().map(|shape| &shape[..]).collect();
        let kind = config.model.name();
        eprintln!("note: {kind} has no complement: shapes {} are left out", shapes.join(", "));
    }
    Ok(measured)
}

fn measure_model<M: Model<f32>>(
    args: &Args,
    model: &M,
    weights: &Weights<f32>,
    queries: &Queries<'_>,
    seed: u64,
) -> Result<Measured> {
    let cancelled = cancellation();
    let (all, unions) = (queries.count(|_| true), queries.count(Query::has_union));
    let bar = progress::items((all + unions) as u64, "ranking");
    let mut uncertainty = Uncertainty::new(model, args.cardinality);
    let tests = queries.tests(|_| true)?;
    let ranks = evaluate(model, weights, tests, Union::Disjuncts, |ranked| {
        uncertainty.add(model, ranked);
        bar.inc(ranked.tests.len() as u64);
        Ok(check(&cancelled)?)
    })?;
    let tests = queries.tests(Query::has_union)?;
    let de_morgan = evaluate(model, weights, tests, Union::DeMorgan, |ranked| {
        bar.inc(ranked.tests.len() as u64);
        Ok(check(&cancelled)?)
    })?;
    bar.finish_and_clear();
    let errors = match args.cardinality && !uncertainty.measures().is_empty() {
        false => None,
        true => {
            let steps = skolem::evaluate::cardinality::STEPS as usize;
            let bar =
                progress::items((steps * uncertainty.measures().len()) as u64, "counting answers");
            let errors = uncertainty.cardinality(seed, || {
                bar.inc(1);
                Ok(check(&cancelled)?)
            })?;
            bar.finish_and_clear();
            Some(errors)
        }
    };
    Ok(Measured::new(ranks, de_morgan, uncertainty.correlations(), errors))
}
