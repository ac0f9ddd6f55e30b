//! The figures as the paper prints them.

use std::sync::LazyLock;

use super::findings::Data;

/// The file with all figures; its comments say how it is to be read.
const TEXT: &str = include_str!("paper.txt");

/// A table of the paper.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name in the file.
    pub name: &'static str,
    /// Shapes, then perhaps the average.
    pub columns: Vec<&'static str>,
    /// A model on a data set each.
    pub rows: Vec<Row>,
}

/// A line of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The data set.
    pub data: &'static str,
    /// The label of the model, and what is measured of it: `beta:entropy`.
    pub model: &'static str,
    /// The figures, as many as there are columns.
    pub figures: Vec<Option<f64>>,
}

/// The data sets: entities, relations, and edges of train, valid and test. These tell them apart, whatever
/// the name of a file.
const DATA: [(&str, usize, usize, [usize; 3]); 3] = [
    ("FB15k", 14_951, 1_345, [483_142, 50_000, 59_071]),
    ("FB15k-237", 14_505, 237, [272_115, 17_526, 20_438]),
    ("NELL995", 63_361, 200, [114_213, 14_324, 14_267]),
];

/// The paper's name of a data set, if it is one of the paper's.
pub fn data_set(data: &Data) -> Option<&'static str> {
    let same = |known: &&(&str, usize, usize, [usize; 3])| {
        (known.1, known.2, known.3) == (data.entities, data.relations, data.edges)
    };
    DATA.iter().find(same).map(|known| known.0)
}

/// All tables.
pub fn tables() -> &'static [Table] {
    static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| parse(TEXT));
    &TABLES
}

/// The table of a name.
pub fn table(name: &str) -> Option<&'static Table> {
    tables().iter().find(|table| table.name == name)
}

fn parse(text: &'static str) -> Vec<Table> {
    let mut tables = Vec::<Table>::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), tables.last_mut()) {
            (Some("table"), Some(name), _) => {
                tables.push(Table { name, columns: words.collect(), rows: Vec::new() });
            }
            (Some(data), Some(model), Some(table)) => {
                let figures = words.map(|word| word.parse().ok()).collect();
                table.rows.push(Row { data, model, figures });
            }
            _ => {}
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::models;

    #[test]
    fn tables_are_whole() {
        let names: Vec<_> = tables().iter().map(|table| table.name).collect();
        let all = "epfo negation generalization entailment spearman pearson cardinality ablation";
        assert_eq!(names.join(" "), all);
        let mut figures = 0;
        for table in tables() {
            for row in &table.rows {
                let place = format!("{} {} {}", table.name, row.data, row.model);
                assert_eq!(row.figures.len(), table.columns.len(), "{place}");
                assert!(DATA.iter().any(|known| known.0 == row.data), "{place}");
                assert_ne!(models::name(row.model), row.model, "{place}");
                figures += row.figures.iter().flatten().count();
            }
        }
        // What is neither a number nor the sign of a missing one would be lost.
        let words = TEXT.lines().filter(|line| line.starts_with(['F', 'N']));
        let words = words.flat_map(|line| line.split_whitespace().skip(2));
        assert_eq!(figures, words.filter(|word| *word != "-").count());
    }

    /// The mean of printed figures may be half a unit of the last digit off, and its own rounding as much.
    #[test]
    fn averages_agree_with_their_rows() {
        let mut wrong = Vec::new();
        for table in tables() {
            let Some(last) = table.columns.iter().position(|column| *column == "avg") else {
                continue;
            };
            let unit = match table.name {
                "spearman" | "pearson" => 0.01,
                "cardinality" => 1.0,
                _ => 0.1,
            };
            for row in &table.rows {
                let of = table.columns.iter().zip(&row.figures);
                let of = of.filter(|(column, _)| **column != "avg" && !column.ends_with("/dm"));
                let of: Option<Vec<f64>> = of.map(|(_, figure)| *figure).collect();
                let (Some(of), Some(average)) = (of, row.figures[last]) else { continue };
                let mean = of.iter().sum::<f64>() / of.len() as f64;
                if (mean - average).abs() > unit + 1e-9 {
                    let Row { data, model, .. } = row;
                    wrong.push(format!("{} {data} {model}: {mean:.2}, not {average}", table.name));
                }
            }
        }
        // Printed so in the paper, twice.
        assert_eq!(wrong, ["generalization FB15k-237 emql: 35.62, not 35.8"]);
    }

    #[test]
    fn data_sets_are_told_by_their_sizes() {
        let mut data = Data {
            entities: 63_361,
            relations: 200,
            edges: [114_213, 14_324, 14_267],
            ..Data::default()
        };
        assert_eq!(data_set(&data), Some("NELL995"));
        data.edges[0] -= 1;
        assert_eq!(data_set(&data), None);
    }
}
