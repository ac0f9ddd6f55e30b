//! Figures of a small model of random weights, with all that they are made of, as JSON: `benches/scipy/check.py`
//! computes them once more.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use skolem::evaluate::cardinality::{Points, predict};
use skolem::evaluate::{Test, Uncertainty, evaluate};
use skolem::model::{Logic, Model, Settings, Weights};
use skolem::program::Union;
use skolem_kg::Entity;
use skolem_kg::query::Query;
use skolem_kg::query::shape::{NAMED, Shape};
use skolem_kg::rng::Rng;

const ENTITIES: usize = 400;
const RELATIONS: usize = 6;
/// Queries of each shape.
const QUERIES: usize = 30;
const SEED: u64 = 7;

fn main() -> skolem::Result<()> {
    let mut rng = Rng::new(SEED);
    let model = Logic { dim: 32, hidden: 24, bounds: true, input_gain: 4.0, ..Logic::default() };
    let mut weights: Weights<f64> = model.weights(ENTITIES, RELATIONS, &mut rng);
    // One entity in four has a twin, which scores the same.
    let width = weights.entities.shape[1];
    for pair in weights.entities.data.chunks_exact_mut(4 * width) {
        let (first, rest) = pair.split_at_mut(width);
        rest[..width].copy_from_slice(first);
    }
    let tests = tests(&mut rng)?;

    let mut uncertainty = Uncertainty::new(&model, false);
    let (mut parts, mut queries) = (BTreeMap::<String, [Vec<f64>; 2]>::new(), Vec::new());
    let listed = tests.iter().map(Ok);
    let report = evaluate(&model, &weights, listed, Union::DeMorgan, |ranked| {
        uncertainty.add(&model, ranked);
        for (test, set) in ranked.sets() {
            let of = parts.entry(test.shape.clone()).or_default();
            for (measure, parts) in model.measures().iter().zip(of) {
                parts.extend(model.uncertainty(measure, set));
            }
        }
        Ok(())
    })?;
    // Once more one by one, for the scores.
    for test in &tests {
        queries.push(json!({
            "shape": test.shape, "easy": test.easy, "hard": test.hard,
            "scores": scores(&model, &weights, &test.query)?,
        }));
    }
    let shapes = uncertainty.shapes();
    let mut errors = serde_json::Map::new();
    for (at, measure) in uncertainty.measures().iter().enumerate() {
        let points = shapes
            .iter()
            .map(|(shape, of)| Points { inputs: &parts[shape][at], answers: &of.answers });
        errors.insert((*measure).into(), json!(predict(points.collect(), SEED, || Ok(()))?));
    }
    let measured = |(shape, of): (&String, &skolem::evaluate::Measured)| {
        (shape.clone(), json!({ "answers": of.answers, "sums": of.sums, "parts": parts[shape] }))
    };
    let measured: serde_json::Map<String, Value> = shapes.iter().map(measured).collect();
    let all = json!({
        "seed": SEED,
        "queries": queries,
        "shapes": report.shapes,
        "means": { "epfo": report.epfo(), "negation": report.negation(), "all": report.all() },
        "measures": uncertainty.measures(),
        "measured": measured,
        "correlations": uncertainty.correlations(),
        "errors": errors,
    });
    println!("{all}");
    Ok(())
}

/// Random queries of the named shapes, with random answers.
fn tests(rng: &mut Rng) -> skolem::Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (name, _) in NAMED {
        let shape: Shape = name.parse()?;
        for _ in 0..QUERIES {
            let query = random(&shape, rng);
            let mut entities: Vec<u32> = (0..ENTITIES as u32).collect();
            rng.shuffle(&mut entities);
            let [easy, hard] = [rng.below(30), 1 + rng.below(10)];
            let mut part = |from: usize, to: usize| {
                entities[from..to].sort_unstable();
                entities[from..to].to_vec()
            };
            let (easy, hard) = (part(0, easy), part(easy, easy + hard));
            tests.push(Test { shape: name.into(), query, easy, hard });
        }
    }
    Ok(tests)
}

fn random(shape: &Shape, rng: &mut Rng) -> Query {
    match shape {
        Shape::Anchor => Query::Anchor(Entity(rng.below(ENTITIES) as u32)),
        Shape::Follow(inner) => {
            let relation = skolem_kg::Relation(rng.below(RELATIONS) as u32);
            random(inner, rng).follow(relation)
        }
        Shape::And(parts) => Query::And(parts.iter().map(|part| random(part, rng)).collect()),
        Shape::Or(parts) => Query::Or(parts.iter().map(|part| random(part, rng)).collect()),
        Shape::Not(inner) => random(inner, rng).not(),
    }
}

/// The score of every entity, one at a time.
fn scores(model: &Logic, weights: &Weights<f64>, query: &Query) -> skolem::Result<Vec<f64>> {
    let program = skolem::program::Program::compile([query], Union::DeMorgan)?;
    let mut pass = skolem::pass::Pass::default();
    pass.forward(model, weights, &program);
    let score = |entity: usize| model.score(&pass.roots, weights.entity(entity as u32));
    Ok((0..ENTITIES).map(score).collect())
}
