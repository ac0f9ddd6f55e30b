//! `skolem reproduce`

mod data;
mod measure;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use skolem::config::Config;
use skolem::report::models::{self, Entry};
use skolem::report::{self, Findings};
use skolem::store::Folder;
use skolem::train::run::{Limit, Outcome, Plan, check};
use skolem_kg::Graph;

use self::data::Sets;
use super::train::learn;
use super::{cancellation, duration};
use crate::output::table;

const AFTER_HELP: &str = "\
DATA is a folder as `skolem import` reads it, or a graph with valid and test edges. Query sets are those named
with --valid and --test; else the ones in the folder that have `valid` and `test` in their names; else they are sampled.
What is asked for and killed goes on where it was when it is asked for again; models that are done stay as they are.

Examples:
  skolem reproduce FB15k-237/ --time 30m --out report
  skolem reproduce NELL.kg --test nell/test-queries.pkl --time 2h --out report --models logic-point,logic-point-min";

/// Learn models for the same time, and report their figures beside the paper's
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// A KGReasoning folder, or a graph (.kg)
    data: PathBuf,
    /// The folder that models, findings and the report go into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How long each model learns, as in 90s, 30m or 2h [default: 30m]
    #[arg(long, value_parser = duration, conflicts_with = "updates")]
    time: Option<Duration>,
    /// How many updates each makes, instead of --time
    #[arg(long, value_name = "N")]
    updates: Option<u64>,
    /// The models, with commas between them
    #[arg(long, value_name = "LABELS", value_delimiter = ',', default_values = models::USUAL)]
    models: Vec<String>,
    /// Queries to measure progress with
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    /// Queries to test on
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// At most this many test queries of each shape [default: all; 1000 if they are sampled]
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Same seed, same result
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// A file with settings of all models; see docs/recipes.md
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting of all models, as in model.dim=400 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// What is to be done for every model.
struct Work<'a> {
    args: &'a Args,
    graph: &'a Graph,
    limit: Limit,
    sets: &'a Sets,
    cancelled: &'a AtomicBool,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let limit = match (args.time, args.updates) {
        (_, Some(updates)) => Limit::Updates(updates),
        (time, _) => Limit::Seconds(time.map_or(1800.0, |time| time.as_secs_f64())),
    };
    // All that can be wrong with a model is said before the first one learns.
    let asked = args.models.iter().map(|label| model(args, label)).collect::<Result<Vec<_>>>()?;
    let Some((_, first)) = asked.first() else { return Ok(ExitCode::SUCCESS) };
    let graph = data::graph(&args.data)?;
    asked.iter().try_for_each(|(_, config)| check(&graph, config))?;
    let cancelled = cancellation();
    let sets = Sets::find(args, &graph, first)?;
    let work = Work { args, graph: &graph, limit, sets: &sets, cancelled: &cancelled };
    for (entry, config) in &asked {
        if !work.is_done(entry, config)? {
            eprintln!("{}", entry.name);
            let learnt = work.learn(entry, config)?;
            if learnt.cancelled {
                eprintln!("stopped; the same command goes on");
                return Ok(ExitCode::from(130));
            }
            work.measure(entry, &learnt)?.write(&args.out)?;
        }
        report::write(&args.out)?;
    }
    print(args, out)
}

/// A model with its settings.
fn model(args: &Args, label: &str) -> Result<(&'static Entry, Config)> {
    let entry = models::find(label)?;
    // What makes it that model comes last.
    let mut pairs = args.set.clone();
    pairs.extend(args.seed.map(|seed| format!("train.seed={seed}")));
    pairs.extend(entry.settings.iter().map(|pair| (*pair).to_owned()));
    Ok((entry, Config::layered(args.config.as_deref(), &pairs)?))
}

impl Work<'_> {
    fn folder(&self, entry: &Entry) -> Folder {
        Folder::at(self.args.out.join("models").join(entry.label))
    }

    /// Whether a model was measured already; what was asked for then must be what is asked for now.
    fn is_done(&self, entry: &Entry, config: &Config) -> Result<bool> {
        let Some(found) = Findings::read(&self.args.out, entry.label)? else { return Ok(false) };
        let what = [
            ("another graph", found.data.fingerprint == self.sets.data.fingerprint),
            ("other settings", found.settings == config.to_toml()?),
            ("another --time or --updates", found.training.limit == Some(self.limit)),
            ("other test queries", found.test.queries == self.sets.test.queries),
        ];
        match what.iter().find(|(_, same)| !same) {
            None => Ok(true),
            Some((what, _)) => {
                let file = Findings::file(&self.args.out, entry.label);
                let what = format!("measured with {what}: name another folder with --out");
                Err(skolem::Error::corrupt(file, what).into())
            }
        }
    }

    /// Learns a model, or goes on with it.
    fn learn(&self, entry: &Entry, config: &Config) -> Result<Outcome> {
        let folder = self.folder(entry);
        let resume = folder.has_model();
        if resume {
            let (about, before) = folder.description()?;
            folder.graph(&about)?;
            let is_same_graph = about.graph == self.sets.data.fingerprint;
            if !is_same_graph || before != *config || about.limit != self.limit {
                let what = "begun with another graph, other settings or another time: name another folder with --out";
                return Err(skolem::Error::corrupt(folder.path(), what).into());
            }
        }
        let plan = Plan {
            graph: self.graph,
            config,
            limit: self.limit,
            examples: None,
            tests: self.sets.valid.clone(),
            folder: &folder,
            resume,
            cancelled: self.cancelled,
        };
        Ok(learn(plan)?)
    }
}

/// The averages of all models of the report.
fn print(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let tables = report::compare::tables(&Findings::read_all(&args.out)?);
    for of in tables.iter().filter(|table| ["epfo", "negation"].contains(&table.key)) {
        let figures = |figures: &Option<Vec<Option<f64>>>| {
            let last = figures.as_ref().and_then(|figures| figures.last().copied());
            of.figure(last.flatten())
        };
        let rows = of.rows.iter().filter(|row| row.ours.is_some());
        let rows = rows.map(|row| vec![row.name.clone(), figures(&row.ours), figures(&row.paper)]);
        writeln!(out, "{}", table(&[of.title, "MRR", "paper"], 1, rows.collect()))?;
    }
    writeln!(out, "{}", args.out.join("report.html").display())?;
    Ok(ExitCode::SUCCESS)
}
