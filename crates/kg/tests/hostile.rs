//! Texts and files that mean harm, into every parser of questions and the graph file: an error at
//! worst, never a panic. `SKOLEM_CASES=1000000` runs that many cases of each (2,000 by default).
#![allow(clippy::unwrap_used)]

mod support;

use skolem_kg::exact::Answering;
use skolem_kg::query::text::Style;
use skolem_kg::query::tuple::Tuple;
use skolem_kg::query::{Notation, Question, Shape, formula, sparql, text};
use skolem_kg::rng::Rng;
use skolem_kg::{Graph, Query, Split, Stats};

fn cases() -> usize {
    std::env::var("SKOLEM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

fn world() -> Graph {
    support::graph(&[(0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 0, 0), (4, 1, 4), (5, 2, 6)])
}

const SET_LOGIC: &[&str] = &[
    "r0(^r2(e1)) & !(r4(e2) | e3)",
    "r0(r2⁻¹(\"e1\")) ∧ ¬(r4('e2') ∨ <e3>)",
    "((((e1))))",
    "!!!!e1 & r0^-1(e2)",
];

const FORMULAE: &[&str] = &[
    "?T : exists ?V. r0(e1, ?V) & !r2(e2, ?V) & r4(?V, ?T)",
    "∃?V,?T. [r0(e0,?V) ∨ r2(e1,?V)] ∧ ¬r4(?V,?T)",
    "?T : ?T = e4 & !(exists ?V. r0(e1,?V) & r2(?V,?T))",
];

const SPARQL: &[&str] = &[
    "SELECT DISTINCT ?t { :e0 :r0 ?v . ?v :r2 ?t FILTER NOT EXISTS { :e1 :r4/^:r0 ?v } } LIMIT 4",
    "PREFIX x: <skolem:/> SELECT ?t { { x:e0 x:r0|x:r2 ?t } UNION { ?t :r4 [ :r0 :e1 ] } MINUS { ?t :r0 :e3 } }",
    "SELECT ?t WHERE { VALUES ?t { :e1 :e2 } FILTER(?t != :e1) \"a\\\"b\" :r0 ?t } # done",
    "BASE <http://a/> SELECT (COUNT(?x) AS ?n) { ?x a <b> OPTIONAL { ?x ?y 1.5e3 } } ORDER BY ?x",
];

const SHAPES: &[&str] = &["2in", "p(p(e) & !p(e))", "!(p(e) | e) & p(p(p(p(e))))"];

const TUPLES: &[&str] =
    &["[[[4732,[43]],[2456,[165]],[-1]],[48]]", "[[5,[6,8,-2]],[6,[5]]]", "[[1,[]],[2,[3]],[-2]]"];

/// Changes a text: bytes, cuts, repeats and splices with the others.
fn mutate(rng: &mut Rng, seeds: &[&[u8]]) -> Vec<u8> {
    let pick = |rng: &mut Rng| seeds[rng.below(seeds.len())].to_vec();
    let mut bytes = pick(rng);
    for _ in 0..1 + rng.below(6) {
        let at = rng.below(bytes.len() + 1);
        let end = at + rng.below((bytes.len() - at).min(12) + 1);
        match rng.below(7) {
            0 if at < bytes.len() => bytes[at] = rng.next() as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let part = bytes[at..end].to_vec();
                (0..rng.below(100)).for_each(|_| drop(bytes.splice(at..at, part.iter().copied())));
            }
            4 => {
                let other = pick(rng);
                let from = rng.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            5 => {
                let signs = "(){}[]&|!^?.,:\"'<>\\⁻∃∧∨¬/*+#-_ \n\0é".chars().collect::<Vec<_>>();
                let sign = signs[rng.below(signs.len())].to_string();
                bytes.splice(at..at, sign.repeat(1 + rng.below(3)).into_bytes());
            }
            _ => {
                let open =
                    [&b"("[..], b"!", b"{", b"[", b"r0(", b"{ :e0 :r0 ?t FILTER NOT EXISTS {"];
                let open = open[rng.below(open.len())].repeat(rng.below(200));
                bytes.splice(at..at, open);
            }
        }
    }
    bytes
}

/// Feeds mutated texts to a parser; some must get through, or the seeds are no good.
fn attack(seeds: &[&str], seed: u64, mut parse: impl FnMut(&str) -> bool) {
    let seeds: Vec<&[u8]> = seeds.iter().map(|text| text.as_bytes()).collect();
    let mut rng = Rng::new(seed);
    let mut accepted = 0;
    for _ in 0..cases() {
        let bytes = mutate(&mut rng, &seeds);
        accepted += usize::from(parse(&String::from_utf8_lossy(&bytes)));
    }
    assert!(accepted > cases() / 1000, "only {accepted} of {} texts were read", cases());
    println!("{} texts, {accepted} of them read", cases());
}

/// Writes a query in every notation and answers it: what was read must be fit for use.
fn use_it(graph: &Graph, query: &Query) {
    let written = text::print(query, graph, Style::Ascii);
    // A text near the limit may grow beyond it when it is written out.
    if written.len() < 8 * 1024 {
        let again = text::parse(&written, graph).expect(&written);
        assert_eq!(again.canonical(), query.canonical());
    }
    formula::print(query, graph, Style::Unicode);
    drop(sparql::print(query, graph));
    assert_eq!(
        Tuple::of(query).to_query().map(|query| query.canonical()).ok(),
        Some(query.canonical())
    );
    Answering::new(graph.edges(Split::Train).unwrap()).answers(query).unwrap();
}

fn attack_notation(notation: Notation, seeds: &[&str], seed: u64) {
    let graph = world();
    attack(seeds, seed, |text| match Question::parse_as(notation, text, &graph) {
        Ok(question) => {
            use_it(&graph, &question.query);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    });
}

#[test]
fn set_logic() {
    attack_notation(Notation::SetLogic, SET_LOGIC, 1);
}

#[test]
fn first_order_logic() {
    attack_notation(Notation::Formula, FORMULAE, 2);
}

#[test]
fn sparql_text() {
    attack_notation(Notation::Sparql, SPARQL, 3);
}

#[test]
fn notations_are_told_apart_in_any_text() {
    let all = [SET_LOGIC, FORMULAE, SPARQL].concat();
    let graph = world();
    attack(&all, 4, |text| Question::parse(text, &graph).is_ok());
}

#[test]
fn shapes() {
    attack(SHAPES, 5, |text| match text.parse::<Shape>() {
        Ok(shape) => {
            let again: Shape = shape.pattern().parse().unwrap();
            assert_eq!(again.canonical(), shape.canonical());
            true
        }
        Err(_) => false,
    });
}

#[test]
fn tuples() {
    let graph = world();
    attack(TUPLES, 6, |text| {
        let query =
            serde_json::from_str::<Tuple>(text).ok().and_then(|tuple| tuple.to_query().ok());
        query.inspect(|query| drop(text::print(query, &graph, Style::Ascii))).is_some()
    });
}

#[test]
fn graph_files() {
    let graph = world();
    let whole = graph.as_bytes();
    let mut rng = Rng::new(7);
    let (mut opened, mut unharmed) = (0, 0);
    for case in 0..cases() {
        let mut bytes = mutate(&mut rng, &[whole]);
        // Half of them get correct checksums, so that what lies behind these is reached too.
        let sealed = case % 2 == 0 && reseal(&mut bytes);
        let Ok(read) = Graph::from_bytes(&bytes) else { continue };
        opened += 1;
        let checked = read.verify();
        if !sealed && checked.is_ok() {
            assert_eq!(read.fingerprint(), graph.fingerprint(), "damage was not seen");
            unharmed += 1;
        }
        if let Ok(query) = Query::parse("r0(^r2(e1)) & !r4(e2) | r2(!e3)", &read)
            && let Ok(edges) = read.edges(Split::Test)
        {
            drop(Answering::new(edges).answers_with_witnesses(&query, 5));
        }
        drop(Stats::of(&read));
    }
    println!("{} files, {opened} opened, {unharmed} harmed only between sections", cases());
    assert!(opened > cases() / 1000);
}

/// Puts right the length and all checksums of a graph file, if its table can be read at all.
fn reseal(bytes: &mut [u8]) -> bool {
    use xxhash_rust::xxh3::{Xxh3, xxh3_64};
    let number = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().unwrap()) as usize)
    };
    if bytes.len() < 32 {
        return false;
    }
    let count = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let Some(end) = count.checked_mul(32).map(|table| table + 32) else { return false };
    if end > bytes.len() {
        return false;
    }
    let len = bytes.len() as u64;
    bytes[16..24].copy_from_slice(&len.to_le_bytes());
    for row in (32..end).step_by(32) {
        let (Some(start), Some(size)) = (number(bytes, row + 8), number(bytes, row + 16)) else {
            return false;
        };
        let Some(section) = start.checked_add(size).and_then(|end| bytes.get(start..end)) else {
            return false;
        };
        let checksum = xxh3_64(section);
        bytes[row + 24..row + 32].copy_from_slice(&checksum.to_le_bytes());
    }
    let mut hash = Xxh3::new();
    hash.update(&bytes[..24]);
    hash.update(&bytes[32..end]);
    let checksum = hash.digest();
    bytes[24..32].copy_from_slice(&checksum.to_le_bytes());
    true
}
