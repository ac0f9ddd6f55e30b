//! `skolem stats`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use skolem_kg::{Entity, Graph, Names, Relation, Split, Stats};

use super::open_graph;
use crate::output::{self, grouped, percent, table};
use crate::progress;

/// Show what a graph is made of
#[derive(clap::Args)]
#[command(after_help = "Example: skolem stats @world")]
pub struct Args {
    /// The graph
    graph: PathBuf,

    /// Print as JSON
    #[arg(long)]
    json: bool,

    /// Check every byte of the file first
    #[arg(long)]
    verify: bool,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = open_graph(&args.graph)?;
    if args.verify {
        graph.verify()?;
    }
    // Names that cannot be read would be shown as numbers.
    graph.entities()?;
    graph.relations()?;
    let waiting = progress::waiting("counting");
    let stats = Stats::of(&graph)?;
    waiting.finish_and_clear();
    match args.json {
        true => output::json(out, &Named::of(&graph, &stats))?,
        false => print(out, &graph, &stats)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The figures with names beside the numbers.
#[derive(serde::Serialize)]
struct Named<'a> {
    #[serde(flatten)]
    stats: &'a Stats,
    relation_names: Vec<String>,
    fingerprint: String,
}

impl<'a> Named<'a> {
    fn of(graph: &Graph, stats: &'a Stats) -> Named<'a> {
        let name = |row: &skolem_kg::RelationStats| graph.relation_name(Relation(row.relation));
        Named {
            stats,
            relation_names: stats.per_relation.iter().map(name).collect(),
            fingerprint: format!("{:016x}", graph.fingerprint()),
        }
    }
}

pub(super) fn print(out: &mut dyn Write, graph: &Graph, stats: &Stats) -> Result<()> {
    let [train, valid, test] = stats.edges;
    writeln!(out, "entities   {}", grouped(stats.entities))?;
    writeln!(out, "relations  {} (and their inverses)", grouped(stats.relations))?;
    write!(out, "edges      {}", grouped(train + valid + test))?;
    if graph.is_split() {
        let parts =
            Split::ALL.map(|split| format!("{} {split}", grouped(graph.edges_added_by(split))));
        write!(out, " ({})", parts.join(", "))?;
    }
    writeln!(out)?;
    let (largest, hub) = stats.largest_degree;
    let hub = graph.entity_name(Entity(hub));
    writeln!(
        out,
        "degree     mean {:.1}, median {}, largest {} ({hub})",
        stats.mean_degree,
        stats.median_degree,
        grouped(largest)
    )?;
    writeln!(out, "\nEntities by number of edges")?;
    let most = stats.degrees.iter().copied().max().unwrap_or(1).max(1);
    for (bin, &entities) in stats.degrees.iter().enumerate() {
        let range = match bin {
            0 | 1 => bin.to_string(),
            _ => format!("{}–{}", 1usize << (bin - 1), (1usize << bin) - 1),
        };
        let bar = "█".repeat((entities * 40).div_ceil(most));
        writeln!(out, "{range:>12} {:>10} {bar}", grouped(entities))?;
    }
    let name = |relation: u32| graph.relation_name(Relation(relation));
    let rows = stats.per_relation.iter().map(|row| {
        let functional = match (row.functional, row.inverse_functional) {
            (true, true) => "one to one",
            (true, false) => "many to one",
            (false, true) => "one to many",
            (false, false) => "",
        };
        vec![
            name(row.relation),
            functional.to_owned(),
            row.twin.map_or(String::new(), |(twin, share)| {
                format!("{} ({})", name(twin), percent(share))
            }),
            grouped(row.edges),
            grouped(row.domain),
            grouped(row.range),
            if row.symmetric > 0.0 { percent(row.symmetric) } else { String::new() },
        ]
    });
    let header =
        ["relation", "functional", "inverse twin", "edges", "domain", "range", "symmetric"];
    writeln!(out, "\n{}", table(&header, 3, rows.collect()))?;
    Ok(())
}
