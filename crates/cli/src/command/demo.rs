//! `skolem demo`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use skolem_kg::exact::Answering;
use skolem_kg::query::text::{self, Style};
use skolem_kg::query::{formula, sparql};
use skolem_kg::{Graph, Names, Question, Split, Stats};

use super::ask::steps;
use super::{stats, world};
use crate::output::count;

/// Show the built-in graph of the world and answer questions about it
#[derive(clap::Args)]
pub struct Args {}

/// Questions in each notation, and what they ask.
const QUESTIONS: [(&str, &str); 4] = [
    (
        "Which neighbours of NATO countries are not in the EU, and speak Spanish or French?",
        "borders(^member_of(NATO)) & !^member_of(EU) & ^official_language(Spanish | French)",
    ),
    (
        "What are the capitals of France's neighbours that do not use the Euro?",
        "?T : exists ?V. borders(France, ?V) & !currency(?V, Euro) & capital(?V, ?T)",
    ),
    (
        "Which members of the Commonwealth lie in Africa and drive on the right?",
        "SELECT ?c { ?c :member_of :Commonwealth ; :continent :Africa ; :drives_on :right_side }",
    ),
    (
        "Which currencies are used where Swahili is an official language?",
        "currency(^official_language(Swahili))",
    ),
];

/// Answers shown for each question.
const SHOWN: usize = 8;

pub fn run(_: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = world(None)?;
    writeln!(out, "The built-in graph: countries of the world\n")?;
    stats::print(out, &graph, &Stats::of(&graph)?)?;
    writeln!(out)?;
    for (asked, question) in QUESTIONS {
        show(out, &graph, asked, question)?;
    }
    writeln!(
        out,
        "Ask your own:\n  skolem ask @world 'borders(Germany) & ^official_language(French)'"
    )?;
    Ok(ExitCode::SUCCESS)
}

fn show(out: &mut dyn Write, graph: &Graph, asked: &str, text: &str) -> Result<()> {
    let question = Question::parse(text, graph)?;
    let query = &question.query;
    writeln!(out, "{asked}")?;
    writeln!(out, "  set logic    {}", text::print(query, graph, Style::Unicode))?;
    writeln!(out, "  first-order  {}", formula::print(query, graph, Style::Unicode))?;
    writeln!(out, "  SPARQL       {}", sparql::print(query, graph)?)?;
    let edges = graph.edges(Split::Test)?;
    let (answers, witnesses) = Answering::new(edges).answers_with_witnesses(query, 1)?;
    let names: Vec<String> =
        answers.iter().take(SHOWN).map(|answer| graph.entity_name(*answer)).collect();
    let more = if answers.len() > SHOWN { ", …" } else { "" };
    writeln!(out, "  {}: {}{more}", count(answers.len(), "answer"), names.join(", "))?;
    if let (Some(name), Some(witness)) = (names.first(), witnesses.first()) {
        writeln!(out, "  {name}, because {}", steps(graph, witness).join(", "))?;
    }
    writeln!(out)?;
    Ok(())
}
