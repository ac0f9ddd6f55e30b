//! Neighbour lists: entity-major runs of sorted targets, and each relation's sources.

use crate::id::{Entity, Relation};

/// The edges of one split, in both directions, since each relation has an inverse.
///
/// A *run* is all targets of one entity by one relation. Runs are sorted by entity, then relation;
/// the targets in a run are sorted and distinct.
#[derive(Clone, Copy)]
pub struct Edges<'a> {
    /// First run of each entity, and the number of runs.
    pub(crate) entity_runs: &'a [u32],
    /// Relation of each run.
    pub(crate) run_relation: &'a [Relation],
    /// First target of each run, and the number of targets.
    pub(crate) run_targets: &'a [u32],
    /// Targets of all runs.
    pub(crate) targets: &'a [Entity],
    /// First source of each relation, and the number of runs.
    pub(crate) relation_sources: &'a [u32],
    /// Sources of all relations.
    pub(crate) sources: &'a [Entity],
}

impl<'a> Edges<'a> {
    /// Number of entities.
    pub fn entity_count(&self) -> usize {
        self.entity_runs.len() - 1
    }

    /// Number of relations, inverses included.
    pub fn relation_count(&self) -> usize {
        self.relation_sources.len() - 1
    }

    /// Number of edges, each counted once (not again as its inverse).
    pub fn edge_count(&self) -> usize {
        self.targets.len() / 2
    }

    /// Number of (entity, relation) pairs that lead somewhere.
    pub fn run_count(&self) -> usize {
        self.run_relation.len()
    }

    /// The `at`-th of the [`Edges::run_count`] pairs of an entity and a relation that leads somewhere.
    pub fn run_at(&self, at: usize) -> Option<(Entity, Relation)> {
        let relation = *self.run_relation.get(at)?;
        let entity = self.entity_runs.partition_point(|&start| start as usize <= at) - 1;
        Some((Entity(entity as u32), relation))
    }

    /// Where a relation leads from an entity: sorted, distinct.
    pub fn neighbours(&self, entity: Entity, relation: Relation) -> &'a [Entity] {
        let runs = self.runs(entity);
        match self.run_relation[runs.clone()].binary_search(&relation) {
            Ok(at) => self.run(runs.start + at),
            Err(_) => &[],
        }
    }

    /// The distinct relations that lead from an entity, sorted.
    pub fn relations_of(&self, entity: Entity) -> &'a [Relation] {
        &self.run_relation[self.runs(entity)]
    }

    /// The targets by the `at`-th of [`Edges::relations_of`].
    pub fn neighbours_at(&self, entity: Entity, at: usize) -> &'a [Entity] {
        let runs = self.runs(entity);
        if at < runs.len() { self.run(runs.start + at) } else { &[] }
    }

    /// Relations that lead from an entity, each with its targets.
    pub fn of(&self, entity: Entity) -> impl Iterator<Item = (Relation, &'a [Entity])> + use<'a> {
        let edges = *self;
        self.runs(entity).map(move |run| (edges.run_relation[run], edges.run(run)))
    }

    /// The entities from which a relation leads somewhere, sorted.
    pub fn sources(&self, relation: Relation) -> &'a [Entity] {
        match self.relation_sources.get(relation.index()..relation.index() + 2) {
            Some(&[start, end]) => &self.sources[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Number of edges of an entity, in both directions.
    pub fn degree(&self, entity: Entity) -> usize {
        let runs = self.runs(entity);
        (self.run_targets[runs.end] - self.run_targets[runs.start]) as usize
    }

    /// Whether the edge is there.
    pub fn contains(&self, head: Entity, relation: Relation, tail: Entity) -> bool {
        self.neighbours(head, relation).binary_search(&tail).is_ok()
    }

    /// All edges that are not inverses, by head, relation and tail.
    pub fn iter(&self) -> impl Iterator<Item = (Entity, Relation, Entity)> + use<'a> {
        let edges = *self;
        (0..edges.entity_count() as u32).map(Entity).flat_map(move |head| {
            let forward = edges.of(head).filter(|(relation, _)| !relation.is_inverse());
            forward.flat_map(move |(relation, tails)| {
                tails.iter().map(move |&tail| (head, relation, tail))
            })
        })
    }

    fn runs(&self, entity: Entity) -> std::ops::Range<usize> {
        match self.entity_runs.get(entity.index()..entity.index() + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    fn run(&self, run: usize) -> &'a [Entity] {
        &self.targets[self.run_targets[run] as usize..self.run_targets[run + 1] as usize]
    }

    /// Whether every number is in range, so that no method above can be led astray by a file.
    pub(crate) fn is_consistent(&self, entities: usize, relations: usize) -> bool {
        let runs = self.run_relation.len();
        rises(self.entity_runs, entities, runs)
            && rises(self.run_targets, runs, self.targets.len())
            && rises(self.relation_sources, relations, runs)
            && self.sources.len() == runs
            && self.run_relation.iter().all(|relation| relation.index() < relations)
            && self.targets.iter().all(|target| target.index() < entities)
            && self.sources.iter().all(|source| source.index() < entities)
    }
}

/// Whether a table of starts has `count` + 1 numbers that rise from 0 to `end`.
fn rises(starts: &[u32], count: usize, end: usize) -> bool {
    starts.len() == count + 1
        && starts.first() == Some(&0)
        && starts.last().is_some_and(|&last| last as usize == end)
        && starts.is_sorted()
}
