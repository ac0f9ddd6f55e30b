//! `skolem demo`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use skolem::answer::{Answer, answer};
use skolem::config::Config;
use skolem::evaluate::{Report, sample_tests};
use skolem::store::Folder;
use skolem::train::run::{Event, Limit, Outcome, Plan, train};
use skolem::with_model;
use skolem_kg::exact::Answering;
use skolem_kg::query::text::{self, Style};
use skolem_kg::query::{formula, sparql};
use skolem_kg::{Entity, Graph, Names, Question, Relation, Split};

use super::ask::steps;
use super::{cancellation, world};
use crate::output::{count, grouped, table};
use crate::progress;

/// Learn a graph of the world with facts held out, and answer a question with one of them
///
/// Takes less than a minute on two cores, and gives the same answers every time.
#[derive(clap::Args)]
pub struct Args {
    /// Keep the model in this folder
    #[arg(long, value_name = "MODEL")]
    out: Option<PathBuf>,

    /// How many updates to make; with fewer it has learnt less
    #[arg(long, value_name = "N", default_value_t = UPDATES)]
    updates: u64,
}

/// Which facts are held out.
const SEED: u64 = 0;

/// Updates that a model of this graph takes.
const UPDATES: u64 = 3000;

/// How it learns.
const SETTINGS: &str = include_str!("../../../../data/world.toml");

/// A question in words and as it is asked.
struct Asked {
    words: &'static str,
    text: &'static str,
}

/// Answered exactly, on the whole graph.
const EXACT: Asked = Asked {
    words: "What are the capitals of France's neighbours that do not use the Euro?",
    text: "capital(borders(France) & !^currency(Euro))",
};

/// Answered by the model. Each has an answer that follows from a held-out fact alone.
const PREDICTED: [Asked; 1] = [Asked {
    words: "Which countries that speak Arabic are monarchies?",
    text: "^official_language(Arabic) & ^government(monarchy)",
}];

/// Answers shown for each question.
const SHOWN: usize = 10;

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let graph = world(Some(SEED))?;
    let (folder, _temporary) = match &args.out {
        Some(path) => (Folder::at(path), None),
        None => {
            let temporary = tempfile::tempdir().context("there is no temporary folder")?;
            (Folder::at(temporary.path().join("world.model")), Some(temporary))
        }
    };
    folder.check_free(&graph)?;
    introduce(out, &graph)?;
    exact(out, &graph, &EXACT)?;
    // Learning takes a while: there is something to read meanwhile.
    writeln!(out, "Learning from the facts that are left …")?;
    out.flush()?;

    let (outcome, reports) = learn(&graph, &folder, args.updates)?;
    if outcome.cancelled {
        return Ok(ExitCode::from(130));
    }
    learnt(out, &outcome, &reports)?;
    let (config, graph, weights) = folder.open()?;
    for asked in &PREDICTED {
        let question = Question::parse(asked.text, &graph)?;
        let all = graph.entity_count();
        let ranked = with_model!(&config.model, |model| {
            answer(model, &weights, &graph, &question.query, Split::Train, all)
        })?;
        predicted(out, &graph, asked, &question, &ranked)?;
    }
    if let Some(path) = &args.out {
        writeln!(out, "\nThe model is in {}.", path.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn introduce(out: &mut dyn Write, graph: &Graph) -> Result<()> {
    let [train, valid, test] = Split::ALL.map(|split| graph.edges_added_by(split));
    writeln!(
        out,
        "The world: {}, {}, {}.",
        count(graph.entity_count(), "entity"),
        count(graph.relation_count() / 2, "relation"),
        count(train + valid + test, "fact")
    )?;
    writeln!(
        out,
        "Held out: {} of the facts, {} to watch the learning with and {} to test with.\n",
        grouped(valid + test),
        grouped(valid),
        grouped(test)
    )?;
    Ok(())
}

/// Shows a question in all notations, and its answers on the whole graph.
fn exact(out: &mut dyn Write, graph: &Graph, asked: &Asked) -> Result<()> {
    let query = Question::parse(asked.text, graph)?.query;
    writeln!(out, "{}", asked.words)?;
    writeln!(out, "  set logic    {}", text::print(&query, graph, Style::Unicode))?;
    writeln!(out, "  first-order  {}", formula::print(&query, graph, Style::Unicode))?;
    writeln!(out, "  SPARQL       {}", sparql::print(&query, graph)?)?;
    let answers = Answering::new(graph.edges(Split::Test)?).answers(&query)?;
    let names: Vec<String> = answers.iter().map(|answer| graph.entity_name(*answer)).collect();
    writeln!(out, "  exactly, with all facts: {}\n", names.join(", "))?;
    Ok(())
}

/// Learns in a folder; what was measured on the way.
fn learn(graph: &Graph, folder: &Folder, updates: u64) -> Result<(Outcome, Vec<Report>)> {
    let mut config = Config::from_toml(SETTINGS).map_err(anyhow::Error::msg)?;
    // Measuring takes a small part of the time that learning does, however short that is.
    let most = updates.div_ceil(10).max(1) as usize;
    config.evaluate.queries = config.evaluate.queries.min(most);
    let tests = sample_tests(graph, Split::Valid, config.evaluate.queries, config.train.seed)?;
    let bar = progress::share();
    let mut reports = Vec::new();
    let plan = Plan {
        graph,
        config: &config,
        limit: Limit::Updates(updates),
        examples: None,
        tests,
        folder,
        resume: false,
        cancelled: &cancellation(),
    };
    let tell = |event: Event<'_>| match event {
        Event::Update(at) => {
            bar.set_position((at.progress * 1e4) as u64);
            bar.set_message(format!("loss {:.2}", at.loss));
        }
        Event::Evaluated { report, .. } => reports.push(report.clone()),
        _ => {}
    };
    let outcome = train(plan, tell);
    bar.finish_and_clear();
    Ok((outcome?, reports))
}

fn learnt(out: &mut dyn Write, outcome: &Outcome, reports: &[Report]) -> Result<()> {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let course: Vec<String> = reports.iter().filter_map(Report::mrr).map(percent).collect();
    writeln!(
        out,
        "{} in {:.0} s; valid MRR on the way: {} %",
        count(outcome.update as usize, "update"),
        outcome.seconds,
        course.join(", ")
    )?;
    if let Some(report) = reports.last() {
        let shape = |(shape, of): (&str, &skolem::evaluate::Figures)| {
            format!("{shape} {}", percent(of.mrr))
        };
        let shapes: Vec<String> = report.in_order().into_iter().map(shape).collect();
        writeln!(out, "by shape: {}", shapes.join(", "))?;
    }
    Ok(())
}

/// Shows what a model says, and how the best answer that it was not told is true.
fn predicted(
    out: &mut dyn Write,
    graph: &Graph,
    asked: &Asked,
    question: &Question,
    ranked: &[Answer],
) -> Result<()> {
    writeln!(out, "\n{}", asked.words)?;
    writeln!(out, "  {}\n", text::print(&question.query, graph, Style::Unicode))?;
    let rows = ranked.iter().take(SHOWN).enumerate().map(|(at, answer)| {
        let mark = if answer.known { "known" } else { "predicted" };
        let (rank, name) = ((at + 1).to_string(), graph.entity_name(answer.entity));
        vec![
            rank,
            name,
            mark.to_owned(),
            format!("{:.3}", answer.satisfiability.unwrap_or(answer.score)),
        ]
    });
    let has_truth = ranked.iter().any(|answer| answer.satisfiability.is_some());
    let header = ["rank", "answer", "", if has_truth { "satisfiability" } else { "score" }];
    writeln!(out, "{}\n", table(&header, 3, rows.collect()))?;

    let found = Held::of(graph, question)?;
    let unknown: Vec<Entity> =
        ranked.iter().filter(|answer| !answer.known).map(|answer| answer.entity).collect();
    let best = found.iter().filter_map(|held| {
        let at = unknown.iter().position(|entity| *entity == held.entity)?;
        Some((at + 1, held))
    });
    if let Some((place, held)) = best.min_by_key(|(place, _)| *place) {
        let name = graph.entity_name(held.entity);
        let (all, facts) = (grouped(unknown.len()), held.facts.join(", "));
        writeln!(out, "Of {all} entities not known to be answers, {name} is number {place}.")?;
        writeln!(out, "{facts}: held out from learning, and true.")?;
    }
    Ok(())
}

/// An answer that only held-out facts make one.
struct Held {
    entity: Entity,
    /// These facts.
    facts: Vec<String>,
}

impl Held {
    /// All such answers of a question.
    fn of(graph: &Graph, question: &Question) -> Result<Vec<Held>> {
        let train = graph.edges(Split::Train)?;
        let known = Answering::new(train).answers(&question.query)?;
        let mut whole = Answering::new(graph.edges(Split::Test)?);
        let (answers, witnesses) = whole.answers_with_witnesses(&question.query, usize::MAX)?;
        let hard = answers.iter().zip(witnesses).filter(|(answer, _)| !known.contains(answer));
        let held = hard.map(|(entity, mut witness)| {
            witness.steps.retain(|step| {
                !train.contains(Entity(step.from), Relation(step.relation), Entity(step.to))
            });
            Held { entity: *entity, facts: steps(graph, &witness) }
        });
        Ok(held.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers that the facts left for learning do not give, and all facts do.
    #[test]
    fn predicted_answers_follow_from_held_out_facts() {
        let graph = world(Some(SEED)).unwrap();
        let [train, whole] = [Split::Train, Split::Test].map(|split| graph.edges(split).unwrap());
        // The fact that each question is about; its head is the answer.
        let facts = [["Bahrain", "official_language", "Arabic"]];
        assert_eq!(facts.len(), PREDICTED.len());
        for (asked, [head, relation, tail]) in PREDICTED.iter().zip(facts) {
            let question = Question::parse(asked.text, &graph).unwrap();
            let [expected, other] = [head, tail].map(|name| graph.entity(name).unwrap());
            let relation_number = graph.relation(relation).unwrap();
            assert!(whole.contains(expected, relation_number, other), "{head} is false");
            assert!(!train.contains(expected, relation_number, other), "{head} is not held out");
            let answers = |edges| Answering::new(edges).answers(&question.query).unwrap();
            assert!(answers(whole).contains(&expected) && !answers(train).contains(&expected));
            // And it is the only one, with this fact alone missing.
            let held = Held::of(&graph, &question).unwrap();
            assert_eq!(held.len(), 1);
            assert_eq!(held[0].entity, expected);
            assert_eq!(held[0].facts, [format!("{head} —{relation}→ {tail}")]);
        }
    }

    #[test]
    fn settings_are_sound() {
        let config = Config::from_toml(SETTINGS).unwrap();
        config.check().unwrap();
        // All that are no answers are told apart from them.
        assert!(config.train.shared >= world(None).unwrap().entity_count());
        // The file is one that `skolem train --config` takes.
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/world.toml");
        assert_eq!(Config::layered(Some(file.as_ref()), &[]).unwrap(), config);
    }
}
