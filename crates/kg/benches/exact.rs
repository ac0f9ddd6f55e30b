//! Exact answers against Oxigraph, and against hash sets without our neighbour lists, in one run:
//! `cargo bench -p skolem-kg --bench exact`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use oxigraph::model::{GraphName, NamedNode, Quad};
use oxigraph::sparql::{QueryResults, SparqlEvaluator};
use oxigraph::store::Store;
use skolem_kg::exact::Answering;
use skolem_kg::query::sparql::{self, BASE};
use skolem_kg::rng::Rng;
use skolem_kg::sample::{Settings, sample};
use skolem_kg::{Entity, Graph, GraphBuilder, Query, Relation, Split};

const ENTITIES: usize = 15_000;
const RELATIONS: usize = 20;
const EDGES: usize = 300_000;
const QUERIES: usize = 200;

fn main() {
    let graph = graph();
    let edges = graph.edges(Split::Train).unwrap();
    let store = store(&graph);
    let mut sets: HashMap<(Entity, Relation), HashSet<Entity>> = HashMap::new();
    for entity in (0..ENTITIES as u32).map(Entity) {
        for (relation, targets) in edges.of(entity) {
            sets.insert((entity, relation), targets.iter().copied().collect());
        }
    }
    println!("{ENTITIES} entities, {EDGES} edges; microseconds a query, {QUERIES} queries a shape");
    println!(
        "{:>5} {:>10} {:>10} {:>10} {:>8} {:>8}",
        "shape", "ours", "hash sets", "Oxigraph", "×", "×"
    );
    for shape in ["2p", "3p", "2i", "pi", "ip", "2in", "inp", "pni", "up"] {
        let queries = queries(&graph, shape);
        let mut answering = Answering::new(edges);
        let (ours, mine) = timed(&queries, |query| answering.answers(query).unwrap().len());
        let (plain, same) = timed(&queries, |query| with_hash_sets(&sets, query).len());
        assert_eq!(mine, same);
        let texts: Vec<String> =
            queries.iter().map(|query| sparql::print(query, &graph).unwrap()).collect();
        let (theirs, same) = timed(&texts, |text| with_oxigraph(&store, text));
        assert_eq!(mine, same, "{shape}");
        let each = |time: Duration| time.as_secs_f64() * 1e6 / QUERIES as f64;
        let ratio = |time: Duration| time.as_secs_f64() / ours.as_secs_f64();
        println!(
            "{shape:>5} {:>10.1} {:>10.1} {:>10.1} {:>8.1} {:>8.1}",
            each(ours),
            each(plain),
            each(theirs),
            ratio(plain),
            ratio(theirs)
        );
    }
}

/// The time for all, and the sum of what they give.
fn timed<T>(all: &[T], mut run: impl FnMut(&T) -> usize) -> (Duration, usize) {
    let start = Instant::now();
    let sum = all.iter().map(&mut run).sum();
    (start.elapsed(), sum)
}

/// Relations and entities are drawn unevenly, as in real graphs.
fn graph() -> Graph {
    let mut builder = GraphBuilder::default();
    let mut rng = Rng::new(3);
    let mut skewed = |end: usize| {
        let share = rng.below(1 << 30) as f64 / f64::from(1 << 30);
        (share * share * end as f64) as usize
    };
    for at in 0..ENTITIES {
        builder.entity(&format!("e{at}")).unwrap();
    }
    for _ in 0..EDGES {
        let [head, relation, tail] = [skewed(ENTITIES), skewed(RELATIONS), skewed(ENTITIES)];
        let relation = format!("r{relation}");
        builder
            .edge_named(Split::Train, &format!("e{head}"), &relation, &format!("e{tail}"))
            .unwrap();
    }
    builder.finish().unwrap().0
}

fn queries(graph: &Graph, shape: &str) -> Vec<Query> {
    let settings = Settings {
        shape: shape.parse().unwrap(),
        split: Split::Train,
        count: Some(QUERIES),
        most_hard: usize::MAX,
        seed: 1,
    };
    let mut queries = Vec::new();
    sample(graph, &settings, |drawn| {
        queries.push(drawn.query);
        Ok(())
    })
    .unwrap();
    queries
}

fn with_hash_sets(
    sets: &HashMap<(Entity, Relation), HashSet<Entity>>,
    query: &Query,
) -> HashSet<Entity> {
    match query {
        Query::Anchor(entity) => HashSet::from([*entity]),
        Query::Follow(relation, inner) => with_hash_sets(sets, inner)
            .into_iter()
            .filter_map(|entity| sets.get(&(entity, *relation)))
            .flatten()
            .copied()
            .collect(),
        Query::And(parts) => {
            let all = parts.iter().map(|part| with_hash_sets(sets, part));
            all.reduce(|a, b| a.intersection(&b).copied().collect()).unwrap_or_default()
        }
        Query::Or(parts) => parts.iter().flat_map(|part| with_hash_sets(sets, part)).collect(),
        Query::Not(inner) => {
            let inside = with_hash_sets(sets, inner);
            (0..ENTITIES as u32).map(Entity).filter(|entity| !inside.contains(entity)).collect()
        }
    }
}

fn with_oxigraph(store: &Store, text: &str) -> usize {
    let evaluator = SparqlEvaluator::new().with_prefix("", BASE).unwrap();
    let results = evaluator.parse_query(text).unwrap().on_store(store).execute().unwrap();
    let QueryResults::Solutions(solutions) = results else { return 0 };
    solutions.count()
}

fn store(graph: &Graph) -> Store {
    let store = Store::new().unwrap();
    let node = |name: &str| NamedNode::new(format!("{BASE}{name}")).unwrap();
    let (entities, relations) = (graph.entities().unwrap(), graph.relations().unwrap());
    let quads = graph.edges(Split::Train).unwrap().iter().map(|(head, relation, tail)| {
        let [head, tail] = [head, tail].map(|entity| node(entities.name(entity.0)));
        Quad::new(head, node(relations.name(relation.0)), tail, GraphName::DefaultGraph)
    });
    let mut loader = store.bulk_loader();
    loader.load_quads(quads).unwrap();
    loader.commit().unwrap();
    store
}
