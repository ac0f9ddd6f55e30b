//! The report as Markdown.

use std::fmt::Write;

use super::compare::{self, Table};
use super::findings::{Findings, Measured};
use super::html::distinct;
use super::settings::Settings;
use super::text::{decimal, duration, escape_markdown as escape, grouped, signed};
use super::{models, notes};
use crate::evaluate::in_order;

/// The report of some models, without figures.
pub fn markdown(all: &[Findings]) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "# {}\n\n{}\n", escape(&notes::title(all)), escape(&notes::summary(all)));
    for note in notes::caveats(all) {
        let _ = writeln!(out, "- {}", escape(&note));
    }
    let _ = writeln!(out, "\n## Learning\n");
    let rows = all.iter().map(|found| {
        let training = &found.training;
        let best = training.curve.iter().filter_map(|at| at.epfo).reduce(f64::max);
        vec![
            escape(&models::name(&found.label)),
            duration(training.seconds),
            grouped(training.updates),
            best.map_or("–".into(), |best| decimal(100.0 * best, 1)),
            found.seed.to_string(),
        ]
    });
    out += &table(&["model", "time", "updates", "best valid MRR without negation", "seed"], rows);
    for table in compare::tables(all) {
        out += &comparison(&table);
    }
    let _ = writeln!(out, "\n## All figures\n\n{}", notes::DETAILS);
    for found in all {
        let name = models::name(&found.label);
        out += &figures(&name, &found.test);
        for (what, measured) in
            [("Query2Box’s queries", &found.generalization), ("entailment", &found.entailment)]
        {
            if let Some(measured) = measured {
                out += &figures(&format!("{name}, {what}"), measured);
            }
        }
    }
    out += &settings(all);
    out + &machine(all)
}

fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rule = header.iter().enumerate().map(|(at, _)| if at == 0 { "---" } else { "---:" });
    let mut out =
        format!("| {} |\n| {} |\n", header.join(" | "), rule.collect::<Vec<_>>().join(" | "));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out
}

fn comparison(of: &Table) -> String {
    let mut header = vec!["model", ""];
    header.extend(of.columns.iter().map(String::as_str));
    let mut rows = Vec::new();
    for row in &of.rows {
        let differences = || -> Vec<String> {
            let difference =
                |column| row.difference(column).map(|of_it| signed(of_it, of.decimals));
            (0..of.columns.len()).map(|column| difference(column).unwrap_or_default()).collect()
        };
        let figures =
            |figures: &Vec<Option<f64>>| figures.iter().map(|figure| of.figure(*figure)).collect();
        let lines: [(&str, Option<Vec<String>>); 3] = [
            ("ours", row.ours.as_ref().map(figures)),
            ("paper", row.paper.as_ref().map(figures)),
            ("Δ", row.ours.as_ref().and(row.paper.as_ref()).map(|_| differences())),
        ];
        let mut name = escape(&row.name);
        for (whose, cells) in lines {
            let Some(cells) = cells else { continue };
            rows.push([vec![std::mem::take(&mut name), whose.into()], cells].concat());
        }
    }
    let order = of.order().map(|order| format!("\n{}\n", escape(&order.sentence())));
    format!(
        "\n## {}\n\n{}\n\n{}{}",
        escape(of.title),
        escape(of.caption),
        table(&header, rows.into_iter()),
        order.unwrap_or_default()
    )
}

fn figures(name: &str, measured: &Measured) -> String {
    let rows = in_order(&measured.shapes).into_iter().map(|(shape, of)| {
        let mut row = vec![escape(shape)];
        row.extend([of.mrr, of.hits1, of.hits3, of.hits10].map(|share| decimal(100.0 * share, 1)));
        row.push(grouped(of.queries as u64));
        row
    });
    let header = ["shape", "MRR", "Hits@1", "Hits@3", "Hits@10", "queries"];
    format!("\n### {}\n\n{}", escape(name), table(&header, rows))
}

fn settings(all: &[Findings]) -> String {
    let Settings { shared, different } = Settings::of(all);
    let mut out = String::from("\n## Settings\n\n");
    if !different.is_empty() {
        let names: Vec<String> =
            all.iter().map(|found| escape(&models::name(&found.label))).collect();
        let mut header = vec!["setting"];
        header.extend(names.iter().map(String::as_str));
        let rows = different.into_iter().map(|(name, values)| {
            let mut row = vec![escape(&name)];
            row.extend(values.iter().map(|value| escape(value)));
            row
        });
        out += &table(&header, rows);
        out.push('\n');
    }
    out += &table(
        &["setting of all", "value"],
        shared.iter().map(|(name, value)| vec![escape(name), escape(value)]),
    );
    out
}

fn machine(all: &[Findings]) -> String {
    let mut out = String::from("\n## Machine and commands\n\n");
    for machine in distinct(all.iter().map(|found| &found.machine)) {
        for (name, value) in notes::facts(machine) {
            let _ = writeln!(out, "- {name}: {}", escape(&value));
        }
        out.push('\n');
    }
    if let Some(first) = all.first() {
        let _ = writeln!(out, "Fingerprint of the graph: {}\n", escape(&first.data.fingerprint));
    }
    for command in distinct(all.iter().map(|found| &found.command)) {
        // Indented, so that no sign in it ends the block.
        let _ = writeln!(out, "    {}\n", command.replace(['\n', '\r'], " "));
    }
    out
}
