//! How uncertain models are of queries with few and many answers.

use super::findings::{Findings, Uncertainty};
use super::models;
use super::svg::{Axis, Frame, sign, text};
use super::text::decimal;

/// More points than these cover each other.
const MOST: usize = 500;

/// One figure for each model and measure.
pub fn scatter(all: &[Findings]) -> Vec<String> {
    let each = all.iter().flat_map(|found| found.uncertainty.iter().map(move |of| (found, of)));
    each.filter_map(|(found, of)| panel(&found.label, of)).collect()
}

fn panel(label: &str, of: &Uncertainty) -> Option<String> {
    let points = of.points.iter().filter(|point| point.value.is_finite() && point.answers > 0);
    let points: Vec<_> = points.take(MOST).collect();
    let values = || points.iter().map(|point| point.value);
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let most = points.iter().map(|point| point.answers).max()?;
    let frame = Frame {
        size: (380.0, 290.0),
        space: [52.0, 18.0, 44.0, 54.0],
        x: Axis::log(1.0, most as f64),
        y: Axis::linear(low, high, 4),
    };
    let mut inside = text(4.0, 16.0, "title", &models::name(label));
    for (series, is_negation) in [(0, false), (1, true)] {
        inside += &format!("<g class=\"cloud s{series}\">");
        for point in points.iter().filter(|point| has_negation(&point.shape) == is_negation) {
            inside += &sign(frame.x(point.answers as f64), frame.y(point.value), 2.2, series);
        }
        inside += "</g>\n";
    }
    let right = frame.size.0 - frame.space[1];
    if let Some((spearman, shapes)) = mean_spearman(of) {
        let note = format!("mean ρ {} over {shapes} shapes", decimal(spearman, 2));
        inside += &text(right, 16.0, "name end", &note);
    }
    let title = format!("{} of {} against the number of answers", of.measure, models::name(label));
    Some(frame.figure(&title, "answers", &of.measure, &inside))
}

/// The mean of Spearman's correlation over the shapes that have one.
fn mean_spearman(of: &Uncertainty) -> Option<(f64, usize)> {
    let all: Vec<f64> = of.shapes.values().filter_map(|of| of.spearman).collect();
    (!all.is_empty()).then(|| (all.iter().sum::<f64>() / all.len() as f64, all.len()))
}

fn has_negation(shape: &str) -> bool {
    shape.parse::<skolem_kg::Shape>().is_ok_and(|shape| shape.has_negation())
}
