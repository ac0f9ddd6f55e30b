//! Exact answers: what a query entails on the graph as it is.
//!
//! [`Answering`] evaluates a query term by term with sorted sets; complements stay complements until
//! they meet an intersection, and are relative to all entities.

mod budget;
pub mod naive;
mod set;
mod witness;

pub use budget::{Budget, Stop};
pub use set::EntitySet;
pub use witness::{Step, Witness};

use std::collections::HashMap;

use crate::error::Result;
use crate::graph::Edges;
use crate::id::{Entity, Relation};
use crate::query::Query;

/// Evaluates queries on one split of a graph.
pub struct Answering<'a> {
    edges: Edges<'a>,
    budget: Budget,
    /// Marks for collecting many targets; empty between calls.
    marks: Vec<u64>,
}

/// Targets beyond this share of the entities are collected by marking instead of sorting.
const SORTED_SHARE: usize = 16;

impl<'a> Answering<'a> {
    /// Evaluates without a limit.
    pub fn new(edges: Edges<'a>) -> Self {
        Answering::within(edges, Budget::default())
    }

    /// Evaluates within a budget of time and memory.
    pub fn within(edges: Edges<'a>, budget: Budget) -> Self {
        Answering { edges, budget, marks: Vec::new() }
    }

    /// The graph it evaluates on.
    pub fn edges(&self) -> Edges<'a> {
        self.edges
    }

    /// The answers of a query, sorted.
    ///
    /// ```
    /// use skolem_kg::{exact::Answering, GraphBuilder, Query, Split};
    /// let mut builder = GraphBuilder::default();
    /// builder.edge_named(Split::Train, "France", "borders", "Spain")?;
    /// builder.edge_named(Split::Train, "France", "borders", "Italy")?;
    /// builder.edge_named(Split::Train, "Spain", "borders", "Portugal")?;
    /// let graph = builder.finish()?.0;
    /// let query = Query::parse("borders(France) & !^borders(Portugal)", &graph)?;
    /// let answers = Answering::new(graph.edges(Split::Train)?).answers(&query)?;
    /// assert_eq!(answers, [graph.entity("Italy")?]);
    /// # Ok::<(), skolem_kg::Error>(())
    /// ```
    pub fn answers(&mut self, query: &Query) -> Result<Vec<Entity>> {
        let set = self.set(query)?;
        self.budget.take(set.len(self.edges.entity_count()))?;
        Ok(set.into_sorted(self.edges.entity_count()))
    }

    /// The answers of a query as a set, which may be a complement.
    pub fn set(&mut self, query: &Query) -> Result<EntitySet> {
        self.evaluate(query, None)
    }

    /// Evaluates a term; `all` keeps the set of each term that a witness may need.
    fn evaluate(
        &mut self,
        query: &Query,
        mut all: Option<&mut HashMap<*const Query, EntitySet>>,
    ) -> Result<EntitySet> {
        self.budget.check()?;
        let set = match query {
            Query::Anchor(entity) => {
                EntitySet::In(match entity.index() < self.edges.entity_count() {
                    true => vec![*entity],
                    false => Vec::new(),
                })
            }
            Query::Follow(relation, inner) => {
                let from = self.evaluate(inner, all.as_deref_mut())?;
                EntitySet::In(self.follow(&from, *relation)?)
            }
            Query::Not(inner) => self.evaluate(inner, all.as_deref_mut())?.complement(),
            Query::And(parts) => {
                let mut set = EntitySet::NotIn(Vec::new());
                for part in parts {
                    let part = self.evaluate(part, all.as_deref_mut())?;
                    set = set.intersection(part);
                }
                set
            }
            Query::Or(parts) => {
                let mut set = EntitySet::In(Vec::new());
                for part in parts {
                    let part = self.evaluate(part, all.as_deref_mut())?;
                    set = set.union(part);
                }
                set
            }
        };
        self.budget.take(set.stored())?;
        if let Some(all) = all {
            all.insert(std::ptr::from_ref(query), set.clone());
        }
        Ok(set)
    }

    /// What a relation leads to from a set, sorted.
    pub fn follow(&mut self, from: &EntitySet, relation: Relation) -> Result<Vec<Entity>> {
        let edges = self.edges;
        let sources = edges.sources(relation);
        let mut targets = Vec::new();
        let mut marking = false;
        // A set much smaller than the relation is walked itself, a larger one through the sources.
        let few = match from {
            EntitySet::In(list) if list.len() < sources.len() => Some(list),
            _ => None,
        };
        let each: Box<dyn Iterator<Item = Entity> + '_> = match few {
            Some(list) => Box::new(list.iter().copied()),
            None => Box::new(sources.iter().copied().filter(|source| from.contains(*source))),
        };
        for (at, source) in each.enumerate() {
            if at % 4096 == 4095 {
                self.budget.check()?;
            }
            let reached = edges.neighbours(source, relation);
            if !marking && targets.len() + reached.len() > edges.entity_count() / SORTED_SHARE + 64
            {
                marking = true;
                self.marks.resize(edges.entity_count().div_ceil(64), 0);
                targets.drain(..).for_each(|target| mark(&mut self.marks, target));
            }
            match marking {
                true => reached.iter().for_each(|target| mark(&mut self.marks, *target)),
                false => targets.extend_from_slice(reached),
            }
        }
        if marking {
            targets.extend(unmark(&mut self.marks));
        } else {
            targets.sort_unstable();
            targets.dedup();
        }
        Ok(targets)
    }
}

fn mark(marks: &mut [u64], entity: Entity) {
    marks[entity.index() / 64] |= 1 << (entity.index() % 64);
}

/// All marked entities, sorted; nothing stays marked.
fn unmark(marks: &mut [u64]) -> Vec<Entity> {
    let mut all = Vec::with_capacity(marks.iter().map(|word| word.count_ones() as usize).sum());
    for (at, word) in marks.iter_mut().enumerate() {
        while *word != 0 {
            all.push(Entity((at * 64) as u32 + word.trailing_zeros()));
            *word &= *word - 1;
        }
    }
    all
}
