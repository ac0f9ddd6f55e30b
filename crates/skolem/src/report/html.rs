//! The report as one HTML file that fetches nothing.

use super::compare::{self, Row, Table};
use super::curves::{curves, key, keys};
use super::dots::dots;
use super::findings::{Findings, Measured};
use super::scatter::scatter;
use super::settings::Settings;
use super::text::{decimal, duration, escape, grouped, signed};
use super::{models, notes};
use crate::evaluate::in_order;

const STYLE: &str = include_str!("style.css");

/// The report of some models.
pub fn html(all: &[Findings]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><h1>{title}</h1>\n<p class=\"lead\">{}</p></header>\n",
        escape(&notes::summary(all)),
        title = escape(&notes::title(all)),
    );
    let tables = compare::tables(all);
    let mut numbers = Numbers::default();
    out += &section("glance", "Models", &glance(all, &tables, &mut numbers));
    out += &section("notes", "How to read this", &caveats(all));
    let curves = curves(all);
    if !curves.is_empty() {
        let figure = figure(&curves, notes::CURVES, "wide", &mut numbers);
        out += &section("learning", "Accuracy over time", &(keys(all) + &figure));
    }
    let of_shapes: Vec<&Table> =
        tables.iter().filter(|table| ["epfo", "negation"].contains(&table.key)).collect();
    let dots = dots(&of_shapes);
    if !dots.is_empty() {
        let figure = figure(&dots, notes::DOTS, "small", &mut numbers);
        out += &section("shapes", "Ours and the paper’s", &figure);
    }
    for table in &tables {
        out += &section(table.key, table.title, &comparison(table, &mut numbers));
    }
    let plots = scatter(all);
    if !plots.is_empty() {
        let figure = figure(&plots, notes::SCATTER, "small", &mut numbers);
        out += &section("scatter", "Uncertainty and answers", &figure);
    }
    out += &section("details", "All figures", &details(all, &mut numbers));
    out += &section("settings", "Settings", &settings(all, &mut numbers));
    out += &section("machine", "Machine and commands", &machine(all));
    out + "</main>\n</body>\n</html>\n"
}

/// Numbers of tables and figures.
#[derive(Default)]
struct Numbers {
    tables: usize,
    figures: usize,
}

impl Numbers {
    fn table(&mut self, caption: &str) -> String {
        self.tables += 1;
        format!("<b>Table {}.</b> {}", self.tables, escape(caption))
    }
}

fn section(id: &str, title: &str, inside: &str) -> String {
    format!("<section id=\"{id}\">\n<h2>{}</h2>\n{inside}</section>\n", escape(title))
}

/// A table that scrolls by itself where the page is narrow.
fn scrolling(caption: &str, class: &str, inside: &str) -> String {
    format!(
        "<figure class=\"table\"><figcaption>{caption}</figcaption>\n\
         <div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\">\n{inside}</table></div></figure>\n"
    )
}

fn figure(panels: &[String], caption: &str, class: &str, numbers: &mut Numbers) -> String {
    numbers.figures += 1;
    format!(
        "<figure class=\"plots {class}\"><div class=\"panels\">{}</div>\n\
         <figcaption><b>Figure {}.</b> {}</figcaption></figure>\n",
        panels.concat(),
        numbers.figures,
        escape(caption)
    )
}

fn caveats(all: &[Findings]) -> String {
    let items: Vec<String> =
        notes::caveats(all).iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    format!("<ul>{}</ul>\n", items.join("\n"))
}

/// What most readers want first.
fn glance(all: &[Findings], tables: &[Table], numbers: &mut Numbers) -> String {
    let average = |key: &str, name: &str| {
        let table = tables.iter().find(|table| table.key == key)?;
        let row = table.rows.iter().find(|row| row.name == name)?;
        Some((table, row, table.columns.len() - 1))
    };
    let mut rows = String::from(
        "<thead><tr><th>model</th><th>without negation</th><th>with negation</th><th>time</th><th>updates</th>\
         <th>updates/s</th></tr></thead>\n<tbody>\n",
    );
    for (number, found) in all.iter().enumerate() {
        let name = models::name(&found.label);
        let cell = |key: &str| match average(key, &name) {
            Some((table, row, column)) => stacked(table, row, column),
            None => "–".into(),
        };
        let training = &found.training;
        let speed = training.updates as f64 / training.seconds.max(1e-9);
        rows += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            key(number, &name),
            cell("epfo"),
            cell("negation"),
            duration(training.seconds),
            grouped(training.updates),
            decimal(speed, usize::from(speed < 100.0)),
        );
    }
    scrolling(&numbers.table(notes::MODELS), "plain", &(rows + "</tbody>"))
}

/// Our figure with the paper's and the difference below it.
fn stacked(table: &Table, row: &Row, column: usize) -> String {
    let ours = row.ours.as_ref().and_then(|ours| ours[column]);
    let paper = row.paper.as_ref().and_then(|paper| paper[column]);
    let below = match (paper, row.difference(column)) {
        (Some(_), Some(difference)) => format!(
            "<br/><small>{} <span class=\"{}\">{}</span></small>",
            table.figure(paper),
            tone(table, difference),
            signed(difference, table.decimals)
        ),
        (Some(_), None) => format!("<br/><small>{}</small>", table.figure(paper)),
        _ => String::new(),
    };
    format!("{}{below}", table.figure(ours))
}

/// Whether a difference is to the good.
fn tone(table: &Table, difference: f64) -> &'static str {
    let good = if table.less_is_better { -difference } else { difference };
    match good {
        ..-1e-9 => "worse",
        1e-9.. => "better",
        _ => "even",
    }
}

/// One of the paper's tables: for each model our figures, the paper's and the difference.
fn comparison(table: &Table, numbers: &mut Numbers) -> String {
    let has_paper = table.rows.iter().any(|row| row.paper.is_some());
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|name| format!("<th scope=\"col\">{}</th>", escape(name)))
        .collect();
    let whose = if has_paper { "<th></th>" } else { "" };
    let mut rows = format!("<thead><tr><th>model</th>{whose}{}</tr></thead>\n", names.concat());
    let best: Vec<_> = (0..table.columns.len()).map(|column| table.best(column)).collect();
    let many = table.rows.iter().filter(|row| row.ours.is_some()).count() > 1;
    let cells = |figures: &[Option<f64>], best: &dyn Fn(usize) -> Option<f64>| -> String {
        let cell = |(column, figure): (usize, &Option<f64>)| {
            let text = table.figure(*figure);
            match figure.is_some() && *figure == best(column) {
                true => format!("<td><b>{text}</b></td>"),
                false => format!("<td>{text}</td>"),
            }
        };
        figures.iter().enumerate().map(cell).collect()
    };
    for row in &table.rows {
        let lines =
            [row.ours.is_some(), row.paper.is_some(), row.ours.is_some() && row.paper.is_some()];
        let count = lines.iter().filter(|line| **line).count();
        let mut first =
            format!("<th scope=\"rowgroup\" rowspan=\"{count}\">{}</th>", escape(&row.name));
        rows += "<tbody>";
        let mut line = |class: &str, whose: &str, cells: &str| {
            let whose = if has_paper {
                format!("<th class=\"whose\" scope=\"row\">{whose}</th>")
            } else {
                String::new()
            };
            rows += &format!(
                "<tr class=\"{class}\">{}{whose}{cells}</tr>\n",
                std::mem::take(&mut first)
            );
        };
        if let Some(ours) = &row.ours {
            line("ours", "ours", &cells(ours, &|column| best[column].0.filter(|_| many)));
        }
        if let Some(paper) = &row.paper {
            line("paper", "paper", &cells(paper, &|column| best[column].1));
        }
        if row.ours.is_some() && row.paper.is_some() {
            let cell = |column: usize| match row.difference(column) {
                Some(of) => {
                    format!("<td class=\"{}\">{}</td>", tone(table, of), signed(of, table.decimals))
                }
                None => "<td></td>".into(),
            };
            line("difference", "Δ", &(0..table.columns.len()).map(cell).collect::<String>());
        }
        rows += "</tbody>\n";
    }
    let order = table
        .order()
        .map(|order| format!("<p class=\"order\">{}</p>\n", escape(&order.sentence())));
    scrolling(&numbers.table(table.caption), "compare", &rows) + &order.unwrap_or_default()
}

fn details(all: &[Findings], numbers: &mut Numbers) -> String {
    let mut out = format!(
        "<p class=\"caption\">{}</p>\n<div class=\"cards\">\n",
        numbers.table(notes::DETAILS)
    );
    for found in all {
        let name = models::name(&found.label);
        let sets = [
            (name.clone(), Some(&found.test)),
            (format!("{name}, Query2Box’s queries"), found.generalization.as_ref()),
            (format!("{name}, entailment"), found.entailment.as_ref()),
        ];
        for (name, measured) in sets {
            out += &measured.map(|measured| card(&name, measured)).unwrap_or_default();
        }
    }
    out + "</div>\n"
}

fn card(name: &str, measured: &Measured) -> String {
    let mut rows = String::new();
    for (shape, of) in in_order(&measured.shapes) {
        let figures = [of.mrr, of.hits1, of.hits3, of.hits10]
            .map(|share| format!("<td>{}</td>", decimal(100.0 * share, 1)));
        rows += &format!(
            "<tr><th scope=\"row\">{}</th>{}<td>{}</td></tr>\n",
            escape(shape),
            figures.concat(),
            grouped(of.queries as u64)
        );
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"plain\"><caption>{}</caption><thead><tr><th>shape</th><th>MRR</th><th>H@1</th><th>H@3</th>\
         <th>H@10</th><th>queries</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n",
        escape(name)
    )
}

fn settings(all: &[Findings], numbers: &mut Numbers) -> String {
    let Settings { shared, different } = Settings::of(all);
    let mut out = String::new();
    if !different.is_empty() {
        let names = all
            .iter()
            .map(|found| format!("<th scope=\"col\">{}</th>", escape(&models::name(&found.label))));
        let mut rows = format!(
            "<thead><tr><th>setting</th>{}</tr></thead>\n<tbody>\n",
            names.collect::<String>()
        );
        for (name, values) in &different {
            let cells = values.iter().map(|value| format!("<td>{}</td>", escape(value)));
            rows += &format!(
                "<tr><th scope=\"row\"><code>{}</code></th>{}</tr>\n",
                escape(name),
                cells.collect::<String>()
            );
        }
        let caption = numbers.table("Settings in which the models differ.");
        out += &scrolling(&caption, "plain", &(rows + "</tbody>"));
    }
    let items = shared
        .iter()
        .map(|(name, value)| format!("<li><code>{} = {}</code></li>", escape(name), escape(value)));
    let all = if different.is_empty() { "The settings" } else { "Settings that all models share" };
    out + &format!(
        "<p class=\"caption\">{all}.</p>\n<ul class=\"knobs\">{}</ul>\n",
        items.collect::<String>()
    )
}

fn machine(all: &[Findings]) -> String {
    let mut out = String::new();
    for machine in distinct(all.iter().map(|found| &found.machine)) {
        out += "<dl>";
        for (name, value) in notes::facts(machine) {
            out += &format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(&value));
        }
        out += "</dl>\n";
    }
    if let Some(first) = all.first() {
        out += &format!(
            "<p>Fingerprint of the graph: <code>{}</code></p>\n",
            escape(&first.data.fingerprint)
        );
    }
    for command in distinct(all.iter().map(|found| &found.command)) {
        out += &format!("<pre>{}</pre>\n", escape(command));
    }
    out
}

/// Each of some things once.
pub(super) fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}
