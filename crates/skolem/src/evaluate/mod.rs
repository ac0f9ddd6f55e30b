//! How well a model ranks the answers that it has not seen.

mod rank;
mod scan;

use std::collections::{BTreeMap, BTreeSet};

use skolem_kg::exact::Answering;
use skolem_kg::query::shape::NAMED;
use skolem_kg::rng::Rng;
use skolem_kg::sample::{Settings, sample};
use skolem_kg::{Entity, Graph, Query, Shape, Split, dataset};
use skolem_nn::Real;

use crate::error::{Error, Result};
use crate::model::{Model, Weights};
use crate::pass::Pass;
use crate::program::{Program, Union};

pub use rank::{Ranks, rank};
pub use scan::Scan;

/// Queries ranked at once: enough for a matrix product, few enough that their scores need little memory.
const CHUNK: usize = 64;

/// A query whose hard answers are to be ranked.
#[derive(Clone, Debug)]
pub struct Test {
    /// The name of its shape.
    pub shape: String,
    /// What is asked.
    pub query: Query,
    /// Answers that are known, and left out of the ranking: sorted.
    pub easy: Vec<u32>,
    /// Answers to find: sorted.
    pub hard: Vec<u32>,
}

/// The figures of some queries.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Figures {
    /// Number of queries.
    pub queries: usize,
    /// Mean reciprocal rank.
    pub mrr: f64,
    /// Share of hard answers ranked first.
    pub hits1: f64,
    /// Share ranked among the first three.
    pub hits3: f64,
    /// Share ranked among the first ten.
    pub hits10: f64,
}

/// The figures of each shape.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Report {
    /// By the name of the shape.
    pub shapes: BTreeMap<String, Figures>,
    /// Shapes that take a complement, which the model does not have: their queries were left out.
    pub left_out: BTreeSet<String>,
}

impl Report {
    /// Mean MRR over the shapes without negation.
    pub fn epfo(&self) -> Option<f64> {
        self.mean(|shape| !is_negation(shape))
    }

    /// Mean MRR over the shapes with negation.
    pub fn negation(&self) -> Option<f64> {
        self.mean(is_negation)
    }

    /// Mean MRR over all shapes.
    pub fn mrr(&self) -> Option<f64> {
        self.mean(|_| true)
    }

    fn mean(&self, keep: impl Fn(&str) -> bool) -> Option<f64> {
        let kept = self.shapes.iter().filter(|(shape, _)| keep(shape));
        let (sum, count) = kept.fold((0.0, 0), |(sum, n), (_, of)| (sum + of.mrr, n + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Shapes in the order that people know, then all others.
    pub fn in_order(&self) -> Vec<(&str, &Figures)> {
        let place = |shape: &str| NAMED.iter().position(|(name, _)| *name == shape);
        let mut all: Vec<_> = self.shapes.iter().map(|(shape, of)| (&shape[..], of)).collect();
        all.sort_by_key(|(shape, _)| place(shape).unwrap_or(NAMED.len()));
        all
    }
}

fn is_negation(shape: &str) -> bool {
    shape.parse::<skolem_kg::Shape>().is_ok_and(|shape| shape.has_negation())
}

/// Ranks all entities for every query that the model can answer. `progress` is told how many are
/// done, and may end it.
pub fn evaluate<F: Real, M: Model<F>>(
    model: &M,
    weights: &Weights<F>,
    tests: &[Test],
    union: Union,
    mut progress: impl FnMut(usize) -> Result<()>,
) -> Result<Report> {
    let (mut pass, mut scan) = (Pass::default(), Scan::new(model, weights));
    let mut sums = BTreeMap::<String, Ranks>::new();
    let can_answer = |test: &&Test| model.has_complement() || !union.takes_complement(&test.query);
    let (answered, refused): (Vec<&Test>, Vec<&Test>) = tests.iter().partition(can_answer);
    for tests in answered.chunks(CHUNK) {
        let program = Program::compile(tests.iter().map(|test| &test.query), union)?;
        pass.forward(model, weights, &program);
        let ranks = scan.each(
            &program,
            &pass.roots,
            |query| &tests[query].hard[..],
            |query, scores| rank(scores, &tests[query].easy, &tests[query].hard),
        );
        for (test, ranks) in tests.iter().zip(ranks) {
            sums.entry(test.shape.clone()).or_default().add(&ranks);
        }
        progress(tests.len())?;
    }
    let shapes = sums.into_iter().map(|(shape, sum)| (shape, sum.figures())).collect();
    let left_out = refused.into_iter().map(|test| test.shape.clone()).collect();
    Ok(Report { shapes, left_out })
}

/// The best score that any root of a query gives each entity.
pub(crate) fn best_scores<F: Real>(rows: &[F], count: usize) -> std::borrow::Cow<'_, [F]> {
    let mut rows = rows.chunks_exact(count);
    let first = rows.next().unwrap_or(&[]);
    let mut best = std::borrow::Cow::Borrowed(first);
    for row in rows {
        for (best, score) in best.to_mut().iter_mut().zip(row) {
            *best = best.max(*score);
        }
    }
    best
}

/// Reads queries with hard answers from a query set: at most `most` of each shape, the first ones.
/// Answers that the file does not list are computed on the graph.
pub fn read_tests(
    graph: &Graph,
    file: &std::path::Path,
    split: Split,
    most: usize,
) -> Result<Vec<Test>> {
    let mut counts = BTreeMap::<String, usize>::new();
    let mut kept = Vec::new();
    for example in dataset::read(file)? {
        let example = example?;
        let count = counts.entry(example.query.shape().to_string()).or_default();
        if *count < most {
            *count += 1;
            kept.push(example.query);
        }
    }
    let found = kept.into_iter().map(|query| test_of(graph, query, split));
    found.collect::<Result<Vec<_>>>()
}

/// Samples queries with hard answers from a graph: of each named shape as many, where there are enough. Those
/// of one step are drawn from all there are, as in published sets.
pub fn sample_tests(graph: &Graph, split: Split, count: usize, seed: u64) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (name, _) in NAMED {
        let shape: Shape = name.parse()?;
        let all = shape == Shape::Follow(Shape::Anchor.into());
        let settings =
            Settings { shape, split, count: (!all).then_some(count), most_hard: 100, seed };
        let mut drawn = Vec::new();
        sample(graph, &settings, |query| {
            drawn.push(query);
            Ok(())
        })?;
        if all {
            Rng::stream(seed, 0x7465_7374_7300, 0).shuffle(&mut drawn);
            drawn.truncate(count);
        }
        let numbers = |entities: Vec<Entity>| entities.into_iter().map(|entity| entity.0).collect();
        tests.extend(drawn.into_iter().map(|drawn| {
            let [easy, hard] = [drawn.easy, drawn.hard].map(numbers);
            Test { shape: name.to_owned(), query: drawn.query, easy, hard }
        }));
    }
    Ok(tests)
}

/// A query with its answers on a split and the smaller one.
pub fn test_of(graph: &Graph, query: Query, split: Split) -> Result<Test> {
    let small = split
        .smaller()
        .ok_or_else(|| Error::Setting("train queries have no hard answers".into()))?;
    let answers = |split| -> Result<Vec<u32>> {
        let found = Answering::new(graph.edges(split)?).answers(&query)?;
        Ok(found.into_iter().map(|entity| entity.0).collect())
    };
    let (easy, all) = (answers(small)?, answers(split)?);
    let hard = all.into_iter().filter(|entity| easy.binary_search(entity).is_err()).collect();
    Ok(Test { shape: query.shape().to_string(), query, easy, hard })
}
