//! Every knob, with its default and its limits.
//!
//! Settings come in layers: the defaults of a recipe, a TOML file, single `key=value` pairs. A layer may
//! name some knobs only; a name that does not exist or a value of the wrong type is refused with the name
//! that was probably meant.

mod check;
pub(crate) mod named;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use skolem_kg::{Shape, Split};
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::loss::Loss;
use skolem_nn::optim::Adam;
use toml::{Table, Value};

use crate::error::{Error, Result};
use crate::model::Kind;
use crate::train::schedule::Schedule;
use crate::train::update::Rules;

pub(crate) use check::{number, whole};

/// All settings of a model and its training.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The model: its kind, and what that kind has for knobs.
    pub model: Kind,
    /// How it learns.
    pub train: TrainConfig,
    /// The shapes that it learns from, and how often each comes: any number above zero.
    pub mix: BTreeMap<String, f64>,
    /// How its progress is measured.
    pub evaluate: EvaluateConfig,
    /// When its state is saved.
    pub save: SaveConfig,
}

/// `[train]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// Where the other defaults are from: `fast` or `paper`.
    pub recipe: String,
    /// Same seed, same result.
    pub seed: u64,
    /// The edges that are learnt from: `train`, or also those of `valid`, or of `test`, for models that are to
    /// entail what is known rather than to predict what is not.
    pub split: String,
    /// Queries in an update.
    pub batch: usize,
    /// Whether updates take turns between chains and other shapes (path, other, path), as the paper's
    /// program does, instead of mixing all shapes.
    pub turns: bool,
    /// The learning rate at its highest.
    pub rate: f64,
    /// How many times faster entities learn than networks and relations.
    pub entity_rate: f64,
    /// How the rate changes: `constant`, `cosine`, `linear`, or `drops` (a fifth after a half, and again
    /// after three quarters, each time with fresh moments).
    pub schedule: String,
    /// Updates over which the rate rises to its highest.
    pub warmup: u64,
    /// The loss: `sigmoid` or `softmax`.
    pub loss: String,
    /// Share of the weight of answers that all negatives share (softmax).
    pub smoothing: f64,
    /// Weight of a score of 0 as a threshold, that answers should be above and all negatives together below
    /// (softmax): with it, scores of different queries can be compared, as unions do.
    pub threshold: f64,
    /// Share of the numbers of hidden layers that are zero by chance in each update.
    pub dropout: f64,
    /// What the numbers of matrix products are rounded to while learning: `f32` for not at all, or `bf16` where
    /// the processor multiplies these, twice as fast.
    pub precision: String,
    /// Answers that each query is shown.
    pub positives: usize,
    /// Negatives of each query alone.
    pub negatives: usize,
    /// Negatives that all queries of an update share; all entities if there are no more.
    pub shared: usize,
    /// Whether answers are kept out of the negatives.
    pub filtered: bool,
    /// Whether a query counts 1/√(4 + its answers) instead of 1.
    pub weighted: bool,
    /// Gradients of shared negatives' scores below this share of a query's weight are made this large or
    /// zero, by chance: few, with the same mean.
    pub negligible: f64,
    /// Whether shared negatives are looked through as bytes: many times faster.
    pub coarse: bool,
    /// Whether entities that an update does not touch wait for their momentum.
    pub lazy: bool,
    /// Adam's β₁.
    pub beta1: f64,
    /// Adam's β₂.
    pub beta2: f64,
    /// Adam's ε.
    pub epsilon: f64,
    /// A loss above this counts as diverged.
    pub most_loss: f64,
}

/// `[evaluate]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluateConfig {
    /// How many times during training, the end included; 0 for never.
    pub times: u64,
    /// Valid queries of each shape that are ranked.
    pub queries: usize,
    /// Stop after this many evaluations without a better MRR; 0 for never.
    pub patience: u64,
}

/// `[save]`
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaveConfig {
    /// Seconds between two checkpoints.
    pub seconds: f64,
}

/// The shapes that queries are trained on, and how often each comes in the published sets.
const TRAINED: [(&str, f64); 10] = [
    ("1p", 10.0),
    ("2p", 10.0),
    ("3p", 10.0),
    ("2i", 10.0),
    ("3i", 10.0),
    ("2in", 1.0),
    ("3in", 1.0),
    ("inp", 1.0),
    ("pin", 1.0),
    ("pni", 1.0),
];

impl TrainConfig {
    /// Whose edges are learnt from.
    pub fn split(&self) -> Result<Split> {
        self.split.parse().map_err(|error| Error::Setting(format!("train.split: {error}")))
    }
}

impl Config {
    /// The names of the recipes.
    pub const RECIPES: [&str; 2] = ["fast", "paper"];

    /// The defaults of a recipe, for LogicE.
    pub fn recipe(name: &str) -> Result<Config> {
        Config::recipe_of(name, "logic")
    }

    /// The defaults of a recipe for a kind of model.
    pub fn recipe_of(name: &str, kind: &str) -> Result<Config> {
        let Some(model) = Kind::published(kind) else {
            let kinds = Kind::NAMES.join(", ");
            return Err(Error::Setting(format!("unknown model.kind '{kind}' (one of {kinds})")));
        };
        let mut paper = Config {
            model,
            train: TrainConfig {
                recipe: "paper".into(),
                seed: 0,
                split: Split::Train.name().into(),
                batch: 512,
                turns: true,
                rate: 1e-4,
                entity_rate: 1.0,
                schedule: "drops".into(),
                warmup: 0,
                loss: "sigmoid".into(),
                smoothing: 0.0,
                threshold: 0.0,
                dropout: 0.0,
                precision: Precision::F32.name().into(),
                positives: 1,
                negatives: 128,
                shared: 0,
                filtered: false,
                weighted: true,
                negligible: 0.0,
                coarse: false,
                lazy: false,
                beta1: 0.9,
                beta2: 0.999,
                epsilon: 1e-8,
                most_loss: 1e4,
            },
            mix: TRAINED.map(|(shape, weight)| (shape.to_owned(), weight)).into(),
            evaluate: EvaluateConfig { times: 20, queries: 100, patience: 0 },
            save: SaveConfig { seconds: 300.0 },
        };
        if !paper.model.has_complement() {
            paper.mix.retain(|shape, _| !has_negation(shape));
        }
        match name {
            "paper" => Ok(paper),
            "fast" => Ok(fast(paper)),
            other => Err(Error::Setting(format!("unknown recipe '{other}' (one of fast, paper)"))),
        }
    }

    /// Puts the layers together: the recipe that they name (or `fast`), the file, the pairs.
    pub fn layered(file: Option<&Path>, pairs: &[String]) -> Result<Config> {
        let mut layers = Vec::new();
        if let Some(path) = file {
            let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
            let table =
                text.parse::<Table>().map_err(|error| Error::corrupt(path, error.to_string()))?;
            layers.push(table);
        }
        for pair in pairs {
            layers.push(table_of(pair)?);
        }
        let named = |section: &str, knob: &str| {
            layers.iter().rev().find_map(|layer| layer.get(section)?.get(knob)?.as_str())
        };
        let [recipe, kind] = [named("train", "recipe"), named("model", "kind")];
        let defaults = Config::recipe_of(recipe.unwrap_or("fast"), kind.unwrap_or("logic"))?;
        let mut all = Table::try_from(defaults).map_err(internal)?;
        for (at, layer) in layers.into_iter().enumerate() {
            // A file's mix replaces the default one: shapes left out are not trained.
            if layer.contains_key("mix") && file.is_some() && at == 0 {
                all.insert("mix".into(), Value::Table(Table::new()));
            }
            merge(&mut all, layer, "")?;
        }
        let config: Config = all
            .try_into()
            .map_err(|error: toml::de::Error| Error::Setting(error.message().to_owned()))?;
        config.check()?;
        Ok(config)
    }

    /// Settings as a model was stored with them. Knobs that did not exist then have the values of
    /// `paper`, with which nothing changes.
    pub fn stored(table: Table) -> Result<Config> {
        let kind = table.get("model").and_then(|model| model.get("kind")?.as_str());
        let defaults = Config::recipe_of("paper", kind.unwrap_or("logic"))?;
        let mut all = Table::try_from(defaults).map_err(internal)?;
        all.insert("mix".into(), Value::Table(Table::new()));
        merge(&mut all, table, "")?;
        let config: Config = all
            .try_into()
            .map_err(|error: toml::de::Error| Error::Setting(error.message().to_owned()))?;
        config.check()?;
        Ok(config)
    }

    /// Reads settings that were written whole, maybe before there were knobs that are newer.
    pub fn from_toml(text: &str) -> Result<Config, String> {
        let table = text.parse::<Table>().map_err(|error| error.to_string())?;
        Config::stored(table).map_err(|error| error.to_string())
    }

    /// Shapes of the recipe that this kind of model cannot learn, if the mix is the recipe's but for these.
    pub fn left_out(&self) -> Vec<&'static str> {
        let (without, with): (Vec<_>, Vec<_>) =
            TRAINED.map(|(shape, _)| shape).into_iter().partition(|shape| !has_negation(shape));
        let is_default = without.iter().all(|shape| self.mix.contains_key(*shape));
        if is_default && !self.model.has_complement() { with } else { Vec::new() }
    }

    /// How updates are made.
    pub fn rules(&self) -> Result<Rules> {
        let train = &self.train;
        let loss: Loss =
            train.loss.parse().map_err(|error| Error::Setting(format!("train.loss: {error}")))?;
        let precision: Precision = train
            .precision
            .parse()
            .map_err(|error| Error::Setting(format!("train.precision: {error}")))?;
        let adam = Adam { beta1: train.beta1, beta2: train.beta2, epsilon: train.epsilon };
        Ok(Rules {
            seed: train.seed,
            loss,
            smoothing: train.smoothing,
            threshold: train.threshold,
            dropout: train.dropout,
            precision,
            negligible: train.negligible,
            coarse: train.coarse,
            entity_rate: train.entity_rate,
            adam,
            lazy: train.lazy,
            most_loss: train.most_loss,
        })
    }

    /// How the learning rate changes.
    pub fn schedule(&self) -> Result<Schedule> {
        self.train
            .schedule
            .parse()
            .map_err(|error| Error::Setting(format!("train.schedule: {error}")))
    }

    /// As TOML, every knob.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(internal)
    }
}

/// What `fast` changes; docs/recipes.md says what each change gave.
fn fast(paper: Config) -> Config {
    let mut mix = paper.mix;
    for (shape, weight) in &mut mix {
        *weight = if has_negation(shape) { 3.0 } else { *weight };
    }
    mix.insert("1p".into(), 30.0);
    let mut train = TrainConfig {
        recipe: "fast".into(),
        batch: 512,
        turns: false,
        rate: 1e-3,
        entity_rate: 8.0,
        schedule: "cosine".into(),
        warmup: 100,
        loss: "softmax".into(),
        threshold: 0.5,
        dropout: 0.3,
        precision: Precision::Bf16.name().into(),
        positives: 8,
        negatives: 0,
        shared: 4096,
        filtered: true,
        weighted: false,
        negligible: 1.0 / 32.0,
        coarse: true,
        lazy: true,
        ..paper.train
    };
    let model = paper.model.fast(&mut train);
    Config { model, mix, train, ..paper }
}

/// Whether a shape has a negation; what is no shape is refused elsewhere.
fn has_negation(shape: &str) -> bool {
    shape.parse::<Shape>().is_ok_and(|shape| shape.has_negation())
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::Setting(format!("the settings cannot be written: {error}"))
}

/// `a.b=value` as nested tables. The value is TOML, or else plain text.
fn table_of(pair: &str) -> Result<Table> {
    let Some((key, value)) = pair.split_once('=') else {
        return Err(Error::Setting(format!("'{pair}' is no setting (as in train.rate=0.001)")));
    };
    let (key, text) = (key.trim(), value.trim());
    let parsed =
        format!("value = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
    let mut value = parsed.unwrap_or_else(|| Value::String(text.to_owned()));
    for part in key.rsplit('.') {
        value = Value::Table(Table::from_iter([(part.trim_matches('"').to_owned(), value)]));
    }
    match value {
        Value::Table(table) => Ok(table),
        _ => Err(Error::Setting(format!("'{pair}' names no knob"))),
    }
}

/// Puts a layer over others, refusing names and types that are not there.
fn merge(all: &mut Table, layer: Table, within: &str) -> Result<()> {
    for (key, value) in layer {
        let name = format!("{within}{key}");
        let known: Vec<String> = all.keys().cloned().collect();
        let Some(old) = all.get_mut(&key) else {
            // Shapes are names that the user makes.
            if within == "mix." {
                all.insert(key, float(value, &name)?);
                continue;
            }
            return Err(Error::Setting(unknown(&name, &key, within, &known)));
        };
        match (&mut *old, value) {
            (Value::Table(old), Value::Table(value)) => merge(old, value, &format!("{name}."))?,
            (Value::Float(_), value @ (Value::Integer(_) | Value::Float(_))) => {
                *old = float(value, &name)?
            }
            (old, value) if old.same_type(&value) => *old = value,
            (old, value) => {
                let (wanted, got) = (kind(old), kind(&value));
                return Err(Error::Setting(format!("{name} must be {wanted}, not {got}")));
            }
        }
    }
    Ok(())
}

fn float(value: Value, name: &str) -> Result<Value> {
    match value {
        Value::Integer(whole) => Ok(Value::Float(whole as f64)),
        Value::Float(_) => Ok(value),
        other => Err(Error::Setting(format!("{name} must be a number, not {}", kind(&other)))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a section",
    }
}

fn unknown(name: &str, key: &str, within: &str, known: &[String]) -> String {
    let near = known.iter().max_by(|a, b| {
        let likeness = |name: &String| strsim::jaro_winkler(name, key);
        likeness(a).total_cmp(&likeness(b))
    });
    match near {
        Some(near) if strsim::jaro_winkler(near, key) > 0.7 => {
            format!("unknown knob '{name}' (did you mean '{within}{near}'?)")
        }
        _ => format!("unknown knob '{name}' (there are {})", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use skolem_nn::op::tnorm::TNorm;

    use super::*;

    fn layered(pairs: &[&str]) -> Result<Config> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Config::layered(None, &pairs)
    }

    #[test]
    fn layers_are_put_together() {
        let config = layered(&[
            "model.dim=32",
            "train.recipe=paper",
            "train.rate=1",
            "mix.2u=3",
            "model.tnorm=prod",
        ])
        .unwrap();
        let Kind::Logic(model) = &config.model else { panic!("{:?}", config.model) };
        assert_eq!((model.dim, model.tnorm), (32, TNorm::Product));
        assert_eq!((config.train.rate, config.train.negatives), (1.0, 128));
        assert_eq!(config.mix["2u"], 3.0);
        assert_eq!(Config::from_toml(&config.to_toml().unwrap()).unwrap(), config);
    }

    #[test]
    fn files_may_name_a_few_knobs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.toml");
        std::fs::write(&file, "[model]\nbounds = true\n[mix]\n1p = 1\n\"p(e) | p(e)\" = 0.5\n")
            .unwrap();
        let config = Config::layered(Some(&file), &["model.dim=7".into()]).unwrap();
        let Kind::Logic(model) = &config.model else { panic!("{:?}", config.model) };
        assert!(model.bounds && model.dim == 7);
        assert_eq!(config.mix.len(), 2);
        let config = Config::layered(Some(&file), &["mix.2p=1".into(), "mix.3p=1".into()]).unwrap();
        assert_eq!(config.mix.len(), 4);
        std::fs::write(&file, "[model\n").unwrap();
        assert!(Config::layered(Some(&file), &[]).unwrap_err().to_string().contains("my.toml"));
    }

    #[test]
    fn stored_settings_may_lack_knobs_that_are_newer() {
        let config = layered(&["train.recipe=fast", "mix.2u=3"]).unwrap();
        let mut table = Table::try_from(&config).unwrap();
        assert_eq!(Config::stored(table.clone()).unwrap(), config);
        let train = table.get_mut("train").unwrap().as_table_mut().unwrap();
        train.remove("entity_rate").unwrap();
        assert_eq!(Config::stored(table.clone()).unwrap().train.entity_rate, 1.0);
        table.insert("speed".into(), Value::Integer(3));
        assert!(Config::stored(table).unwrap_err().to_string().contains("unknown knob 'speed'"));
    }

    #[test]
    fn each_kind_has_its_own_knobs_and_shapes() {
        for kind in Kind::NAMES {
            for recipe in Config::RECIPES {
                let set = [format!("model.kind={kind}"), format!("train.recipe={recipe}")];
                let config = Config::layered(None, &set).unwrap();
                assert_eq!((config.model.name(), &config.train.recipe[..]), (*kind, recipe));
                assert_eq!(Config::from_toml(&config.to_toml().unwrap()).unwrap(), config);
                assert_eq!(config.mix.contains_key("2in"), config.model.has_complement());
                assert_eq!(config.left_out().is_empty(), config.model.has_complement());
            }
        }
        let refused = |set: &[&str]| layered(set).unwrap_err().to_string();
        assert!(refused(&["model.kind=gqe", "model.tnorm=luk"]).contains("'model.tnorm'"));
        let error = refused(&["model.kind=gqe", "mix.2in=1", "mix.p(!p(e))=1"]);
        assert!(
            error.contains("gqe has no complement") && error.contains("2in, p(!p(e))"),
            "{error}"
        );
        let few = layered(&["model.kind=gqe", "mix.2u=1"]).unwrap();
        assert_eq!(few.left_out(), ["2in", "3in", "inp", "pin", "pni"]);
    }

    #[test]
    fn mistakes_are_named() {
        for (pair, message) in [
            ("model.dimm=3", "unknown knob 'model.dimm' (did you mean 'model.dim'?)"),
            ("modle.dim=3", "unknown knob 'modle' (did you mean 'model'?)"),
            ("model.dim=many", "model.dim must be a whole number, not text"),
            ("model.dim=0", "model.dim = 0 is out of range"),
            ("model.dim=-1", "invalid value"),
            ("train.rate=nan", "train.rate = NaN is out of range"),
            ("model.bounds=1", "model.bounds must be true or false, not a whole number"),
            ("model.tnorm=godel", "one of luk, prod, min"),
            ("model.first=last", "unknown model.first 'last' (one of random, graph)"),
            ("model.kind=transe", "unknown model.kind 'transe' (one of logic, gqe"),
            ("train.loss=hinge", "one of sigmoid, softmax"),
            ("train.recipe=slow", "one of fast, paper"),
            ("train.split=all", "train.split: unknown split 'all' (one of train, valid, test)"),
            ("model", "is no setting"),
            ("mix.9z=1", "mix.9z is no shape: 1:1: expected one of 1p"),
        ] {
            let error = layered(&[pair]).unwrap_err().to_string();
            assert!(error.contains(message), "{pair}: {error}");
        }
    }
}
