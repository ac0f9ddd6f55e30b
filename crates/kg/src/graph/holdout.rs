//! Takes edges out of train for valid and test.

use super::GraphBuilder;
use crate::error::{Error, Result};
use crate::rng::Rng;
use crate::split::Split;

impl GraphBuilder {
    /// Moves random edges from train to valid and test, by these shares of all edges, such that
    /// every entity and relation still occurs in train. Returns how many were moved to each; fewer
    /// than asked when the graph is too sparse to spare more.
    pub fn hold_out(&mut self, valid: f64, test: f64, seed: u64) -> Result<[usize; 2]> {
        let share = |share: f64| (0.0..1.0).contains(&share);
        if !share(valid) || !share(test) || valid + test >= 1.0 {
            let message = format!("hold-out shares {valid} and {test} must be ≥ 0 with a sum < 1");
            return Err(Error::Setting(message));
        }
        let (entities, relations) = (self.entity_count(), self.relation_count());
        let [train, later @ ..] = &mut self.edges;
        if later.iter().any(|edges| !edges.is_empty()) {
            return Err(Error::Setting(
                "the graph has valid or test edges already; leave out the hold-out".into(),
            ));
        }
        train.sort_unstable();
        train.dedup();
        Rng::new(seed).shuffle(train);
        let wanted = [valid, test].map(|share| (train.len() as f64 * share).round() as usize);

        let mut degree = vec![0u32; entities];
        let mut uses = vec![0u32; relations];
        for (head, relation, tail) in &*train {
            degree[head.index()] += 1;
            degree[tail.index()] += 1;
            uses[relation.index()] += 1;
        }
        let mut moved = [0, 0];
        train.retain(|&(head, relation, tail)| {
            let Some(to) = (0..2).find(|&to| moved[to] < wanted[to]) else { return true };
            // A loop uses its entity twice.
            let needs = if head == tail { 2 } else { 1 };
            let spare = degree[head.index()] > needs
                && degree[tail.index()] > needs
                && uses[relation.index()] > 1;
            if spare {
                degree[head.index()] -= 1;
                degree[tail.index()] -= 1;
                uses[relation.index()] -= 1;
                later[to].push((head, relation, tail));
                moved[to] += 1;
            }
            !spare
        });
        Ok(moved)
    }

    /// Whether a split has been given edges.
    pub fn has_edges(&self, split: Split) -> bool {
        !self.edges[split.index()].is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(edges: u64) -> GraphBuilder {
        let mut builder = GraphBuilder::default();
        let mut rng = Rng::new(5);
        for _ in 0..edges {
            let [head, tail] = [rng.below(40), rng.below(40)].map(|at| format!("e{at}"));
            let relation = format!("r{}", rng.below(5));
            builder.edge_named(Split::Train, &head, &relation, &tail).unwrap();
        }
        builder
    }

    #[test]
    fn everything_held_out_still_occurs_in_train() {
        for edges in [60, 100, 400] {
            let mut builder = builder(edges);
            let moved = builder.hold_out(0.2, 0.1, 9).unwrap();
            assert!(moved[0] > 0);
            let graph = builder.finish().unwrap().0;
            let train = graph.edges(Split::Train).unwrap();
            assert_eq!(graph.edges_added_by(Split::Valid), moved[0]);
            assert_eq!(graph.edges_added_by(Split::Test), moved[1]);
            for (head, relation, tail) in graph.edges(Split::Test).unwrap().iter() {
                assert!(train.degree(head) > 0 && train.degree(tail) > 0);
                assert!(!train.sources(relation).is_empty());
            }
        }
    }

    #[test]
    fn shares_that_make_no_sense_are_refused() {
        for (valid, test) in [(-0.1, 0.0), (0.6, 0.4), (f64::NAN, 0.1)] {
            assert!(builder(50).hold_out(valid, test, 1).is_err());
        }
    }
}
