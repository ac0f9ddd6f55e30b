//! How good models were as they learnt.

use super::findings::{Findings, Progress};
use super::models;
use super::svg::{Axis, Frame, apart, sign, text};
use super::text::escape;

/// What is measured at a moment.
type Value = fn(&Progress) -> Option<f64>;

/// Longer names than this are in a list below the figures instead of beside the curves.
const LETTERS: usize = 22;

/// The models' MRR over the seconds that they learnt, without negation and with: as many figures as have
/// anything in them.
pub fn curves(all: &[Findings]) -> Vec<String> {
    let panels: [(&str, Value); 2] = [
        ("valid MRR without negation (%)", |at| at.epfo),
        ("valid MRR with negation (%)", |at| at.negation),
    ];
    panels.into_iter().filter_map(|(name, value)| panel(all, name, value)).collect()
}

/// A model's curve.
struct Series {
    number: usize,
    name: String,
    points: Vec<(f64, f64)>,
}

fn panel(all: &[Findings], name: &str, value: Value) -> Option<String> {
    let point = |at: &Progress| Some((at.seconds, 100.0 * value(at)?));
    let series = all.iter().enumerate().map(|(number, found)| Series {
        number,
        name: models::name(&found.label),
        points: found.training.curve.iter().filter_map(point).collect(),
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let points = || series.iter().flat_map(|series| &series.points);
    let longest = points().map(|point| point.0).reduce(f64::max)?;
    let highest = points().map(|point| point.1).reduce(f64::max)?;
    let (unit, per_unit) = match longest {
        ..=180.0 => ("seconds", 1.0),
        ..=10_800.0 => ("minutes", 60.0),
        _ => ("hours", 3600.0),
    };
    let letters = longest_name(all);
    let is_labelled = letters <= LETTERS;
    let frame = Frame {
        size: (460.0, 310.0),
        space: [34.0, if is_labelled { 26.0 + 6.6 * letters as f64 } else { 18.0 }, 44.0, 40.0],
        x: Axis::linear(0.0, longest / per_unit, 5),
        y: Axis::linear(0.0, highest.max(1.0), 5),
    };
    let mut inside = String::new();
    for Series { number, points, .. } in &series {
        let places = points.iter().map(|(x, y)| (frame.x(x / per_unit), frame.y(*y)));
        let places: Vec<(f64, f64)> = places.collect();
        let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        inside += &format!(
            "<g class=\"s{}\"><path class=\"line\" d=\"M{}\"/>",
            number % 6,
            line.join("L")
        );
        places.iter().for_each(|(x, y)| inside += &sign(*x, *y, 3.0, *number));
        inside += "</g>\n";
    }
    if is_labelled {
        inside += &labels(&frame, &series, per_unit);
    }
    let title = format!("{name} over the time of learning");
    Some(frame.figure(&title, &format!("{unit} of learning"), name, &inside))
}

/// The names of the curves, beside their ends.
fn labels(frame: &Frame, series: &[Series], per_unit: f64) -> String {
    let end = |series: &Series| series.points.last().map_or(0.0, |point| frame.y(point.1));
    let mut order: Vec<&Series> = series.iter().collect();
    order.sort_by(|a, b| end(a).total_cmp(&end(b)));
    let mut places: Vec<f64> = order.iter().map(|series| end(series)).collect();
    apart(&mut places, 15.0, 8.0, frame.size.1 - frame.space[2]);
    let x = frame.size.0 - frame.space[1];
    let mut out = String::new();
    for (series, place) in order.iter().zip(places) {
        let from = end(series);
        // A curve may end before the others do.
        let last = series.points.last().map_or(x, |point| frame.x(point.0 / per_unit));
        out += &format!(
            "<g class=\"s{}\"><path class=\"leader\" d=\"M{:.1} {from:.1}L{:.1} {place:.1}\"/>",
            series.number % 6,
            last + 6.0,
            x + 16.0
        );
        out += &text(x + 20.0, place + 4.0, "label", &series.name);
        out += "</g>\n";
    }
    out
}

fn longest_name(all: &[Findings]) -> usize {
    all.iter().map(|found| models::name(&found.label).chars().count()).max().unwrap_or(0)
}

/// The names of the curves in a list, where they are not beside them.
pub fn keys(all: &[Findings]) -> String {
    if longest_name(all) <= LETTERS {
        return String::new();
    }
    let key = |(number, found): (usize, &Findings)| key(number, &models::name(&found.label));
    let keys: Vec<String> = all.iter().enumerate().map(key).collect();
    format!("<p class=\"keys\">{}</p>\n", keys.join(" "))
}

/// A name with its sign and colour, as in the figures.
pub fn key(number: usize, name: &str) -> String {
    let sign = sign(6.0, 6.0, 4.5, number);
    format!(
        "<span class=\"key s{}\"><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\">{sign}</svg>{}</span>",
        number % 6,
        escape(name)
    )
}
