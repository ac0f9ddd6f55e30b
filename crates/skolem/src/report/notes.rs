//! What every reader has to know of the tables: as plain text, for all pages alike.

use super::compare;
use super::findings::{Findings, Queries};
use super::text::{duration, grouped, list};
use super::{Machine, models, paper};
use crate::train::run::Limit;

/// The paper.
pub const PAPER: &str = "Luus et al., Logic Embeddings for Complex Query Answering (2021)";

/// What the report is of.
pub fn title(all: &[Findings]) -> String {
    match all.first() {
        Some(found) => format!("Query embeddings of {}", found.data.name),
        None => "Query embeddings".into(),
    }
}

/// What was done, in a few sentences.
pub fn summary(all: &[Findings]) -> String {
    let Some(first) = all.first() else { return "Nothing was measured yet.".into() };
    let names: Vec<String> = all.iter().map(|found| models::name(&found.label)).collect();
    let data = &first.data;
    let [train, valid, test] = data.edges.map(|edges| grouped(edges as u64));
    let limit = first.training.limit;
    let is_same = all.iter().all(|found| found.training.limit == limit);
    let how = match limit.filter(|_| is_same) {
        Some(Limit::Seconds(seconds)) => format!("for {} each", duration(seconds)),
        Some(Limit::Updates(updates)) => format!("for {} updates each", grouped(updates)),
        None => "for times of their own".into(),
    };
    format!(
        "{} learnt {how}, from queries sampled on the train edges. The graph has {} entities, \
         {} relations and {train} / {valid} / {test} edges for train, valid and test. Figures on test queries are shown \
         beside those of {PAPER}.",
        list(&names),
        grouped(data.entities as u64),
        grouped(data.relations as u64),
    )
}

/// What is not comparable, and what is not there.
pub fn caveats(all: &[Findings]) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let mut notes = vec![queries("Test queries", &first.test.queries)];
    if let Some(measured) = &first.generalization {
        notes.push(queries("Query2Box’s test queries", &measured.queries));
    }
    notes.push(match paper::data_set(&first.data) {
        Some(name) => format!(
            "The graph has the entities, relations and edges of the paper’s {name}. The paper’s models learnt 450,000 \
             steps of 512 queries on a V100; ours as long as is said above. A difference is ours minus \
             the paper’s, of figures rounded as shown."
        ),
        None => "The graph is none of the paper’s data sets (their numbers of entities, relations and edges are \
                 others), so the paper’s figures are not shown."
            .into(),
    });
    let seeds: std::collections::BTreeSet<u64> = all.iter().map(|found| found.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    notes.push(format!(
        "One run a model, seed {}: how much figures differ from run to run is not known, neither of ours nor of the \
         paper’s.",
        list(&seeds)
    ));
    if all.iter().any(|found| found.test.queries != first.test.queries) {
        notes.push(
            "Not all models were tested on the same queries: figures of models are not comparable."
                .into(),
        );
    }
    if all.iter().any(|found| found.machine != first.machine) {
        notes.push("Not all models learnt on the same machine: times are not comparable.".into());
    }
    let missing: Vec<String> =
        compare::missing(all).into_iter().map(|title| format!("“{title}”")).collect();
    if !missing.is_empty() {
        notes.push(format!("Not measured, so left out: {}.", list(&missing)));
    }
    notes
}

fn queries(what: &str, of: &Queries) -> String {
    let most = of.most.map(|most| format!(", at most {} of a shape", grouped(most as u64)));
    let (count, most) = (grouped(of.count as u64), most.unwrap_or_default());
    match &of.file {
        Some(file) => format!(
            "{what}: {count} of the file {file}{most}. Figures are comparable with the paper’s as far as these are \
             the published queries; of a set that was sampled anew, differences of a point may be the queries’."
        ),
        None => format!(
            "{what}: {count}, sampled from the graph for this report{most}. They are not the paper’s queries, so \
             differences are no more than a hint."
        ),
    }
}

/// What figures over time are.
pub const CURVES: &str = "Accuracy over the time of learning: mean reciprocal rank over the valid queries that are \
    ranked on the way, means over shapes. Time is the clock’s, with ranking. The weights of the best mean over all \
    shapes are those that are tested.";

/// What figures by shape are.
pub const DOTS: &str = "Test MRR by shape: ours (filled) and the paper’s (hollow), all to the same scale. The numbers are in \
    the tables below.";

/// What scatter plots are.
pub const SCATTER: &str = "The uncertainty of query embeddings against the number of answers: a sample of the test \
    queries, a sign each; orange squares are queries with negation. ρ is Spearman’s rank correlation within a shape.";

/// What the list of models is.
pub const MODELS: &str = "The models at a glance: test MRR in percent, averages over the shapes of the two tables \
    below; the paper’s in the second line. Time and updates are those of learning.";

/// What the figures of single models are.
pub const DETAILS: &str = "All figures on test queries, in percent but for the number of queries.";

/// What there is to say of a machine.
pub fn facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine { processor, instructions, cores, threads, memory, system, skolem } = machine;
    let facts = [
        ("processor", processor.clone()),
        ("instructions used", instructions.clone()),
        ("cores, threads", format!("{cores}, {threads}")),
        (
            "memory",
            memory.map_or(String::new(), |bytes| {
                format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
            }),
        ),
        ("system", system.clone()),
        ("skolem", skolem.clone()),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}
