//! Laws of set logic, checked against the definitions on random graphs and queries.
#![allow(clippy::unwrap_used)]

mod support;

use proptest::prelude::*;
use skolem_kg::exact::{Answering, naive};
use skolem_kg::query::text::Style;
use skolem_kg::query::tuple::Tuple;
use skolem_kg::query::{Query, formula, sparql, text};
use skolem_kg::{Entity, Error, Graph, Relation, Split};
use support::{edges, graph, queries};

fn answers(graph: &Graph, query: &Query) -> Vec<Entity> {
    Answering::new(graph.edges(Split::Train).unwrap()).answers(query).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn exact_answers_follow_the_definitions(edges in edges(), query in queries()) {
        let graph = graph(&edges);
        let expected = naive::answers(&graph.edges(Split::Train).unwrap(), &query);
        prop_assert_eq!(answers(&graph, &query), expected);
    }

    #[test]
    fn rewriting_keeps_the_answers(edges in edges(), query in queries()) {
        let graph = graph(&edges);
        let expected = answers(&graph, &query);
        prop_assert_eq!(&answers(&graph, &query.canonical()), &expected);
        prop_assert_eq!(&answers(&graph, &query.negations_inside()), &expected);
        let without = query.without_unions();
        prop_assert!(!without.has_union());
        prop_assert_eq!(&answers(&graph, &without), &expected);
        if let Ok(disjuncts) = query.disjuncts() {
            prop_assert!(disjuncts.iter().all(|query| !query.has_union()));
            prop_assert_eq!(&answers(&graph, &Query::Or(disjuncts)), &expected);
        }
    }

    #[test]
    fn canonical_form_is_one_form(query in queries(), turns in any::<u64>()) {
        let canonical = query.canonical();
        prop_assert_eq!(&canonical.canonical(), &canonical);
        prop_assert_eq!(shuffled(&query, turns).canonical(), canonical);
    }

    #[test]
    fn set_logic_and_tuples_come_back_as_they_were(query in queries()) {
        let graph = graph(&[]);
        for style in [Style::Ascii, Style::Unicode] {
            let written = text::print(&query, &graph, style);
            prop_assert_eq!(&text::parse(&written, &graph).unwrap(), &query, "{}", written);
        }
        prop_assert_eq!(Tuple::of(&query).to_query().unwrap(), query);
    }

    #[test]
    fn formulae_mean_the_same_set(edges in edges(), query in queries()) {
        let graph = graph(&edges);
        for style in [Style::Ascii, Style::Unicode] {
            let written = formula::print(&query, &graph, style);
            let (_, read) = formula::parse(&written, &graph).unwrap();
            prop_assert_eq!(answers(&graph, &read), answers(&graph, &query), "{}", written);
        }
    }

    #[test]
    fn sparql_means_the_same_set(edges in edges(), query in queries()) {
        let graph = graph(&edges);
        match sparql::print(&query, &graph) {
            Ok(written) => {
                let read = sparql::parse(&written, &graph).unwrap().query;
                prop_assert_eq!(answers(&graph, &read), answers(&graph, &query), "{}", written);
            }
            Err(Error::Unsupported { .. } | Error::TooLarge { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn witnesses_are_edges_from_anchors_to_the_answer(edges in edges(), query in queries()) {
        let graph = graph(&edges);
        let edges = graph.edges(Split::Train).unwrap();
        let (answers, witnesses) =
            Answering::new(edges).answers_with_witnesses(&query, usize::MAX).unwrap();
        prop_assert_eq!(answers.len(), witnesses.len());
        for (answer, witness) in answers.iter().zip(&witnesses) {
            for step in &witness.steps {
                prop_assert!(edges.contains(
                    Entity(step.from), Relation(step.relation), Entity(step.to)
                ));
            }
            if let Query::Follow(relation, _) = &query {
                let last = witness.steps.last().unwrap();
                prop_assert_eq!((last.relation, last.to), (relation.0, answer.0));
            }
        }
    }

    #[test]
    fn a_graph_file_comes_back_as_it_was(edges in edges()) {
        let graph = graph(&edges);
        let again = Graph::from_bytes(graph.as_bytes()).unwrap();
        again.verify().unwrap();
        let mut expected = edges.clone();
        expected.sort();
        expected.dedup();
        let found: Vec<_> = again.edges(Split::Test).unwrap().iter()
            .map(|(head, relation, tail)| (head.0, relation.0 / 2, tail.0)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(again.fingerprint(), graph.fingerprint());
    }
}

/// The same query with the operands of every intersection and union turned round by some places.
fn shuffled(query: &Query, turns: u64) -> Query {
    let turn = |parts: &[Query]| {
        let mut parts: Vec<Query> = parts.iter().map(|part| shuffled(part, turns / 3)).collect();
        let by = turns as usize % parts.len();
        parts.rotate_left(by);
        parts
    };
    match query {
        Query::Anchor(entity) => Query::Anchor(*entity),
        Query::Follow(relation, inner) => shuffled(inner, turns / 2).follow(*relation),
        Query::Not(inner) => shuffled(inner, turns / 2).not(),
        Query::And(parts) => Query::And(turn(parts)),
        Query::Or(parts) => Query::Or(turn(parts)),
    }
}
