//! Random SPARQL over random graphs, against Oxigraph.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;

use oxigraph::model::{GraphName, NamedNode, Quad, Term};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use skolem_kg::exact::Answering;
use skolem_kg::query::sparql::{self, BASE};
use skolem_kg::query::text::{Style, print};
use skolem_kg::rng::Rng;
use skolem_kg::{Error, Graph, Split};
use support::{ENTITIES, RELATIONS};

/// Questions that both sides must have answered alike before the test ends.
const CASES: usize = 10_000;
/// How many questions are asked of one graph.
const PER_GRAPH: usize = 50;

#[test]
fn answers_agree_with_oxigraph() {
    // Oxigraph's own parser recurses deeper than a test's thread allows.
    let run = std::thread::Builder::new().stack_size(256 << 20).spawn(compare).unwrap();
    run.join().unwrap();
}

fn compare() {
    let mut rng = Rng::new(20_260_101);
    let (mut agreed, mut refused, mut nonempty, mut negated) = (0, 0, 0, 0);
    while agreed < CASES {
        let edges: Vec<_> = (0..10 + rng.below(40))
            .map(|_| {
                let [head, tail] = [(); 2].map(|()| rng.below(ENTITIES as usize) as u32);
                (head, rng.below(RELATIONS as usize) as u32, tail)
            })
            .collect();
        let graph = support::graph(&edges);
        let store = store(&edges);
        for _ in 0..PER_GRAPH {
            let question = Generator { rng: &mut rng, fresh: 0 }.question();
            let parsed = match sparql::parse(&question, &graph) {
                Ok(parsed) => parsed,
                Err(Error::Invalid { .. } | Error::Unsupported { .. }) => {
                    refused += 1;
                    continue;
                }
                Err(other) => panic!("{question}\n{other}"),
            };
            let ours = ours(&graph, &parsed.query);
            let theirs = theirs(&store, &question);
            let read = print(&parsed.query, &graph, Style::Ascii);
            assert_eq!(ours, theirs, "{question}\nread as {read}\nedges {edges:?}");
            agreed += 1;
            nonempty += usize::from(!ours.is_empty());
            negated += usize::from(parsed.query.has_negation());
        }
    }
    println!("{agreed} questions agreed ({nonempty} with answers, {negated} with negation)");
    println!("{refused} were refused as not expressible");
    // The generator must not drift into questions that test nothing.
    assert!(nonempty > CASES / 4 && negated > CASES / 5, "{nonempty} {negated}");
}

fn ours(graph: &Graph, query: &skolem_kg::Query) -> BTreeSet<String> {
    let edges = graph.edges(Split::Train).unwrap();
    let answers = Answering::new(edges).answers(query).unwrap();
    answers.iter().map(|entity| format!("e{}", entity.0)).collect()
}

fn theirs(store: &Store, question: &str) -> BTreeSet<String> {
    let evaluator = SparqlEvaluator::new().with_prefix("", BASE).unwrap();
    let results = evaluator.parse_query(question).unwrap().on_store(store).execute().unwrap();
    let QueryResults::Solutions(solutions) = results else { panic!() };
    solutions
        .map(|solution| match solution.unwrap().get(0) {
            Some(Term::NamedNode(node)) => node.as_str()[BASE.len()..].to_owned(),
            other => panic!("{question}\nunbound answer {other:?}"),
        })
        .collect()
}

fn store(edges: &[(u32, u32, u32)]) -> Store {
    let store = Store::new().unwrap();
    let node = |name: String| NamedNode::new(format!("{BASE}{name}")).unwrap();
    for (head, relation, tail) in edges {
        let (head, tail) = (node(format!("e{head}")), node(format!("e{tail}")));
        let relation = node(format!("r{}", relation * 2));
        store.insert(&Quad::new(head, relation, tail, GraphName::DefaultGraph)).unwrap();
    }
    store
}

/// Writes questions that are mostly within set logic, and sometimes not.
struct Generator<'a> {
    rng: &'a mut Rng,
    fresh: usize,
}

impl Generator<'_> {
    fn question(&mut self) -> String {
        let distinct = if self.chance(2) { "DISTINCT " } else { "" };
        let body = self.group("?t", 2);
        format!("SELECT {distinct}?t WHERE {{ {body} }}")
    }

    /// Patterns that bind a variable, and conditions on it.
    fn group(&mut self, variable: &str, depth: usize) -> String {
        let mut parts = Vec::new();
        for _ in 0..1 + self.rng.below(2) {
            parts.push(self.binding(variable, depth));
        }
        let conditions = if depth == 0 { 0 } else { self.rng.below(3) };
        for _ in 0..conditions {
            parts.push(self.condition(variable, depth));
        }
        // SPARQL does not care in which order a group's triples and filters stand.
        if !parts.iter().any(|part| part.starts_with("MINUS")) {
            self.rng.shuffle(&mut parts);
        }
        parts.join(" ")
    }

    fn binding(&mut self, variable: &str, depth: usize) -> String {
        match self.rng.below(if depth == 0 { 1 } else { 8 }) {
            0..=2 => self.triple(variable),
            3 | 4 => {
                let other = self.variable();
                let inner = self.group(&other, depth - 1);
                let step = self.step(&other, variable);
                format!("{inner} {step}")
            }
            5 | 6 => {
                let [a, b] = [(); 2].map(|()| self.group(variable, depth - 1));
                format!("{{ {a} }} UNION {{ {b} }}")
            }
            _ => format!("VALUES {variable} {{ {} {} }}", self.entity(), self.entity()),
        }
    }

    fn condition(&mut self, variable: &str, depth: usize) -> String {
        let inner = match self.rng.below(4) {
            // Sometimes about another variable too, which must be refused or be right.
            0 if self.fresh > 0 => {
                let other = format!("?v{}", 1 + self.rng.below(self.fresh));
                self.step(&other, variable)
            }
            _ => self.group(variable, depth.saturating_sub(2)),
        };
        match self.rng.below(7) {
            0..=2 => format!("FILTER NOT EXISTS {{ {inner} }}"),
            3 | 4 => format!("MINUS {{ {inner} }}"),
            5 => format!("FILTER EXISTS {{ {inner} }}"),
            _ => {
                let sign = if self.chance(2) { "=" } else { "!=" };
                format!("FILTER({variable} {sign} {})", self.entity())
            }
        }
    }

    fn triple(&mut self, variable: &str) -> String {
        let entity = self.entity();
        self.step(&entity, variable)
    }

    /// A triple or path between two terms, either way round.
    fn step(&mut self, from: &str, to: &str) -> String {
        let path = self.path(2);
        match self.chance(2) {
            true => format!("{from} {path} {to} ."),
            false => format!("{to} {path} {from} ."),
        }
    }

    fn path(&mut self, depth: usize) -> String {
        match self.rng.below(if depth == 0 { 4 } else { 8 }) {
            0..=3 => format!(":r{}", 2 * self.rng.below(RELATIONS as usize)),
            4 | 5 => format!("({}/{})", self.path(depth - 1), self.path(depth - 1)),
            6 => format!("^{}", self.path(0)),
            _ => format!("({}|{})", self.path(depth - 1), self.path(depth - 1)),
        }
    }

    fn entity(&mut self) -> String {
        format!(":e{}", self.rng.below(ENTITIES as usize))
    }

    fn variable(&mut self) -> String {
        self.fresh += 1;
        format!("?v{}", self.fresh)
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.rng.below(one_in) == 0
    }
}
