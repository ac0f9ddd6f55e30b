//! All that `skolem eval` measured: as tables, JSON and CSV.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::ser::{Serialize, Serializer};
use serde_json::json;
use skolem::evaluate::{Correlations, Figures, Report, in_order};

use crate::output::{self, table};

/// By measure, then by shape.
type ByMeasure<T> = BTreeMap<&'static str, BTreeMap<String, T>>;

/// All that was measured.
pub struct Measured {
    /// Unions by their disjuncts.
    pub ranks: Report,
    /// Shapes with unions, these by De Morgan's law.
    de_morgan: Report,
    measures: BTreeMap<&'static str, Measure>,
    /// Whether numbers of answers were told.
    told: bool,
}

/// What one measure of uncertainty tells.
struct Measure {
    shapes: BTreeMap<String, Told>,
    mean: Told,
}

/// How a measure goes with the number of answers.
#[derive(Clone, Copy, Default, serde::Serialize)]
struct Told {
    queries: usize,
    spearman: Option<f64>,
    pearson: Option<f64>,
    /// The mean relative error of numbers of answers told from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
}

/// A line of the tables.
struct Row<'a> {
    name: String,
    ranks: Option<Figures>,
    /// Of each measure.
    told: Vec<Option<&'a Told>>,
}

impl Measured {
    /// From the ranks, the correlations, and how far told numbers of answers are off.
    pub fn new(
        ranks: Report,
        de_morgan: Report,
        correlations: ByMeasure<Correlations>,
        errors: Option<ByMeasure<f64>>,
    ) -> Measured {
        let told = errors.is_some();
        let measure = |(name, of): (&'static str, BTreeMap<String, Correlations>)| {
            let error = |shape: &str| errors.as_ref()?.get(name)?.get(shape).copied();
            let told = |(shape, of): (String, Correlations)| {
                let Correlations { queries, spearman, pearson } = of;
                let error = error(&shape);
                (shape, Told { queries, spearman, pearson, error })
            };
            let shapes: BTreeMap<String, Told> = of.into_iter().map(told).collect();
            let mean = Told::mean(&shapes);
            (name, Measure { shapes, mean })
        };
        let measures = correlations.into_iter().map(measure).collect();
        Measured { ranks, de_morgan, measures, told }
    }

    /// A row a shape, then means.
    fn rows(&self) -> Vec<Row<'_>> {
        let names: BTreeMap<String, ()> = {
            let measured = self.measures.values().flat_map(|measure| measure.shapes.keys());
            self.ranks.shapes.keys().chain(measured).map(|name| (name.clone(), ())).collect()
        };
        let shape = |(name, ()): (&str, &())| Row {
            name: name.to_owned(),
            ranks: self.ranks.shapes.get(name).copied(),
            told: self.measures.values().map(|measure| measure.shapes.get(name)).collect(),
        };
        let ranked = |name: String, ranks: Option<Figures>| Row { name, ranks, told: Vec::new() };
        let de_morgan = self.de_morgan.in_order().into_iter();
        let means = [
            ranked("mean without negation".into(), self.ranks.epfo()),
            ranked("mean with negation".into(), self.ranks.negation()),
            Row {
                name: "mean".into(),
                ranks: self.ranks.all(),
                told: self.measures.values().map(|measure| Some(&measure.mean)).collect(),
            },
        ];
        in_order(&names)
            .into_iter()
            .map(shape)
            .chain(de_morgan.map(|(name, of)| ranked(format!("{name}-DM"), Some(*of))))
            .chain(means.into_iter().filter(|mean| mean.ranks.is_some()))
            .collect()
    }

    /// Tables for people: percentages, and correlations.
    pub fn print(&self, out: &mut dyn Write) -> Result<()> {
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let rows = self.rows();
        let ranks = rows.iter().filter_map(|row| {
            let Figures { queries, mrr, hits1, hits3, hits10 } = row.ranks?;
            let figures = [mrr, hits1, hits3, hits10].map(percent);
            let start = [row.name.clone(), output::grouped(queries)];
            Some(start.into_iter().chain(figures).collect())
        });
        let header = ["shape", "queries", "MRR", "Hits@1", "Hits@3", "Hits@10"];
        writeln!(out, "{}", table(&header, 1, ranks.collect()))?;
        if self.measures.values().all(|measure| measure.shapes.is_empty()) {
            return Ok(());
        }
        let told = rows.iter().filter(|row| row.told.iter().any(Option::is_some)).map(|row| {
            let queries = row.told.iter().flatten().map(|told| told.queries).max();
            let mut cells = vec![row.name.clone(), output::grouped(queries.unwrap_or(0))];
            for told in row.told.iter().map(|told| told.copied().unwrap_or_default()) {
                let correlation =
                    |of: Option<f64>| of.map_or("–".into(), |of| format!("{of:.2}"));
                cells.extend([told.spearman, told.pearson].map(correlation));
                if self.told {
                    cells.push(told.error.map_or("–".into(), percent));
                }
            }
            cells
        });
        let mut header = vec!["shape".to_owned(), "queries".to_owned()];
        for name in self.measures.keys() {
            header.extend([format!("{name}: Spearman"), "Pearson".into()]);
            header.extend(self.told.then(|| "error %".into()));
        }
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let error = if self.told { ", and numbers of answers told from it" } else { "" };
        writeln!(out, "\nUncertainty: correlation with the number of answers{error}")?;
        writeln!(out, "{}", table(&header, 1, told.collect()))?;
        Ok(())
    }

    /// Every figure with all its digits.
    pub fn csv(&self) -> String {
        let mut text = String::from("shape,queries,mrr,hits1,hits3,hits10");
        for name in self.measures.keys() {
            text += &format!(",{name}_queries,{name}_spearman,{name}_pearson");
            text += &if self.told { format!(",{name}_error") } else { String::new() };
        }
        text.push('\n');
        let cell = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
        for row in self.rows() {
            let ranks = row.ranks;
            let mut cells =
                vec![row.name, ranks.map_or(String::new(), |of| of.queries.to_string())];
            let figures = ranks.map(|of| [of.mrr, of.hits1, of.hits3, of.hits10]);
            cells.extend((0..4).map(|at| cell(figures.map(|figures| figures[at]))));
            for at in 0..self.measures.len() {
                let told = row.told.get(at).copied().flatten();
                cells.push(told.map_or(String::new(), |told| told.queries.to_string()));
                cells.push(cell(told.and_then(|told| told.spearman)));
                cells.push(cell(told.and_then(|told| told.pearson)));
                cells.extend(self.told.then(|| cell(told.and_then(|told| told.error))));
            }
            text += &cells.join(",");
            text.push('\n');
        }
        text
    }
}

impl Told {
    /// Means over the shapes that have a figure.
    fn mean(shapes: &BTreeMap<String, Told>) -> Told {
        let mean = |figure: fn(&Told) -> Option<f64>| {
            let all: Vec<f64> = shapes.values().filter_map(figure).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        Told {
            queries: shapes.values().map(|told| told.queries).sum(),
            spearman: mean(|told| told.spearman),
            pearson: mean(|told| told.pearson),
            error: mean(|told| told.error),
        }
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Measured { ranks, de_morgan, measures, .. } = self;
        let measure = |(name, of): (&&str, &Measure)| {
            ((*name).to_owned(), json!({ "shapes": of.shapes, "mean": of.mean }))
        };
        let uncertainty: serde_json::Map<_, _> = measures.iter().map(measure).collect();
        json!({
            "shapes": ranks.shapes,
            "de_morgan": de_morgan.shapes,
            "means": { "epfo": ranks.epfo(), "negation": ranks.negation(), "all": ranks.all() },
            "unranked": ranks.unranked,
            "uncertainty": uncertainty,
        })
        .serialize(serializer)
    }
}
