//! Which entities stood for the variables when an answer was found.

use std::collections::HashMap;

use super::{Answering, EntitySet};
use crate::error::Result;
use crate::graph::Edges;
use crate::id::{Entity, Relation};
use crate::query::Query;

/// One way in which an entity came to be an answer.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Witness {
    /// The edges used, from anchors to the answer. Negated parts use none.
    pub steps: Vec<Step>,
}

/// An edge of the graph that a witness uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Step {
    /// Where it starts: an anchor or a variable's entity.
    pub from: u32,
    /// The relation followed, which may be an inverse.
    pub relation: u32,
    /// Where it leads: a variable's entity or the answer.
    pub to: u32,
}

impl Step {
    fn new(from: Entity, relation: Relation, to: Entity) -> Step {
        Step { from: from.0, relation: relation.0, to: to.0 }
    }
}

impl Answering<'_> {
    /// The answers of a query, and for the first `most` of them a witness each.
    pub fn answers_with_witnesses(
        &mut self,
        query: &Query,
        most: usize,
    ) -> Result<(Vec<Entity>, Vec<Witness>)> {
        let mut all = HashMap::new();
        let set = self.evaluate(query, Some(&mut all))?;
        self.budget.take(set.len(self.edges.entity_count()))?;
        let answers = set.into_sorted(self.edges.entity_count());
        let mut witnesses = Vec::new();
        for &answer in answers.iter().take(most) {
            self.budget.check()?;
            let mut steps = Vec::new();
            find(&self.edges, query, answer, &all, &mut steps);
            witnesses.push(Witness { steps });
        }
        Ok((answers, witnesses))
    }
}

/// Adds the steps by which an entity known to be in a set came to be there.
fn find(
    edges: &Edges<'_>,
    query: &Query,
    entity: Entity,
    sets: &HashMap<*const Query, EntitySet>,
    steps: &mut Vec<Step>,
) {
    let holds = |query: &Query, entity: Entity| {
        sets.get(&std::ptr::from_ref(query)).is_some_and(|set| set.contains(entity))
    };
    match query {
        Query::Anchor(_) | Query::Not(_) => {}
        Query::Follow(relation, inner) => {
            let sources = edges.neighbours(entity, relation.inverse());
            if let Some(&from) = sources.iter().find(|from| holds(inner, **from)) {
                find(edges, inner, from, sets, steps);
                steps.push(Step::new(from, *relation, entity));
            }
        }
        Query::And(parts) => {
            parts.iter().for_each(|part| find(edges, part, entity, sets, steps));
        }
        Query::Or(parts) => {
            if let Some(part) = parts.iter().find(|part| holds(part, entity)) {
                find(edges, part, entity, sets, steps);
            }
        }
    }
}
