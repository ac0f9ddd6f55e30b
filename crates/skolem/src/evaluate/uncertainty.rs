//! Whether a model's uncertainty of a set tells how many answers there are.
//!
//! A model that has measures of uncertainty ([`Model::measures`]) gives them for every query with a single
//! set, which are those without unions.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use skolem_nn::Real;

use super::cardinality::{self, Points};
use super::correlation::{pearson, spearman};
use super::{Ranked, Test};
use crate::error::Result;
use crate::model::{Model, Settings};

/// How a measure goes with the number of answers of some queries. None where there is no telling: of fewer
/// than two queries, or where either is always the same.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Correlations {
    /// Number of queries.
    pub queries: usize,
    /// Of the ranks.
    pub spearman: Option<f64>,
    /// Of the numbers.
    pub pearson: Option<f64>,
}

/// The measures of some queries, by shape, and how many answers these have.
pub struct Uncertainty {
    measures: &'static [&'static str],
    /// Whether the parts of the measures are kept, not only their sums.
    parts: bool,
    shapes: BTreeMap<String, Measured>,
}

/// The queries of a shape.
#[derive(Default)]
pub struct Measured {
    /// How many answers each has.
    pub answers: Vec<f64>,
    /// Of each measure, the one of each query.
    pub sums: Vec<Vec<f64>>,
    /// Of each measure, the parts of all queries, if they are kept.
    parts: Vec<Vec<f32>>,
}

impl Uncertainty {
    /// For the measures of a model. Predicting the number of answers needs their `parts`: a number a query
    /// and dimension.
    pub fn new(model: &impl Settings, parts: bool) -> Uncertainty {
        Uncertainty { measures: model.measures(), parts, shapes: BTreeMap::new() }
    }

    /// The measures.
    pub fn measures(&self) -> &'static [&'static str] {
        self.measures
    }

    /// What was measured, by shape.
    pub fn shapes(&self) -> &BTreeMap<String, Measured> {
        &self.shapes
    }

    /// Measures queries that were ranked.
    pub fn add<F: Real, M: Model<F>, T: Borrow<Test>>(
        &mut self,
        model: &M,
        ranked: &Ranked<'_, F, T>,
    ) {
        if self.measures.is_empty() {
            return;
        }
        for (test, set) in ranked.sets() {
            let answers = test.easy.len() + test.hard.len();
            if answers == 0 {
                continue;
            }
            let of = self.shapes.entry(test.shape.clone()).or_default();
            of.answers.push(answers as f64);
            of.sums.resize(self.measures.len(), Vec::new());
            of.parts.resize(self.measures.len(), Vec::new());
            for (at, measure) in self.measures.iter().enumerate() {
                let parts = model.uncertainty(measure, set);
                of.sums[at].push(parts.iter().map(|part| part.wide()).sum());
                if self.parts {
                    of.parts[at].extend(parts.iter().map(|part| part.wide() as f32));
                }
            }
        }
    }

    /// The correlations of every measure with the number of answers, by shape.
    pub fn correlations(&self) -> BTreeMap<&'static str, BTreeMap<String, Correlations>> {
        let of_shape = |at: usize, of: &Measured| Correlations {
            queries: of.answers.len(),
            spearman: spearman(&of.sums[at], &of.answers),
            pearson: pearson(&of.sums[at], &of.answers),
        };
        let of_measure = |at| {
            self.shapes.iter().map(move |(shape, of)| (shape.clone(), of_shape(at, of))).collect()
        };
        self.measures.iter().enumerate().map(|(at, measure)| (*measure, of_measure(at))).collect()
    }

    /// How far the numbers of answers that a net learns to tell from each measure are off, by shape; see
    /// [`cardinality::predict`]. `after` is told of every step, and may end it.
    pub fn cardinality(
        &self,
        seed: u64,
        mut after: impl FnMut() -> Result<()>,
    ) -> Result<BTreeMap<&'static str, BTreeMap<String, f64>>> {
        let mut all = BTreeMap::new();
        for (at, measure) in self.measures.iter().enumerate() {
            let points = self.shapes.values();
            let points =
                points.map(|of| Points { inputs: &of.parts[at], answers: &of.answers }).collect();
            let errors = cardinality::predict(points, seed, &mut after)?;
            let named = self.shapes.keys().zip(errors);
            let named = named.filter_map(|(shape, error)| Some((shape.clone(), error?)));
            all.insert(*measure, named.collect());
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use skolem_kg::query::{names::Numbers, text::parse};
    use skolem_kg::rng::Rng;

    use super::*;
    use crate::evaluate::evaluate;
    use crate::model::{Logic, Weights};
    use crate::program::Union;

    #[test]
    fn every_query_without_a_union_is_measured() {
        let model = Logic { dim: 16, hidden: 12, bounds: true, ..Logic::default() };
        let weights: Weights<f64> = model.weights(40, 4, &mut Rng::new(5));
        let texts = ["r1(e7)", "r0(e1) | r2(e5)", "r2(e9)", "r1(e3) & !r3(e4)", "r1(e8)"];
        let tests = texts.iter().enumerate().map(|(at, text)| {
            let query = parse(text, &Numbers).unwrap();
            let hard = if at == 4 { vec![] } else { (1..at as u32 + 2).collect() };
            Ok(Test { shape: query.shape().to_string(), query, easy: vec![], hard })
        });
        let mut uncertainty = Uncertainty::new(&model, true);
        let report = evaluate(&model, &weights, tests, Union::Disjuncts, |ranked| {
            uncertainty.add(&model, ranked);
            Ok(())
        });
        let report = report.unwrap();
        assert_eq!(report.unranked, [("1p".to_owned(), 1)].into());
        let queries: Vec<_> = report.shapes.values().map(|of| of.queries).collect();
        assert_eq!(queries, [2, 1, 1], "of 1p, 2in and 2u");
        assert_eq!(uncertainty.measures(), ["entropy", "interval"]);
        assert!(uncertainty.shapes().keys().eq(["1p", "2in"]));
        // A query with no answers has no number of them that could be told.
        let of = &uncertainty.shapes()["1p"];
        assert_eq!(of.answers, [1.0, 3.0]);
        for found in uncertainty.correlations().values() {
            assert!(found["1p"].pearson.unwrap().abs() > 0.999, "two points are on a line");
            assert_eq!((found["2in"].queries, found["2in"].spearman), (1, None));
        }
        let errors = uncertainty.cardinality(1, || Ok(())).unwrap();
        assert!(errors["interval"].keys().eq(["1p", "2in"]));
        assert!(errors["entropy"].values().all(|error| error.is_finite()));
    }

    #[test]
    fn points_tell_nothing() {
        let model = Logic { dim: 4, hidden: 4, ..Logic::default() };
        let uncertainty = Uncertainty::new(&model, true);
        assert!(uncertainty.correlations().is_empty());
        assert!(uncertainty.cardinality(1, || Ok(())).unwrap().is_empty());
    }
}
