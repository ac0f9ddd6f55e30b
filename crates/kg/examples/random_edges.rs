//! Prints random triples, for measuring: `random_edges 10000000 1000000 200 > edges.tsv` gives ten
//! million edges over a million entities and 200 relations.

use std::io::{BufWriter, Write};

use skolem_kg::rng::Rng;

fn main() -> std::io::Result<()> {
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [edges, entities, relations] = given[..] else {
        eprintln!("usage: random_edges EDGES ENTITIES RELATIONS");
        std::process::exit(2);
    };
    let mut rng = Rng::new(1);
    let mut out = BufWriter::new(std::io::stdout().lock());
    for _ in 0..edges {
        let [head, tail] = [rng.below(entities), rng.below(entities)];
        writeln!(out, "entity {head}\trelation {}\tentity {tail}", rng.below(relations))?;
    }
    out.flush()
}
