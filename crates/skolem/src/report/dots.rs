//! Our figures and the paper's of each shape, beside each other.

use super::compare::Table;
use super::svg::{Axis, sign, text};

/// From one line to the next.
const LINE: f64 = 19.0;

/// A line of a figure: a shape, ours, the paper's.
type Line<'a> = (&'a str, f64, Option<f64>);

/// One figure for each model in these tables that the paper has, all to the same scale.
pub fn dots(tables: &[&Table]) -> Vec<String> {
    let mut models = Vec::<(&str, Vec<Line<'_>>)>::new();
    for table in tables {
        for row in table.rows.iter().filter(|row| row.ours.is_some() && row.paper.is_some()) {
            let at = models.iter().position(|(name, _)| *name == row.name).unwrap_or(models.len());
            if at == models.len() {
                models.push((&row.name, Vec::new()));
            }
            models[at].1.extend(lines(table, row));
        }
    }
    let figures = models.iter().flat_map(|(_, lines)| lines);
    let most = figures.map(|(_, ours, paper)| ours.max(paper.unwrap_or(0.0))).fold(1.0, f64::max);
    let axis = Axis::linear(0.0, most, 5);
    models.iter().map(|(name, lines)| panel(name, lines, &axis)).collect()
}

fn lines<'a>(table: &'a Table, row: &'a super::compare::Row) -> impl Iterator<Item = Line<'a>> {
    let is_average = |name: &str| name == "avg";
    let columns = table.columns.iter().enumerate().filter(move |(_, name)| !is_average(name));
    columns.filter_map(|(column, name)| {
        let side = |side: &Option<Vec<Option<f64>>>| side.as_ref()?[column];
        Some((&name[..], side(&row.ours)?, side(&row.paper)))
    })
}

fn panel(name: &str, lines: &[Line<'_>], axis: &Axis) -> String {
    let (width, left, right, above) = (380.0, 54.0, 18.0, 34.0);
    let floor = above + LINE * lines.len() as f64;
    let x = |figure: f64| left + axis.share(figure) * (width - left - right);
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"{}\">\n",
        floor + 44.0,
        super::text::escape(&format!("test MRR of {name} by shape, ours and the paper's"))
    );
    for (tick, label) in axis.ticks() {
        out += &format!("<path class=\"grid\" d=\"M{:.1} {above}V{floor}\"/>", x(tick));
        out += &text(x(tick), floor + 19.0, "tick middle", &label);
    }
    out += &format!("<path class=\"axis\" d=\"M{left} {floor}H{}\"/>\n", width - right);
    for (at, (shape, ours, paper)) in lines.iter().enumerate() {
        let y = above + LINE * (at as f64 + 0.5);
        out += &text(left - 8.0, y + 4.0, "tick end", shape);
        if let Some(paper) = paper {
            out += &format!(
                "<path class=\"between\" d=\"M{:.1} {y:.1}H{:.1}\"/>",
                x(*paper),
                x(*ours)
            );
            out += &format!("<g class=\"hollow\">{}</g>", sign(x(*paper), y, 3.6, 0));
        }
        out += &format!("<g class=\"s0\">{}</g>\n", sign(x(*ours), y, 3.6, 0));
    }
    out += &text(4.0, 16.0, "title", name);
    out += &text((left + width - right) / 2.0, floor + 38.0, "name middle", "test MRR (%)");
    out + "</svg>"
}
