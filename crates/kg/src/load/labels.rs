//! Labels, kept until all edges of a file are read: a label may come before the first edge.

use std::collections::HashMap;

use super::report::Report;
use crate::graph::GraphBuilder;

/// The best label of each thing so far.
#[derive(Default)]
pub(super) struct Labels {
    best: HashMap<String, (Rank, String)>,
}

/// How much a label is liked; the least is best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// In English, or in no language.
    Plain,
    /// In some kind of English.
    Regional,
    Foreign,
}

impl Labels {
    /// Takes note of a label; the first one of those liked best stays.
    pub fn add(&mut self, name: &str, label: &str, language: Option<&str>) {
        let language = language.map(str::to_ascii_lowercase);
        let rank = match language.as_deref() {
            None | Some("en") => Rank::Plain,
            Some(language) if language.starts_with("en-") => Rank::Regional,
            Some(_) => Rank::Foreign,
        };
        match self.best.get_mut(name) {
            Some(best) if best.0 <= rank => {}
            Some(best) => *best = (rank, label.to_owned()),
            None => {
                self.best.insert(name.to_owned(), (rank, label.to_owned()));
            }
        }
    }

    /// Gives the labels to the entities and relations that exist; nothing is made for a label alone.
    pub fn give(self, builder: &mut GraphBuilder, report: &mut Report) {
        for (name, (_, label)) in self.best {
            let relation = builder.known_relation(&name);
            let entity = builder.known_entity(&name);
            if let Some(relation) = relation {
                builder.label_relation(relation, &label);
            }
            if let Some(entity) = entity {
                builder.label_entity(entity, &label);
            }
            match relation.is_some() || entity.is_some() {
                true => report.labels += 1,
                false => report.labels_unused += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;

    #[test]
    fn english_and_untagged_labels_are_preferred_and_the_first_of_them_stays() {
        let mut builder = GraphBuilder::default();
        builder.edge_named(Split::Train, "a", "r", "b").unwrap();
        let mut labels = Labels::default();
        labels.add("a", "foreign", Some("de"));
        labels.add("a", "regional", Some("en-GB"));
        labels.add("a", "plain", None);
        labels.add("a", "english", Some("EN"));
        labels.add("b", "only", Some("fr"));
        labels.add("r", "relation", None);
        labels.add("c", "unused", None);
        let mut report = Report::default();
        labels.give(&mut builder, &mut report);
        assert_eq!((report.labels, report.labels_unused), (3, 1));
        let graph = builder.finish().unwrap().0;
        assert_eq!(graph.entities().unwrap().label(0), Some("plain"));
        assert_eq!(graph.entities().unwrap().label(1), Some("only"));
        assert_eq!(graph.relations().unwrap().label(0), Some("relation"));
        assert_eq!(graph.entity_count(), 2);
    }
}
