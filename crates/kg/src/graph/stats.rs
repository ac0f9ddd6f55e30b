//! What a graph looks like in numbers.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{Edges, Graph};
use crate::error::Result;
use crate::id::{Entity, Relation};
use crate::split::Split;

/// Figures of a whole graph.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct Stats {
    /// Number of entities.
    pub entities: usize,
    /// Number of relations, inverses not counted.
    pub relations: usize,
    /// Edges added by train, valid and test.
    pub edges: [usize; 3],
    /// Entities without any edge.
    pub isolated: usize,
    /// Mean number of edges of an entity.
    pub mean_degree: f64,
    /// Median number of edges of an entity.
    pub median_degree: usize,
    /// Largest number of edges of an entity, and which one.
    pub largest_degree: (usize, u32),
    /// Number of entities with a degree in 0, 1, 2–3, 4–7, 8–15, …
    pub degrees: Vec<usize>,
    /// One row a relation.
    pub per_relation: Vec<RelationStats>,
}

/// Figures of a relation.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct RelationStats {
    /// The relation's number.
    pub relation: u32,
    /// Number of edges.
    pub edges: usize,
    /// Number of distinct heads.
    pub domain: usize,
    /// Number of distinct tails.
    pub range: usize,
    /// Whether each head has one tail.
    pub functional: bool,
    /// Whether each tail has one head.
    pub inverse_functional: bool,
    /// Share of the edges whose reverse is there too.
    pub symmetric: f64,
    /// The other relation whose edges are most of this one's, reversed, and for what share.
    pub twin: Option<(u32, f64)>,
}

/// A twin must explain at least this share of the edges, in both directions.
const TWIN_SHARE: f64 = 0.5;

impl Stats {
    /// Counts over all edges of a graph.
    pub fn of(graph: &Graph) -> Result<Stats> {
        let edges = graph.edges(Split::Test)?;
        let count = graph.entity_count();
        let mut degrees: Vec<(usize, u32)> =
            (0..count as u32).map(|at| (edges.degree(Entity(at)), at)).collect();
        let largest_degree = degrees
            .iter()
            .copied()
            .max_by_key(|&(degree, at)| (degree, std::cmp::Reverse(at)))
            .unwrap_or_default();
        let mut histogram = Vec::new();
        for &(degree, _) in &degrees {
            let bin = (usize::BITS - degree.leading_zeros()) as usize;
            histogram.resize(histogram.len().max(bin + 1), 0);
            histogram[bin] += 1;
        }
        let middle = count / 2;
        let median_degree = match degrees.get(middle) {
            Some(_) => degrees.select_nth_unstable(middle).1.0,
            None => 0,
        };
        Ok(Stats {
            entities: count,
            relations: graph.relation_count() / 2,
            edges: Split::ALL.map(|split| graph.edges_added_by(split)),
            isolated: histogram.first().copied().unwrap_or(0),
            mean_degree: 2.0 * edges.edge_count() as f64 / count.max(1) as f64,
            median_degree,
            largest_degree,
            degrees: histogram,
            per_relation: relation_stats(&edges),
        })
    }
}

fn relation_stats(edges: &Edges<'_>) -> Vec<RelationStats> {
    let reversed = count_reversed(edges);
    let size = |relation: Relation| -> usize {
        let sources = edges.sources(relation).par_iter().with_min_len(1024);
        sources.map(|&source| edges.neighbours(source, relation).len()).sum()
    };
    let sizes: Vec<usize> =
        (0..edges.relation_count() as u32).step_by(2).map(|at| size(Relation(at))).collect();
    let share = |shared: usize, of: usize| shared as f64 / of.max(1) as f64;
    let row = |pair: usize| {
        let relation = Relation(pair as u32 * 2);
        let count = sizes[pair];
        let (domain, range) =
            (edges.sources(relation).len(), edges.sources(relation.inverse()).len());
        let shared = |other: u32| {
            let key = (relation.0.min(other), relation.0.max(other));
            reversed.get(&key).copied().unwrap_or(0)
        };
        let twin = (0..sizes.len() as u32)
            .map(|other| other * 2)
            .filter(|&other| other != relation.0)
            .map(|other| {
                let both = shared(other);
                (other, share(both, count).min(share(both, sizes[other as usize / 2])))
            })
            .filter(|&(_, share)| share >= TWIN_SHARE)
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        RelationStats {
            relation: relation.0,
            edges: count,
            domain,
            range,
            functional: count == domain,
            inverse_functional: count == range,
            symmetric: share(shared(relation.0), count),
            twin,
        }
    };
    (0..sizes.len()).into_par_iter().map(row).collect()
}

/// For each pair of relations r ≤ s, how many edges r(a, b) come with s(b, a).
fn count_reversed(edges: &Edges<'_>) -> BTreeMap<(u32, u32), usize> {
    let entities = (0..edges.entity_count() as u32).into_par_iter().with_min_len(256);
    let merge = |mut a: BTreeMap<(u32, u32), usize>, b: BTreeMap<(u32, u32), usize>| {
        b.into_iter().for_each(|(key, count)| *a.entry(key).or_default() += count);
        a
    };
    let count_one = |mut counts: BTreeMap<(u32, u32), usize>, entity: u32| {
        let mut links: Vec<(Entity, Relation)> = Vec::new();
        for (relation, targets) in edges.of(Entity(entity)) {
            links.extend(targets.iter().map(|&target| (target, relation)));
        }
        links.sort_unstable();
        // Relations that join this entity and one target: r forward and s inverse make a pair.
        for group in links.chunk_by(|a, b| a.0 == b.0) {
            for (_, forward) in group.iter().filter(|(_, relation)| !relation.is_inverse()) {
                for (_, inverse) in group.iter().filter(|(_, relation)| relation.is_inverse()) {
                    let (r, s) = (forward.0, inverse.inverse().0);
                    // Each unordered pair of different relations is met once with r below s.
                    if r <= s {
                        *counts.entry((r, s)).or_default() += 1;
                    }
                }
            }
        }
        counts
    };
    entities.fold(BTreeMap::new, count_one).reduce(BTreeMap::new, merge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphBuilder;

    #[test]
    fn relations_are_described() {
        let mut builder = GraphBuilder::default();
        for (head, relation, tail) in [
            ("a", "near", "b"),
            ("b", "near", "a"),
            ("a", "parent", "c"),
            ("b", "parent", "d"),
            ("c", "child", "a"),
            ("d", "child", "b"),
            ("e", "child", "b"),
        ] {
            builder.edge_named(Split::Train, head, relation, tail).unwrap();
        }
        let graph = builder.finish().unwrap().0;
        let stats = Stats::of(&graph).unwrap();
        assert_eq!((stats.entities, stats.relations, stats.edges), (5, 3, [7, 0, 0]));
        assert_eq!(stats.largest_degree, (5, 1));
        let [near, parent, child] = &stats.per_relation[..] else { panic!() };
        assert_eq!((near.symmetric, near.twin), (1.0, None));
        assert_eq!(parent.twin, Some((4, 2.0 / 3.0)));
        assert_eq!(child.twin, Some((2, 2.0 / 3.0)));
        assert!(parent.functional && parent.inverse_functional);
        assert!(child.functional && !child.inverse_functional);
        assert_eq!(stats.degrees.iter().sum::<usize>(), 5);
    }
}
