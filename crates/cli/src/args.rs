//! What the command line takes.

use clap::{Parser, Subcommand};

use crate::command::{
    ask, bench, completions, dataset, demo, eval, find, import, query, reproduce, sample, stats,
    train,
};

const LONG_ABOUT: &str = "\
Skolem answers logical questions over knowledge graphs.

A graph is a .kg file, made from triples or RDF by `skolem import`; wherever one is asked for,
@world stands for the built-in graph of countries.

A question is written in one of three notations:
  set logic            borders(France) & !^member_of(EU)
  first-order logic    ?T : exists ?V. borders(France, ?V) & capital(?V, ?T)
  SPARQL               SELECT ?t { :France :borders ?t }
In set logic r(x) is all that relation r leads to from x, ^r (or r⁻¹) reads r backwards, and
& | ! are intersection, union and complement. Names with spaces need quotes.";

const AFTER_HELP: &str = "\
Start with:
  skolem demo
  skolem import data/world.tsv --out world.kg
  skolem ask world.kg 'borders(France) & ^member_of(NATO)'

Exit codes: 0 done; 1 a check found differences; 2 wrong usage; 3 the question is wrong;
4 a file cannot be read or written; 5 time or memory ran out; 130 cancelled.";

/// Answers logical questions over knowledge graphs.
#[derive(Parser)]
#[command(name = "skolem", version, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(arg_required_else_help = true)]
pub struct Args {
    /// Threads to use [default: one a core]; results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Import(import::Args),
    Stats(stats::Args),
    Find(find::Args),
    Ask(ask::Args),
    Query(query::Args),
    Train(train::Args),
    Eval(eval::Args),
    Sample(sample::Args),
    Dataset(dataset::Args),
    Reproduce(reproduce::Args),
    Bench(bench::Args),
    Completions(completions::Args),
}
