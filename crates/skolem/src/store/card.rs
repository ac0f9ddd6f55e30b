//! The card of a model: what it is, for people who find the folder.

use std::fmt::Write;

use super::About;
use crate::config::Config;
use crate::evaluate::Report;

/// The card's text.
pub fn card(
    about: &About,
    config: &Config,
    update: u64,
    seconds: f64,
    report: Option<&Report>,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# A logic embedding\n");
    let _ = writeln!(
        text,
        "Made by skolem {} with recipe `{}`: {}.\n",
        about.skolem,
        config.train.recipe,
        config.model.card()
    );
    let _ = writeln!(
        text,
        "It embeds {} entities and {} relations (inverses included) of the graph in `graph.kg` \
         (fingerprint {}), and learnt for {update} updates in {seconds:.0} s, seed {}.\n",
        about.entities, about.relations, about.graph, config.train.seed
    );
    if config.train.split != "train" {
        let _ = writeln!(
            text,
            "It was shown the {} edges, too: how it ranks them is entailment, not prediction.\n",
            config.train.split
        );
    }
    let Some(report) = report.filter(|report| !report.shapes.is_empty()) else { return text };
    let _ = writeln!(text, "On a sample of valid queries (filtered, all entities ranked):\n");
    let _ = writeln!(
        text,
        "| shape | queries | MRR | Hits@1 | Hits@3 | Hits@10 |\n|---|---|---|---|---|---|"
    );
    for (shape, of) in report.in_order() {
        let [mrr, one, three, ten] =
            [of.mrr, of.hits1, of.hits3, of.hits10].map(|share| 100.0 * share);
        let _ = writeln!(
            text,
            "| {shape} | {} | {mrr:.1} | {one:.1} | {three:.1} | {ten:.1} |",
            of.queries
        );
    }
    text
}
