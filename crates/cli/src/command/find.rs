//! `skolem find`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use skolem_kg::{Entity, Error, Split};

use super::open_graph;
use crate::output::{self, count};

/// Find entities or relations by name, label or number
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  skolem find @world frannce\n  skolem find @world --relation border"
)]
pub struct Args {
    /// The graph
    graph: PathBuf,

    /// A name, a label, a number, or something like one
    text: String,

    /// Look among relations, not entities
    #[arg(long)]
    relation: bool,

    /// How many suggestions for a name that is not there
    #[arg(long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct Found {
    number: u32,
    name: String,
    label: Option<String>,
    exact: bool,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = open_graph(&args.graph)?;
    let vocab = if args.relation { graph.relations()? } else { graph.entities()? };
    let described = |number: u32, exact: bool| Found {
        number,
        name: vocab.name(number).to_owned(),
        label: vocab.label(number).map(str::to_owned),
        exact,
    };
    let found: Vec<Found> = match vocab.find(&args.text) {
        Ok(number) => vec![described(number, true)],
        Err(Error::Ambiguous { label, .. }) => {
            vocab.with_label(&label).iter().map(|&number| described(number, true)).collect()
        }
        Err(_) => {
            let near = vocab.nearest(&args.text, args.top);
            near.iter()
                .filter_map(|name| vocab.find(name).ok())
                .map(|at| described(at, false))
                .collect()
        }
    };
    if found.is_empty() {
        // The error with its reason, as any question would give it.
        vocab.find(&args.text)?;
    }
    if args.json {
        output::json(out, &found)?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.iter().all(|one| !one.exact) {
        writeln!(out, "nothing is called '{}'; the nearest:", args.text)?;
    }
    let edges = graph.edges(Split::Test)?;
    for one in found {
        let label = one.label.map_or(String::new(), |label| format!("  ({label})"));
        let edges = match args.relation {
            true => String::new(),
            false => format!("  {}", count(edges.degree(Entity(one.number)), "edge")),
        };
        writeln!(out, "#{:<8} {}{label}{edges}", one.number, one.name)?;
    }
    Ok(ExitCode::SUCCESS)
}
