//! How well a model ranks the answers that it has not seen, and how sure it is of its sets.

pub mod cardinality;
pub mod correlation;
mod near;
mod queries;
mod rank;
mod report;
mod scan;
mod uncertainty;

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet};

use skolem_kg::Query;
use skolem_nn::Real;

use crate::error::Result;
use crate::model::{Model, Weights};
use crate::pass::Pass;
use crate::program::{Program, Union};

pub use queries::{Queries, Wanted, sample_tests};
pub use rank::Ranks;
pub use report::{Figures, Report, in_order};
pub use uncertainty::{Correlations, Measured, Uncertainty};

/// Queries ranked at once: enough for a matrix product, few enough that they need little memory.
const CHUNK: usize = 256;

/// A query whose hard answers are to be ranked.
#[derive(Clone, PartialEq, Eq, Debug)]
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

/// Queries that were ranked, and their embeddings.
pub struct Ranked<'a, F, T> {
    /// The queries.
    pub tests: &'a [T],
    program: &'a Program,
    roots: &'a [F],
}

impl<F, T: Borrow<Test>> Ranked<'_, F, T> {
    /// Queries that have a single set, as those without unions do, and that set.
    pub fn sets(&self) -> impl Iterator<Item = (&Test, &[F])> {
        let width = self.roots.len() / self.program.roots.len().max(1);
        let tests = self.tests.iter().map(T::borrow).enumerate();
        let single = tests.filter(|(_, test)| !test.query.has_union());
        single.map(move |(query, test)| {
            let root = self.program.roots_of(query).start;
            (test, &self.roots[root * width..][..width])
        })
    }
}

/// Ranks all entities for every query that the model can answer. `after` is shown the queries as they are done,
/// and may end it.
pub fn evaluate<F: Real, M: Model<F>, T: Borrow<Test> + Sync>(
    model: &M,
    weights: &Weights<F>,
    tests: impl IntoIterator<Item = Result<T>>,
    union: Union,
    mut after: impl FnMut(&Ranked<'_, F, T>) -> Result<()>,
) -> Result<Report> {
    let (mut pass, mut scan) = (Pass::default(), scan::Scan::new(model, weights));
    let (mut sums, mut unranked) = (BTreeMap::<String, Ranks>::new(), BTreeMap::new());
    let mut left_out = BTreeSet::new();
    let mut can_answer = |test: &Test| {
        let can = model.has_complement() || !union.takes_complement(&test.query);
        if !can {
            left_out.insert(test.shape.clone());
        }
        can
    };
    let mut tests = tests
        .into_iter()
        .filter(|test| test.as_ref().map_or(true, |test| can_answer(test.borrow())));
    loop {
        let tests: Vec<T> = tests.by_ref().take(CHUNK).collect::<Result<_>>()?;
        if tests.is_empty() {
            break;
        }
        let queries = tests.iter().map(|test| &test.borrow().query);
        let program = Program::compile(queries, union)?;
        pass.forward(model, weights, &program);
        let ranks = scan.rank(&program, &pass.roots, &tests);
        for (test, ranks) in tests.iter().map(T::borrow).zip(ranks) {
            match test.hard.is_empty() {
                true => *unranked.entry(test.shape.clone()).or_default() += 1,
                false => sums.entry(test.shape.clone()).or_default().add(&ranks),
            }
        }
        after(&Ranked { tests: &tests, program: &program, roots: &pass.roots })?;
    }
    let shapes = sums.into_iter().map(|(shape, sum)| (shape, sum.figures())).collect();
    drop(tests);
    Ok(Report { shapes, unranked, left_out })
}

/// The best score that any root of a query gives each entity.
pub(crate) fn best_scores<F: Real>(rows: &[F], count: usize) -> Cow<'_, [F]> {
    let mut rows = rows.chunks_exact(count.max(1));
    let first = rows.next().unwrap_or(&[]);
    let mut best = Cow::Borrowed(first);
    for row in rows {
        for (best, score) in best.to_mut().iter_mut().zip(row) {
            *best = best.max(*score);
        }
    }
    best
}
