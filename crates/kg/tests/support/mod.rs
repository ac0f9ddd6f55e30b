//! Small random graphs and queries for the tests of this folder.
#![allow(dead_code, clippy::unwrap_used)]

use proptest::prelude::*;
use skolem_kg::{Entity, Graph, GraphBuilder, Query, Relation, Split};

pub const ENTITIES: u32 = 8;
pub const RELATIONS: u32 = 3;

/// A graph whose entity `i` is called `e{i}` and whose relation `r` is called `r{r}`.
pub fn graph(edges: &[(u32, u32, u32)]) -> Graph {
    let mut builder = GraphBuilder::default();
    for at in 0..ENTITIES {
        builder.entity(&format!("e{at}")).unwrap();
    }
    for at in 0..RELATIONS {
        builder.relation(&format!("r{}", at * 2)).unwrap();
    }
    for &(head, relation, tail) in edges {
        builder.edge(Split::Train, Entity(head), Relation(relation * 2), Entity(tail));
    }
    builder.finish().unwrap().0
}

pub fn edges() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    prop::collection::vec((0..ENTITIES, 0..RELATIONS, 0..ENTITIES), 0..30)
}

/// Queries of any shape over such a graph.
pub fn queries() -> impl Strategy<Value = Query> {
    let anchor = (0..ENTITIES).prop_map(|at| Query::Anchor(Entity(at)));
    anchor.prop_recursive(5, 24, 3, |inner| {
        prop_oneof![
            3 => (0..RELATIONS * 2, inner.clone()).prop_map(|(r, query)| query.follow(Relation(r))),
            1 => prop::collection::vec(inner.clone(), 2..4).prop_map(Query::And),
            1 => prop::collection::vec(inner.clone(), 2..4).prop_map(Query::Or),
            1 => inner.prop_map(Query::not),
        ]
    })
}
