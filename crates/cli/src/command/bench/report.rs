//! How figures are printed.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::output;

/// A line of the table.
#[derive(Serialize, Default)]
pub struct Row {
    pub name: String,
    pub unit: &'static str,
    pub ours: Option<f64>,
    pub torch: Option<f64>,
    pub torch_tuned: Option<f64>,
    /// How many times better than PyTorch as it comes, and than PyTorch tuned; or how many times worse
    /// than the first of its kind.
    pub ratio: Option<f64>,
    pub ratio_tuned: Option<f64>,
    pub goal: &'static str,
    pub met: Option<bool>,
    pub note: String,
}

/// All that was measured, and on what.
#[derive(Serialize)]
pub struct Report {
    pub threads: usize,
    pub instructions: &'static str,
    pub sizes: String,
    pub torch: Option<String>,
    pub skipped: Option<String>,
    pub rows: Vec<Row>,
}

/// Prints a table, and what there is to say about its rows.
pub fn print(report: &Report, out: &mut dyn Write) -> Result<()> {
    let Report { threads, instructions, sizes, torch, skipped, rows } = report;
    writeln!(out, "{sizes}\n{threads} threads, {instructions}, f32; times are medians")?;
    match (torch, skipped) {
        (Some(version), _) => writeln!(
            out,
            "PyTorch {version}, as it comes and tuned (fused Adam, large pages), run in turns with ours\n"
        )?,
        (_, reason) => {
            let reason = reason.as_deref().unwrap_or_default();
            writeln!(out, "SKIPPED: PyTorch was not measured: {reason}\n")?;
        }
    }
    let number = |number: Option<f64>, unit: &str| match (number, unit) {
        (None, _) => String::new(),
        (Some(number), "s") => format!("{number:.4} s"),
        (Some(number), "%") => format!("{number:.0} %"),
        (Some(number), unit) => format!("{number:.2} {unit}"),
    };
    let cells = |row: &Row| {
        let times =
            |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.2} ×"));
        let met = match row.met {
            Some(true) => "met",
            Some(false) => "missed",
            None => "",
        };
        vec![
            row.name.clone(),
            number(row.ours, row.unit),
            number(row.torch, row.unit),
            times(row.ratio),
            number(row.torch_tuned, row.unit),
            times(row.ratio_tuned),
            row.goal.to_owned(),
            met.to_owned(),
        ]
    };
    let header = ["what", "ours", "PyTorch", "ratio", "tuned", "ratio", "goal", ""];
    writeln!(out, "{}", output::table(&header, 1, rows.iter().map(cells).collect()))?;
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        writeln!(out, "{}: {}", row.name, row.note)?;
    }
    Ok(())
}
