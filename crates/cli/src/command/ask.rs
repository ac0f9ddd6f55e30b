//! `skolem ask`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use skolem_kg::exact::{Answering, Budget, Witness};
use skolem_kg::query::text::{self, Style};
use skolem_kg::{Entity, Graph, Names, Question, Relation, Split};

use super::{cancellation, duration, open_graph, question_text};
use crate::failure::in_question;
use crate::output::{self, count};

const AFTER_HELP: &str = "\
Examples:
  skolem ask @world 'borders(France) & ^member_of(NATO)'
  skolem ask @world '?T : exists ?V. borders(France, ?V) & capital(?V, ?T)' --why
  skolem ask @world 'SELECT ?c { ?c :member_of :EU MINUS { ?c :member_of :NATO } }' --json
  skolem ask world.kg - < question.rq";

/// Answer a question exactly, on the graph as it is
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The graph
    graph: PathBuf,

    /// The question, in set logic, first-order logic or SPARQL; - reads it from standard input
    question: String,

    /// Show at most this many answers; 0 shows all
    #[arg(long, default_value_t = 100, value_name = "N")]
    top: usize,

    /// For each answer, show edges of the graph that lead to it
    #[arg(long)]
    why: bool,

    /// Which edges count: those of train, of train and valid, or all
    #[arg(long, default_value_t = Split::Test, value_name = "train|valid|test")]
    split: Split,

    /// Stop after this time, as in 500ms, 10s or 2m
    #[arg(long, default_value = "60s", value_parser = duration)]
    time: Duration,

    /// Stop when sets need more memory than this
    #[arg(long, default_value_t = 4096, value_name = "MIB")]
    memory: usize,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct Reply {
    question: String,
    shape: String,
    count: usize,
    answers: Vec<Answer>,
    seconds: f64,
}

#[derive(serde::Serialize)]
struct Answer {
    number: u32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Vec<String>>,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = open_graph(&args.graph)?;
    let text = question_text(&args.question)?;
    let question = Question::parse(&text, &graph).map_err(in_question(&text))?;
    let budget = Budget::default().time(args.time).memory(args.memory).cancelled_by(cancellation());
    let reply = answer(&graph, &question, args, budget)?;
    match args.json {
        true => output::json(out, &reply)?,
        false => print(out, &reply)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(graph: &Graph, question: &Question, args: &Args, budget: Budget) -> Result<Reply> {
    let start = Instant::now();
    let mut answering = Answering::within(graph.edges(args.split)?, budget);
    let asked = if args.top == 0 { usize::MAX } else { args.top };
    let most = question.limit.unwrap_or(usize::MAX).min(asked);
    let (all, witnesses) = match args.why {
        true => answering.answers_with_witnesses(&question.query, most)?,
        false => (answering.answers(&question.query)?, Vec::new()),
    };
    let seconds = start.elapsed().as_secs_f64();
    let answers = all.iter().take(most).enumerate().map(|(at, &entity)| Answer {
        number: entity.0,
        name: graph.entity_name(entity),
        why: witnesses.get(at).map(|witness| steps(graph, witness)),
    });
    Ok(Reply {
        question: text::print(&question.query, graph, Style::Ascii),
        shape: question.query.shape().to_string(),
        count: all.len(),
        answers: answers.collect(),
        seconds,
    })
}

/// The edges of a witness, each as it stands in the graph.
pub(super) fn steps(graph: &Graph, witness: &Witness) -> Vec<String> {
    let step = |step: &skolem_kg::exact::Step| {
        let [from, to] = [step.from, step.to].map(|at| graph.entity_name(Entity(at)));
        let relation = Relation(step.relation);
        match relation.is_inverse() {
            true => format!("{to} —{}→ {from}", graph.relation_name(relation.inverse())),
            false => format!("{from} —{}→ {to}", graph.relation_name(relation)),
        }
    };
    witness.steps.iter().map(step).collect()
}

fn print(out: &mut dyn Write, reply: &Reply) -> Result<()> {
    for answer in &reply.answers {
        writeln!(out, "{}", answer.name)?;
        for step in answer.why.iter().flatten() {
            writeln!(out, "    {step}")?;
        }
    }
    let left = reply.count - reply.answers.len();
    let more = if left > 0 { format!(", {left} more not shown") } else { String::new() };
    let answers = count(reply.count, "answer");
    writeln!(out, "— {answers}{more} ({} in {:.1} ms)", reply.shape, reply.seconds * 1e3)?;
    Ok(())
}
