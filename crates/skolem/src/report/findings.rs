//! What was measured of one model: a JSON file that says all that a report needs.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skolem_kg::store::{is_partial, write_atomically};
use skolem_kg::{Graph, Split};
use xxhash_rust::xxh3::Xxh3Default;

use super::{Machine, models};
use crate::error::{Error, Result};
use crate::evaluate::{self, Figures, Test};
use crate::store::metrics::Row;
use crate::train::run::Limit;

/// The version of the files.
const VERSION: u32 = 1;

/// All that was measured of one model.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Findings {
    /// Version of the file's layout.
    pub format_version: u32,
    /// Which model it is; see [`models`].
    pub label: String,
    /// What its sets are made of: `logic`, …
    pub kind: String,
    /// All settings, as TOML.
    pub settings: String,
    /// The seed of all that is by chance.
    pub seed: u64,
    /// The graph.
    pub data: Data,
    /// How it learnt.
    pub training: Training,
    /// Figures on test queries, unions answered one disjunct at a time.
    pub test: Measured,
    /// The same of shapes with unions, by De Morgan's law.
    pub de_morgan: BTreeMap<String, Figures>,
    /// Figures on Query2Box's test queries.
    pub generalization: Option<Measured>,
    /// Figures on Query2Box's test queries of a model that learnt all splits.
    pub entailment: Option<Measured>,
    /// How measures of uncertainty go with the number of answers.
    pub uncertainty: Vec<Uncertainty>,
    /// How well the number of answers is told from them.
    pub cardinality: Vec<Cardinality>,
    /// What it ran on.
    pub machine: Machine,
    /// The command that made this.
    pub command: String,
}

/// The graph that a model is of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Data {
    /// How its files are called.
    pub name: String,
    /// The fingerprint of the graph.
    pub fingerprint: String,
    /// Number of entities.
    pub entities: usize,
    /// Number of relations, inverses not counted.
    pub relations: usize,
    /// Number of edges that train, valid and test add.
    pub edges: [usize; 3],
}

impl Data {
    /// Describes a graph.
    pub fn of(name: &str, graph: &Graph) -> Data {
        Data {
            name: name.to_owned(),
            fingerprint: format!("{:016x}", graph.fingerprint()),
            entities: graph.entity_count(),
            relations: graph.relation_count() / 2,
            edges: Split::ALL.map(|split| graph.edges_added_by(split)),
        }
    }
}

/// How a model learnt.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Training {
    /// When it was to end; none for a model that was made elsewhere.
    pub limit: Option<Limit>,
    /// Seconds of learning, evaluations included.
    pub seconds: f64,
    /// Updates made.
    pub updates: u64,
    /// What was measured on valid queries on the way.
    pub curve: Vec<Progress>,
    /// The best of these: the mean reciprocal rank of each shape.
    pub valid: BTreeMap<String, f64>,
}

/// What was measured on the way.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Seconds of learning until then.
    pub seconds: f64,
    /// Updates until then.
    pub update: u64,
    /// Mean MRR over the shapes without negation.
    pub epfo: Option<f64>,
    /// The same with negation.
    pub negation: Option<f64>,
}

impl Training {
    /// What the log of a run says, and when the run ended.
    pub fn of(rows: &[Row], limit: Limit, seconds: f64, updates: u64) -> Training {
        let mrr = |row: &&Row| row.mrr;
        let measured: Vec<&Row> = rows.iter().filter(|row| mrr(row).is_some()).collect();
        let progress = |row: &&Row| {
            let Row { seconds, update, epfo, negation, .. } = **row;
            Progress { seconds, update, epfo, negation }
        };
        // The first of equal ones is the one that was kept.
        let best = measured
            .iter()
            .rev()
            .max_by(|a, b| mrr(a).partial_cmp(&mrr(b)).unwrap_or(std::cmp::Ordering::Equal));
        Training {
            limit: Some(limit),
            seconds,
            updates,
            curve: measured.iter().map(progress).collect(),
            valid: best.map(|row| row.shapes.clone()).unwrap_or_default(),
        }
    }
}

/// Figures, and the queries that they are of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The queries.
    pub queries: Queries,
    /// By shape.
    pub shapes: BTreeMap<String, Figures>,
}

/// The queries that figures are of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Queries {
    /// The file that they were read from; none if they were sampled from the graph.
    pub file: Option<String>,
    /// Where they are not all, how many there are at most of each shape.
    pub most: Option<usize>,
    /// The number of all.
    pub count: usize,
    /// Tells them from others.
    pub fingerprint: String,
}

impl Queries {
    /// Describes queries.
    pub fn of(tests: &[Test], file: Option<&Path>, most: Option<usize>) -> Queries {
        let mut hasher = Xxh3Default::new();
        for Test { query, easy, hard, .. } in tests {
            (query, easy, hard).hash(&mut hasher);
        }
        let name =
            |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let fingerprint = format!("{:016x}", hasher.finish());
        Queries { file: file.map(name), most, count: tests.len(), fingerprint }
    }
}

/// How a measure of uncertainty goes with the number of answers.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Uncertainty {
    /// What is measured: `entropy`, `interval` or `size`.
    pub measure: String,
    /// By shape.
    pub shapes: BTreeMap<String, Correlation>,
    /// Some of the queries, to be seen in a plot.
    pub points: Vec<Point>,
}

/// Correlations with the number of answers; none where one of both is the same for all queries.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Correlation {
    /// Spearman's, of ranks.
    pub spearman: Option<f64>,
    /// Pearson's.
    pub pearson: Option<f64>,
}

/// A query in a plot.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Point {
    /// Its shape.
    pub shape: String,
    /// The number of its answers.
    pub answers: usize,
    /// How uncertain the model is.
    pub value: f64,
}

/// Queries of all shapes that a plot has.
const PLOTTED: usize = 500;

impl Uncertainty {
    /// All measures of some queries.
    pub fn of(all: &evaluate::Uncertainty) -> Vec<Uncertainty> {
        let mut correlations = all.correlations();
        let each = all.shapes().len().max(1);
        let measure = |(at, measure): (usize, &&'static str)| {
            let shapes = correlations.remove(measure).unwrap_or_default().into_iter();
            let shapes = shapes.map(|(shape, of)| {
                (shape, Correlation { spearman: of.spearman, pearson: of.pearson })
            });
            let points = all.shapes().iter().flat_map(|(shape, of)| {
                let count = of.answers.len();
                let point = |query: usize| Point {
                    shape: shape.clone(),
                    answers: of.answers[query] as usize,
                    value: of.sums[at][query],
                };
                // Spread over all: queries may be in an order.
                let kept = count.min(PLOTTED / each);
                (0..kept).map(move |at| at * count / kept).map(point).collect::<Vec<_>>()
            });
            // A number that is none could not be read again.
            let points = points.filter(|point| point.value.is_finite()).collect();
            Uncertainty { measure: (*measure).to_owned(), shapes: shapes.collect(), points }
        };
        all.measures().iter().enumerate().map(measure).collect()
    }
}

/// How well the number of answers is told from a measure of uncertainty.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cardinality {
    /// What is measured: `entropy`, `interval` or `size`.
    pub measure: String,
    /// Mean absolute error as a share of the true number, by shape.
    pub shapes: BTreeMap<String, f64>,
}

impl Findings {
    /// Where the findings of a model are in the folder of a report.
    pub fn file(folder: &Path, label: &str) -> PathBuf {
        folder.join("findings").join(format!("{label}.json"))
    }

    /// Writes them into the folder of a report.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = Findings::file(folder, &self.label);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let whole = Findings { format_version: VERSION, ..self.clone() };
        let text =
            serde_json::to_string_pretty(&whole).map_err(|error| Error::io(&path)(error.into()))?;
        Ok(write_atomically(&path, |out| writeln!(out, "{text}"))?)
    }

    /// Reads those of a model, if there are any.
    pub fn read(folder: &Path, label: &str) -> Result<Option<Findings>> {
        let path = Findings::file(folder, label);
        match path.exists() {
            true => read(&path).map(Some),
            false => Ok(None),
        }
    }

    /// Reads all that are in the folder of a report, in the order of the paper's tables.
    pub fn read_all(folder: &Path) -> Result<Vec<Findings>> {
        let folder = folder.join("findings");
        let mut all = Vec::<Findings>::new();
        for entry in std::fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let entry = entry.map_err(Error::io(&folder))?;
            let path = entry.path();
            if is_partial(&entry.file_name()) || path.extension() != Some("json".as_ref()) {
                continue;
            }
            let found = read(&path)?;
            if let Some(first) = all.first().filter(|first| first.data != found.data) {
                let what = format!(
                    "this is of graph {}, and {}.json of {}: take one of them away",
                    found.data.name, first.label, first.data.name
                );
                return Err(Error::corrupt(path, what));
            }
            all.push(found);
        }
        all.sort_by_key(|found| (models::place(&found.label), found.label.clone()));
        Ok(all)
    }
}

fn read(path: &Path) -> Result<Findings> {
    let wrong =
        |what: String| Error::corrupt(path, format!("{what}; remove the file to measure anew"));
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let found: Findings =
        serde_json::from_str(&text).map_err(|error| wrong(format!("no findings: {error}")))?;
    match found.format_version {
        1..=VERSION => Ok(found),
        0 => Err(wrong("no findings: format_version is missing".into())),
        newer => Err(wrong(format!("written by a newer version of skolem (format {newer})"))),
    }
}
