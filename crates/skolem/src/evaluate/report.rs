//! Figures, by shape and on average.

use std::collections::{BTreeMap, BTreeSet};

use skolem_kg::Shape;
use skolem_kg::query::shape::NAMED;

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
    /// How many queries of a shape have no hard answer, and so no rank.
    pub unranked: BTreeMap<String, usize>,
    /// Shapes that take a complement, which the model does not have: their queries were left out.
    pub left_out: BTreeSet<String>,
}

impl Report {
    /// Means over the shapes without negation: existential positive first-order queries.
    pub fn epfo(&self) -> Option<Figures> {
        self.mean(|shape| !is_negation(shape))
    }

    /// Means over the shapes with negation.
    pub fn negation(&self) -> Option<Figures> {
        self.mean(is_negation)
    }

    /// Means over all shapes.
    pub fn all(&self) -> Option<Figures> {
        self.mean(|_| true)
    }

    /// Mean MRR over all shapes.
    pub fn mrr(&self) -> Option<f64> {
        self.all().map(|of| of.mrr)
    }

    fn mean(&self, keep: impl Fn(&str) -> bool) -> Option<Figures> {
        let kept = self.shapes.iter().filter(|(shape, _)| keep(shape)).map(|(_, of)| of);
        let kept: Vec<&Figures> = kept.collect();
        let mean = |figure: fn(&Figures) -> f64| {
            kept.iter().map(|of| figure(of)).sum::<f64>() / kept.len() as f64
        };
        (!kept.is_empty()).then(|| Figures {
            queries: kept.iter().map(|of| of.queries).sum(),
            mrr: mean(|of| of.mrr),
            hits1: mean(|of| of.hits1),
            hits3: mean(|of| of.hits3),
            hits10: mean(|of| of.hits10),
        })
    }

    /// Shapes in the order that people know, then all others.
    pub fn in_order(&self) -> Vec<(&str, &Figures)> {
        in_order(&self.shapes)
    }
}

/// What belongs to each shape, in the order of shapes that people know; then all others.
pub fn in_order<T>(shapes: &BTreeMap<String, T>) -> Vec<(&str, &T)> {
    let place = |shape: &str| NAMED.iter().position(|(name, _)| *name == shape);
    let mut all: Vec<_> = shapes.iter().map(|(shape, of)| (&shape[..], of)).collect();
    all.sort_by_key(|(shape, _)| place(shape).unwrap_or(NAMED.len()));
    all
}

fn is_negation(shape: &str) -> bool {
    shape.parse::<Shape>().is_ok_and(|shape| shape.has_negation())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_shapes_and_of_every_figure() {
        let figures =
            |queries, mrr, hits1, hits3, hits10| Figures { queries, mrr, hits1, hits3, hits10 };
        let mut report = Report::default();
        assert_eq!((report.epfo(), report.mrr()), (None, None));
        for (shape, of) in [
            ("up", figures(2, 0.5, 0.25, 0.5, 0.75)),
            ("1p", figures(10, 0.25, 0.0, 0.25, 0.5)),
            ("p(p(p(p(e))))", figures(1, 0.0, 0.5, 0.0, 1.0)),
            ("pni", figures(3, 1.0, 1.0, 1.0, 1.0)),
        ] {
            report.shapes.insert(shape.into(), of);
        }
        assert_eq!(report.epfo(), Some(figures(13, 0.25, 0.25, 0.25, 0.75)));
        assert_eq!(report.negation(), Some(figures(3, 1.0, 1.0, 1.0, 1.0)));
        assert_eq!(report.mrr(), Some(0.4375));
        let order: Vec<_> = report.in_order().into_iter().map(|(shape, _)| shape).collect();
        assert_eq!(order, ["1p", "pni", "up", "p(p(p(p(e))))"]);
    }
}
