//! What models were made with: settings that all share, and those that differ.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::findings::Findings;

/// The settings of some models.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// Names and values that all have.
    pub shared: Vec<(String, String)>,
    /// Names with the value of each model, where they differ: `–` where one has none.
    pub different: Vec<(String, Vec<String>)>,
}

impl Settings {
    /// Those of some findings.
    pub fn of(all: &[Findings]) -> Settings {
        let mut values = BTreeMap::<String, Vec<Option<String>>>::new();
        for (at, found) in all.iter().enumerate() {
            let table: Table = found.settings.parse().unwrap_or_default();
            let mut flat = Vec::new();
            flatten("", &table, &mut flat);
            for (name, value) in flat {
                values.entry(name).or_insert_with(|| vec![None; all.len()])[at] = Some(value);
            }
        }
        let mut settings = Settings::default();
        for (name, values) in values {
            match &values[..] {
                [Some(first), rest @ ..]
                    if rest.iter().all(|value| value.as_ref() == Some(first)) =>
                {
                    settings.shared.push((name, first.clone()));
                }
                _ => {
                    let values = values.into_iter().map(|value| value.unwrap_or("–".into()));
                    settings.different.push((name, values.collect()));
                }
            }
        }
        settings
    }
}

/// Names as `--set` takes them.
fn flatten(prefix: &str, table: &Table, flat: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(table) => flatten(&name, table, flat),
            Value::String(text) => flat.push((name, text.clone())),
            other => flat.push((name, other.to_string())),
        }
    }
}
