//! The models that can be compared: what each is called, and what it is made with.

use crate::error::{Error, Result};

/// A model of the paper's tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry {
    /// How it is asked for, and what its files are called.
    pub label: &'static str,
    /// How people call it.
    pub name: &'static str,
    /// What makes it that model; all else is the recipe's.
    pub settings: &'static [&'static str],
}

/// All models, in the order of the paper's tables.
pub const MODELS: [Entry; 12] = [
    entry("logic-point", "LogicE", &["model.kind=logic", "model.bounds=false"]),
    entry("logic-bounds", "LogicE + bounds", &["model.kind=logic", "model.bounds=true"]),
    entry("beta", "BetaE", &["model.kind=beta"]),
    entry("query2box", "Query2Box", &["model.kind=query2box"]),
    entry("gqe", "GQE", &["model.kind=gqe"]),
    entry(
        "logic-point-min",
        "LogicE (min)",
        &["model.kind=logic", "model.bounds=false", "model.tnorm=min"],
    ),
    entry(
        "logic-point-prod",
        "LogicE (prod)",
        &["model.kind=logic", "model.bounds=false", "model.tnorm=prod"],
    ),
    entry(
        "logic-bounds-min",
        "LogicE + bounds (min)",
        &["model.kind=logic", "model.bounds=true", "model.tnorm=min"],
    ),
    entry(
        "logic-bounds-prod",
        "LogicE + bounds (prod)",
        &["model.kind=logic", "model.bounds=true", "model.tnorm=prod"],
    ),
    entry(
        "logic-bounds-plain",
        "LogicE + bounds (no attention)",
        &["model.kind=logic", "model.bounds=true", "model.attention=false"],
    ),
    entry(
        "logic-bounds-min-plain",
        "LogicE + bounds (min, no attention)",
        &["model.kind=logic", "model.bounds=true", "model.tnorm=min", "model.attention=false"],
    ),
    entry(
        "logic-bounds-prod-plain",
        "LogicE + bounds (prod, no attention)",
        &["model.kind=logic", "model.bounds=true", "model.tnorm=prod", "model.attention=false"],
    ),
];

/// Models of the paper that are not made here.
const OTHERS: [(&str, &str); 4] = [
    ("beta-plain", "BetaE (no attention)"),
    ("cqd-beam", "CQD-Beam"),
    ("emql", "EmQL"),
    ("emql-no-sketch", "EmQL − sketch"),
];

/// The models that are compared unless others are asked for.
pub const USUAL: [&str; 5] = ["logic-point", "logic-bounds", "beta", "query2box", "gqe"];

const fn entry(
    label: &'static str,
    name: &'static str,
    settings: &'static [&'static str],
) -> Entry {
    Entry { label, name, settings }
}

/// The model of a label.
pub fn find(label: &str) -> Result<&'static Entry> {
    MODELS.iter().find(|entry| entry.label == label).ok_or_else(|| {
        let known = MODELS.map(|entry| entry.label).join(", ");
        Error::Setting(format!("unknown model '{label}' (one of {known})"))
    })
}

/// How people call the model of a label, and what is measured of it: `beta:entropy`.
pub fn name(label: &str) -> String {
    let (label, measure) = label.split_once(':').unwrap_or((label, ""));
    let ours = MODELS.iter().map(|entry| (entry.label, entry.name));
    let name =
        ours.chain(OTHERS).find(|(known, _)| *known == label).map_or(label, |(_, name)| name);
    match measure {
        "" => name.to_owned(),
        measure => format!("{name}, {measure}"),
    }
}

/// Where a model comes among others: as in the paper's tables, those that it has not last.
pub fn place(label: &str) -> usize {
    MODELS.iter().position(|entry| entry.label == label).unwrap_or(MODELS.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn labels_are_found() {
        assert_eq!(find("gqe").unwrap().name, "GQE");
        assert!(find("gqa").unwrap_err().to_string().contains("unknown model 'gqa' (one of logic"));
        assert_eq!(name("logic-bounds:interval"), "LogicE + bounds, interval");
        assert_eq!(name("mine"), "mine");
    }

    #[test]
    fn all_models_can_be_made() {
        assert!(USUAL.iter().all(|label| find(label).is_ok()));
        for entry in MODELS {
            let pairs: Vec<_> = entry.settings.iter().map(|pair| pair.to_string()).collect();
            Config::layered(None, &pairs).unwrap();
        }
    }
}
