//! The definitions, followed to the letter: slow, and what the fast evaluation is checked against.

use crate::graph::Edges;
use crate::id::Entity;
use crate::query::Query;

/// Whether an entity answers a query.
pub fn holds(edges: &Edges<'_>, query: &Query, entity: Entity) -> bool {
    match query {
        Query::Anchor(anchor) => *anchor == entity,
        // Somewhere in the inner set is an entity from which the relation leads here.
        Query::Follow(relation, inner) => {
            (0..edges.entity_count() as u32).map(Entity).any(|from| {
                edges.neighbours(from, *relation).contains(&entity) && holds(edges, inner, from)
            })
        }
        Query::And(parts) => parts.iter().all(|part| holds(edges, part, entity)),
        Query::Or(parts) => parts.iter().any(|part| holds(edges, part, entity)),
        Query::Not(inner) => !holds(edges, inner, entity),
    }
}

/// All entities that answer a query.
pub fn answers(edges: &Edges<'_>, query: &Query) -> Vec<Entity> {
    let all = (0..edges.entity_count() as u32).map(Entity);
    all.filter(|entity| holds(edges, query, *entity)).collect()
}
