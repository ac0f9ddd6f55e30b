//! Collects edges by name and turns them into a [`Graph`].

use std::collections::HashMap;

use rayon::prelude::*;

use super::interner::{Interner, Names};
use super::{Graph, section};
use crate::error::{Error, Result};
use crate::id::{Entity, Relation};
use crate::split::Split;
use crate::store::ImageBuilder;

/// More edges than this do not fit the 32-bit tables (each is stored in both directions).
const MOST_EDGES: usize = (u32::MAX / 2) as usize;

/// Collects names, labels and edges.
///
/// ```
/// use skolem_kg::{GraphBuilder, Split};
/// let mut builder = GraphBuilder::default();
/// builder.edge_named(Split::Train, "France", "borders", "Spain")?;
/// let graph = builder.finish()?.0;
/// let edges = graph.edges(Split::Train)?;
/// let borders = graph.relation("borders")?;
/// assert_eq!(edges.neighbours(graph.entity("Spain")?, borders.inverse()), [graph.entity("France")?]);
/// # Ok::<(), skolem_kg::Error>(())
/// ```
#[derive(Default)]
pub struct GraphBuilder {
    entities: Interner,
    /// One name for each pair of relation and inverse.
    relations: Interner,
    inverse_names: HashMap<u32, String>,
    entity_labels: HashMap<u32, String>,
    relation_labels: HashMap<u32, String>,
    prefixes: Vec<(String, String)>,
    pub(super) edges: [Vec<Triple>; 3],
}

/// Head, relation (the even one of its pair), tail.
pub(super) type Triple = (Entity, Relation, Entity);

/// What building found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Edges that were given more than once, also in another split, and kept once.
    pub duplicates: usize,
}

impl GraphBuilder {
    /// The entity of this name, new or not.
    pub fn entity(&mut self, name: &str) -> Result<Entity> {
        self.entities.intern(name).map(Entity)
    }

    /// The relation of this name, new or not (the forward one of its pair).
    pub fn relation(&mut self, name: &str) -> Result<Relation> {
        relation_of(self.relations.intern(name)?)
    }

    /// Gives a relation's inverse a name of its own.
    pub fn name_inverse(&mut self, relation: Relation, name: &str) {
        self.inverse_names.insert(relation.0 | 1, name.to_owned());
    }

    /// Gives an entity a label, unless it has one.
    pub fn label_entity(&mut self, entity: Entity, label: &str) {
        self.entity_labels.entry(entity.0).or_insert_with(|| label.to_owned());
    }

    /// Gives a relation a label, unless it has one.
    pub fn label_relation(&mut self, relation: Relation, label: &str) {
        self.relation_labels.entry(relation.0).or_insert_with(|| label.to_owned());
    }

    /// Makes a prefix known by which IRIs are shortened; the first meaning of a prefix stays.
    pub fn prefix(&mut self, prefix: &str, iri: &str) {
        let plain = |text: &str| !text.contains(['\t', '\n', '\r']);
        let new = self.prefixes.iter().all(|(known, _)| known != prefix);
        if new && plain(prefix) && plain(iri) && !iri.is_empty() {
            self.prefixes.push((prefix.to_owned(), iri.to_owned()));
        }
    }

    /// The entity of this name, if it is known already.
    pub fn known_entity(&self, name: &str) -> Option<Entity> {
        self.entities.find(name).map(Entity)
    }

    /// The relation of this name, if it is known already.
    pub fn known_relation(&self, name: &str) -> Option<Relation> {
        self.relations.find(name).map(|pair| Relation(pair * 2))
    }

    /// Adds an edge; an inverse relation's edge is turned.
    pub fn edge(&mut self, split: Split, head: Entity, relation: Relation, tail: Entity) {
        let turned = match relation.is_inverse() {
            true => (tail, relation.inverse(), head),
            false => (head, relation, tail),
        };
        self.edges[split.index()].push(turned);
    }

    /// Adds an edge by names.
    pub fn edge_named(
        &mut self,
        split: Split,
        head: &str,
        relation: &str,
        tail: &str,
    ) -> Result<()> {
        let (head, relation, tail) =
            (self.entity(head)?, self.relation(relation)?, self.entity(tail)?);
        self.edge(split, head, relation, tail);
        Ok(())
    }

    /// Adds edges by names, many at once: much faster than one by one in a large graph.
    pub fn edges_named(&mut self, split: Split, batch: &mut Batch) -> Result<()> {
        let entities = self.entities.intern_all(&batch.entities)?;
        let relations = self.relations.intern_all(&batch.relations)?;
        for (pair, relation) in entities.chunks_exact(2).zip(relations) {
            let relation = relation_of(relation)?;
            self.edge(split, Entity(pair[0]), relation, Entity(pair[1]));
        }
        batch.entities.clear();
        batch.relations.clear();
        Ok(())
    }

    /// Number of edges given so far, duplicates included.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// Number of relations so far, inverses included.
    pub fn relation_count(&self) -> usize {
        self.relations.len() * 2
    }

    /// Number of entities so far.
    pub fn entity_count(&self) -> usize {
        self.entities.len()
    }

    /// Sorts everything into a graph.
    pub fn finish(mut self) -> Result<(Graph, Counted)> {
        let given = self.edge_count();
        if given > MOST_EDGES {
            return Err(too_many("edges"));
        }
        let entities = self.entities.len();
        let relations = self.relations.len() * 2;
        let mut image = ImageBuilder::default();
        let mut added = [0u64; 3];
        let mut layer = [0u64; 3];
        let mut layers = Vec::new();
        let mut seen: Vec<Triple> = Vec::new();
        for split in Split::ALL {
            let new = std::mem::take(&mut self.edges[split.index()]);
            let last = split == Split::Test;
            if split != Split::Train && new.is_empty() {
                layer[split.index()] = layer[split.index() - 1];
                continue;
            }
            let before: u64 = added.iter().sum();
            let (list, further) = match seen.is_empty() {
                true => (new, Vec::new()),
                false => (std::mem::take(&mut seen), new),
            };
            let built = Layer::build(&list, &further, entities, relations);
            added[split.index()] = (built.targets.len() / 2) as u64 - before;
            layer[split.index()] = layers.len() as u64;
            layers.push(built);
            if !last {
                seen = list;
                seen.extend(further);
            }
        }
        let kept: u64 = added.iter().sum();
        let [train, valid, test] = added;
        let counts = vec![
            entities as u64,
            relations as u64,
            train,
            valid,
            test,
            layer[0],
            layer[1],
            layer[2],
        ];
        image.add(section::COUNTS, counts);
        let prefixes = self.prefixes.iter().map(|(prefix, iri)| format!("{prefix}\t{iri}\n"));
        image.add(section::PREFIXES, prefixes.collect::<String>().into_bytes());
        add_vocab(&mut image, section::ENTITIES, self.entities, &self.entity_labels);
        let mut both = Interner::default();
        for pair in 0..self.relations.len() as u32 {
            let name = self.relations.get(pair);
            let inverse = self.inverse_names.get(&(pair * 2 + 1)).cloned();
            both.push(name);
            both.push(&inverse.unwrap_or_else(|| format!("^{name}")));
        }
        add_vocab(&mut image, section::RELATIONS, both, &self.relation_labels);
        for (built, first) in layers.into_iter().zip(section::EDGES) {
            built.add_to(&mut image, first);
        }
        let graph = Graph::from_image(image.finish())?;
        Ok((graph, Counted { duplicates: given - kept as usize }))
    }
}

/// Edges by name, gathered for [`GraphBuilder::edges_named`].
#[derive(Default)]
pub struct Batch {
    /// Heads and tails in turn.
    entities: Names,
    relations: Names,
}

impl Batch {
    /// Adds an edge.
    pub fn push(&mut self, head: &str, relation: &str, tail: &str) {
        self.entities.push(head);
        self.entities.push(tail);
        self.relations.push(relation);
    }

    /// Whether it is large enough to be given to the graph.
    pub fn is_full(&self) -> bool {
        self.relations.len() >= FULL || self.entities.bytes() + self.relations.bytes() >= FULL << 10
    }
}

/// Edges of a full batch: enough for waits to overlap, few enough to stay in the cache.
const FULL: usize = 1024;

/// The forward relation of a pair.
fn relation_of(pair: u32) -> Result<Relation> {
    match pair.checked_mul(2) {
        Some(number) if number < u32::MAX - 1 => Ok(Relation(number)),
        _ => Err(too_many("relations")),
    }
}

/// The tables of [`super::Edges`], being made.
struct Layer {
    entity_runs: Vec<u32>,
    run_relation: Vec<Relation>,
    run_targets: Vec<u32>,
    targets: Vec<Entity>,
    relation_sources: Vec<u32>,
    sources: Vec<Entity>,
}

impl Layer {
    /// Counting sort by source, then each source's few (relation, target) pairs by comparison.
    fn build(edges: &[Triple], further: &[Triple], entities: usize, relations: usize) -> Layer {
        let both = || {
            edges.iter().chain(further).flat_map(|&(head, relation, tail)| {
                [(head, relation, tail), (tail, relation.inverse(), head)]
            })
        };
        let mut starts = vec![0u32; entities + 1];
        both().for_each(|(source, _, _)| starts[source.index() + 1] += 1);
        for at in 0..entities {
            starts[at + 1] += starts[at];
        }
        let mut next = starts.clone();
        let mut pairs = vec![0u64; starts[entities] as usize];
        for (source, relation, target) in both() {
            let at = &mut next[source.index()];
            pairs[*at as usize] = u64::from(relation.0) << 32 | u64::from(target.0);
            *at += 1;
        }
        drop(next);
        let mut rest = &mut pairs[..];
        let mut slices = Vec::with_capacity(entities);
        for at in 0..entities {
            let (slice, after) = rest.split_at_mut((starts[at + 1] - starts[at]) as usize);
            slices.push(slice);
            rest = after;
        }
        slices.into_par_iter().with_min_len(256).for_each(|slice| slice.sort_unstable());

        let mut layer = Layer {
            entity_runs: Vec::with_capacity(entities + 1),
            run_relation: Vec::new(),
            run_targets: Vec::new(),
            targets: Vec::with_capacity(pairs.len()),
            relation_sources: vec![0; relations + 1],
            sources: Vec::new(),
        };
        for entity in 0..entities {
            layer.entity_runs.push(layer.run_relation.len() as u32);
            let mut before = None;
            for &pair in &pairs[starts[entity] as usize..starts[entity + 1] as usize] {
                if before == Some(pair) {
                    continue;
                }
                let relation = Relation((pair >> 32) as u32);
                if before.is_none_or(|before| before >> 32 != pair >> 32) {
                    layer.run_relation.push(relation);
                    layer.run_targets.push(layer.targets.len() as u32);
                    layer.relation_sources[relation.index() + 1] += 1;
                }
                layer.targets.push(Entity(pair as u32));
                before = Some(pair);
            }
        }
        drop(pairs);
        layer.entity_runs.push(layer.run_relation.len() as u32);
        layer.run_targets.push(layer.targets.len() as u32);
        for at in 0..relations {
            layer.relation_sources[at + 1] += layer.relation_sources[at];
        }
        let mut next = layer.relation_sources.clone();
        layer.sources = vec![Entity(0); layer.run_relation.len()];
        for entity in 0..entities {
            for run in layer.entity_runs[entity]..layer.entity_runs[entity + 1] {
                let at = &mut next[layer.run_relation[run as usize].index()];
                layer.sources[*at as usize] = Entity(entity as u32);
                *at += 1;
            }
        }
        layer
    }

    fn add_to(self, image: &mut ImageBuilder, first: u32) {
        image.add(first, self.entity_runs);
        image.add(first + 1, self.run_relation);
        image.add(first + 2, self.run_targets);
        image.add(first + 3, self.targets);
        image.add(first + 4, self.relation_sources);
        image.add(first + 5, self.sources);
    }
}

fn add_vocab(image: &mut ImageBuilder, first: u32, names: Interner, labels: &HashMap<u32, String>) {
    let count = names.len() as u32;
    let mut by_name: Vec<u32> = (0..count).collect();
    by_name.par_sort_unstable_by(|&a, &b| names.get(a).cmp(names.get(b)));
    let label = |number: u32| labels.get(&number).map_or("", String::as_str);
    let mut by_label: Vec<u32> = (0..count).filter(|&number| !label(number).is_empty()).collect();
    by_label.par_sort_unstable_by_key(|&number| (label(number), number));
    let mut label_text = String::new();
    let mut label_starts = vec![0u64];
    for number in 0..count {
        label_text.push_str(label(number));
        label_starts.push(label_text.len() as u64);
    }
    let (text, starts) = names.into_parts();
    image.add(first, text.into_bytes());
    image.add(first + 1, starts);
    image.add(first + 2, by_name);
    image.add(first + 3, label_text.into_bytes());
    image.add(first + 4, label_starts);
    image.add(first + 5, by_label);
}

pub(super) fn too_many(what: &str) -> Error {
    Error::TooLarge { what: format!("the number of {what}"), limit: MOST_EDGES.to_string() }
}
