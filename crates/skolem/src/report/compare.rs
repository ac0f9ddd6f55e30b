//! Tables with our figures, the paper's and the differences.

use std::collections::BTreeMap;

use super::findings::{Findings, Measured};
use super::text::decimal;
use super::{models, paper};
use crate::evaluate::Figures;

/// A table of the paper with our figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// The paper's table; see [`paper::table`].
    pub key: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// What was measured and how.
    pub caption: &'static str,
    /// The columns: shapes, or groups of these.
    pub columns: Vec<String>,
    /// How many decimals its figures have.
    pub decimals: usize,
    /// Whether a smaller figure is better.
    pub less_is_better: bool,
    /// The models.
    pub rows: Vec<Row>,
}

/// A model in a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Our figures, rounded as they are shown: none where this model was not measured.
    pub ours: Option<Vec<Option<f64>>>,
    /// The paper's: none where it has no such row.
    pub paper: Option<Vec<Option<f64>>>,
}

impl Row {
    /// How much higher our figure is than the paper's.
    pub fn difference(&self, column: usize) -> Option<f64> {
        Some(self.ours.as_ref()?[column]? - self.paper.as_ref()?[column]?)
    }
}

/// How models compare with each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    /// How many models.
    pub models: usize,
    /// By our averages, the best first, as in "A > B = C".
    pub ours: String,
    /// By the paper's.
    pub paper: String,
    /// Of how many pairs of models the averages have the same one ahead, and the number of these pairs.
    pub by_average: (usize, usize),
    /// The same in all single columns.
    pub by_column: (usize, usize),
}

type Values = BTreeMap<String, f64>;

/// What a table of the paper is made of.
struct Spec {
    key: &'static str,
    title: &'static str,
    caption: &'static str,
    decimals: usize,
    less_is_better: bool,
    /// What was measured of a model, by what is measured (may be nothing) and column.
    values: fn(&Findings) -> Vec<(String, Values)>,
}

const SPECS: [Spec; 8] = [
    Spec {
        key: "epfo",
        title: "Queries without negation",
        caption: "Test MRR in percent; higher is better. Mean reciprocal rank of the answers that only the test \
                  edges entail, among all entities that are no answers (filtered; among equal scores the mean rank), \
                  averaged over the answers of a query, then over queries. Unions (2u, up) are answered one disjunct at a \
                  time, and by De Morgan’s law (DM), which the average leaves out.",
        decimals: 1,
        less_is_better: false,
        values: |found| {
            let mut all = percent(&found.test.shapes, |of| of.mrr);
            all.extend(
                percent(&found.de_morgan, |of| of.mrr)
                    .into_iter()
                    .map(|(shape, mrr)| (format!("{shape}/dm"), mrr)),
            );
            vec![(String::new(), all)]
        },
    },
    Spec {
        key: "negation",
        title: "Queries with negation",
        caption: "Test MRR in percent, as above; higher is better.",
        decimals: 1,
        less_is_better: false,
        values: |found| vec![(String::new(), percent(&found.test.shapes, |of| of.mrr))],
    },
    Spec {
        key: "ablation",
        title: "T-norms, bounds and attention",
        caption: "Valid MRR in percent, means over the trained shapes that have an i (intersection), an n (negation) or a \
                  p (relation) in their name, and over all of them; higher is better. Ours is of the valid queries that are \
                  ranked while a model learns, when it was at its best.",
        decimals: 1,
        less_is_better: false,
        values: |found| vec![(String::new(), groups(&found.training.valid))],
    },
    Spec {
        key: "generalization",
        title: "Generalization on Query2Box’s queries",
        caption: "Test Hits@3 in percent: the share of the answers that only the test edges entail, and that are among the \
                  first three entities that are no other answers; higher is better.",
        decimals: 1,
        less_is_better: false,
        values: |found| hits3(found.generalization.as_ref()),
    },
    Spec {
        key: "entailment",
        title: "Entailment on Query2Box’s queries",
        caption: "Hits@3 in percent of models that learnt all splits: no link is missing, so this measures how faithfully \
                  they reason; higher is better.",
        decimals: 1,
        less_is_better: false,
        values: |found| hits3(found.entailment.as_ref()),
    },
    Spec {
        key: "spearman",
        title: "Uncertainty and the number of answers: ranks",
        caption: "Spearman’s rank correlation between a measure of the uncertainty of a query’s embedding and the number of \
                  its answers, test queries; higher is better. Entropy and the width of truth intervals are summed over the dimensions; the size of a \
                  box is the sum of its sides.",
        decimals: 2,
        less_is_better: false,
        values: |found| correlations(found, |of| of.spearman),
    },
    Spec {
        key: "pearson",
        title: "Uncertainty and the number of answers: values",
        caption: "Pearson’s correlation coefficient between the same; higher is better.",
        decimals: 2,
        less_is_better: false,
        values: |found| correlations(found, |of| of.pearson),
    },
    Spec {
        key: "cardinality",
        title: "Telling the number of answers",
        caption: "Mean absolute error in percent of the true number, of a small network that is given the uncertainty of each \
                  dimension and learns on half of the queries; measured on the other half; lower is better.",
        decimals: 0,
        less_is_better: true,
        values: |found| {
            let one = |of: &super::findings::Cardinality| {
                (
                    of.measure.clone(),
                    of.shapes.iter().map(|(shape, error)| (shape.clone(), 100.0 * error)).collect(),
                )
            };
            found.cardinality.iter().map(one).collect()
        },
    },
];

/// The tables of the paper that something was measured for.
pub fn tables(all: &[Findings]) -> Vec<Table> {
    SPECS.iter().filter_map(|spec| table(spec, all)).collect()
}

/// The titles of those that nothing was measured for.
pub fn missing(all: &[Findings]) -> Vec<&'static str> {
    SPECS.iter().filter(|spec| table(spec, all).is_none()).map(|spec| spec.title).collect()
}

fn table(spec: &Spec, all: &[Findings]) -> Option<Table> {
    let printed = paper::table(spec.key)?;
    let data = all.first().and_then(|found| paper::data_set(&found.data));
    let mut rows: Vec<(String, Row)> = Vec::new();
    for row in printed.rows.iter().filter(|row| Some(row.data) == data) {
        let paper = Some(row.figures.clone());
        rows.push((row.model.to_owned(), Row { name: models::name(row.model), ours: None, paper }));
    }
    for found in all {
        for (measure, values) in (spec.values)(found) {
            let ours = columns(&printed.columns, &values, spec.decimals);
            if ours.iter().all(Option::is_none) {
                continue;
            }
            let key = if measure.is_empty() {
                found.label.clone()
            } else {
                format!("{}:{measure}", found.label)
            };
            match rows.iter_mut().find(|(known, _)| *known == key) {
                Some((_, row)) => row.ours = Some(ours),
                None => rows.push((
                    key.clone(),
                    Row { name: models::name(&key), ours: Some(ours), paper: None },
                )),
            }
        }
    }
    // A variant that was not made says nothing beside those that were.
    let is_ablation = spec.key == "ablation";
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|(_, row)| row)
        .filter(|row| !is_ablation || row.ours.is_some())
        .collect();
    let measured = rows.iter().filter(|row| row.ours.is_some()).count();
    // One line alone compares nothing with nothing.
    (measured > usize::from(is_ablation)).then(|| Table {
        key: spec.key,
        title: spec.title,
        caption: spec.caption,
        columns: printed.columns.iter().map(|column| column.replace("/dm", " DM")).collect(),
        decimals: spec.decimals,
        less_is_better: spec.less_is_better,
        rows,
    })
}

/// The figures of the columns, and the average where all that it is of are there.
fn columns(names: &[&str], values: &Values, decimals: usize) -> Vec<Option<f64>> {
    let averaged = names.iter().filter(|name| **name != "avg" && !name.ends_with("/dm"));
    let averaged: Option<Vec<f64>> = averaged.map(|name| values.get(*name).copied()).collect();
    let average = averaged.map(|of| of.iter().sum::<f64>() / of.len() as f64);
    let unit = 10f64.powi(decimals as i32);
    let value = |name: &&str| if *name == "avg" { average } else { values.get(*name).copied() };
    names.iter().map(|name| Some((value(name)? * unit).round() / unit)).collect()
}

impl Table {
    /// The best figures of a column: ours and the paper's.
    pub fn best(&self, column: usize) -> (Option<f64>, Option<f64>) {
        let better = |a: f64, b: f64| if self.less_is_better { a.min(b) } else { a.max(b) };
        let figure = |side: &Option<Vec<Option<f64>>>| side.as_ref()?[column];
        let ours = self.rows.iter().filter_map(|row| figure(&row.ours)).reduce(better);
        let paper = self.rows.iter().filter_map(|row| figure(&row.paper)).reduce(better);
        (ours, paper)
    }

    /// A figure as it is shown.
    pub fn figure(&self, figure: Option<f64>) -> String {
        figure.map_or("–".into(), |figure| decimal(figure, self.decimals))
    }

    /// How the models that both have compare: none where there are fewer than two.
    pub fn order(&self) -> Option<Order> {
        let last = self.columns.iter().rposition(|column| column == "avg" || column == "all")?;
        let both = |column: usize| -> Vec<(&str, f64, f64)> {
            let pair =
                |row: &'_ Row| Some((row.ours.as_ref()?[column]?, row.paper.as_ref()?[column]?));
            self.rows
                .iter()
                .filter_map(|row| pair(row).map(|(ours, paper)| (&row.name[..], ours, paper)))
                .collect()
        };
        let of = both(last);
        if of.len() < 2 {
            return None;
        }
        let (mut by_average, mut by_column) = ((0, 0), (0, 0));
        for column in 0..self.columns.len() {
            let of = both(column);
            for (at, a) in of.iter().enumerate() {
                for b in &of[at + 1..] {
                    let is_same = sign(a.1 - b.1) == sign(a.2 - b.2);
                    let pairs = if column == last { &mut by_average } else { &mut by_column };
                    pairs.0 += usize::from(is_same);
                    pairs.1 += 1;
                }
            }
        }
        let ours = self.chain(of.iter().map(|(name, ours, _)| (*name, *ours)).collect());
        let paper = self.chain(of.iter().map(|(name, _, paper)| (*name, *paper)).collect());
        Some(Order { models: of.len(), ours, paper, by_average, by_column })
    }

    /// Names from the best to the worst.
    fn chain(&self, mut of: Vec<(&str, f64)>) -> String {
        of.sort_by(
            |a, b| if self.less_is_better { a.1.total_cmp(&b.1) } else { b.1.total_cmp(&a.1) },
        );
        let mut text = String::new();
        for (at, (name, figure)) in of.iter().enumerate() {
            if at > 0 {
                text.push_str(if sign(figure - of[at - 1].1) == 0 { " = " } else { " > " });
            }
            text.push_str(name);
        }
        text
    }
}

impl Order {
    /// What there is to say of it.
    pub fn sentence(&self) -> String {
        // More names in a row than these say nothing to anybody.
        const MOST: usize = 6;
        let Order { models, ours, paper, by_average, by_column } = self;
        let order = match by_average {
            (same, all) if *models > MOST => {
                format!("By the average {same} of {all} pairs of models are in the paper’s order")
            }
            (same, all) if same == all => format!("Order by the average, as in the paper: {ours}"),
            _ => format!("Order by the average: {ours}; in the paper: {paper}"),
        };
        let (same, all) = by_column;
        format!(
            "{order}. In the single columns, {same} of {all} pairs of models are in the paper’s order."
        )
    }
}

/// Differences are of rounded figures: what is less than the last digit is zero.
fn sign(difference: f64) -> i8 {
    match difference {
        ..-1e-9 => -1,
        1e-9.. => 1,
        _ => 0,
    }
}

fn percent(shapes: &BTreeMap<String, Figures>, figure: impl Fn(&Figures) -> f64) -> Values {
    shapes.iter().map(|(shape, of)| (shape.clone(), 100.0 * figure(of))).collect()
}

fn hits3(measured: Option<&Measured>) -> Vec<(String, Values)> {
    measured.map(|of| (String::new(), percent(&of.shapes, |of| of.hits3))).into_iter().collect()
}

fn correlations(
    found: &Findings,
    which: fn(&super::findings::Correlation) -> Option<f64>,
) -> Vec<(String, Values)> {
    let values = |of: &super::findings::Uncertainty| {
        of.shapes.iter().filter_map(|(shape, of)| Some((shape.clone(), which(of)?))).collect()
    };
    found.uncertainty.iter().map(|of| (of.measure.clone(), values(of))).collect()
}

/// Means over the trained shapes by the letters of their names.
fn groups(valid: &BTreeMap<String, f64>) -> Values {
    let trained = ["1p", "2p", "3p", "2i", "3i", "2in", "3in", "inp", "pin", "pni"];
    let mean = |letter: &str| {
        let of: Option<Vec<f64>> = trained
            .iter()
            .filter(|shape| letter == "all" || shape.contains(letter))
            .map(|shape| valid.get(*shape).copied())
            .collect();
        of.map(|of| 100.0 * of.iter().sum::<f64>() / of.len() as f64)
    };
    ["i", "n", "p", "all"]
        .iter()
        .filter_map(|letter| Some(((*letter).to_owned(), mean(letter)?)))
        .collect()
}
