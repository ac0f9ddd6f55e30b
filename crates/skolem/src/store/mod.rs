//! The folder that a model lives in; opening it needs nothing else.
//!
//! | file | what it holds |
//! |---|---|
//! | `model.toml` | every knob, the versions, the graph's fingerprint |
//! | `weights.safetensors` | the best weights so far (the last ones where nothing was evaluated) |
//! | `state.safetensors` | the last weights and all that learning needs to go on |
//! | `graph.kg` | the graph: names, and the edges that make an answer known |
//! | `metrics.jsonl`, `metrics.csv`, `events.out.tfevents.*` | what was measured on the way |
//! | `README.md` | a card for people |

mod card;
pub mod checkpoint;
pub mod metrics;
pub mod tensorboard;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use skolem_kg::rng::Rng;
use skolem_kg::{Graph, store::write_atomically};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::model::{Logic, Model, Weights};
use crate::train::run::Limit;
use checkpoint::{Checkpoint, Entry, Meta};

pub use card::card;

/// The version of the folder's layout.
const VERSION: u32 = 1;

/// What `model.toml` says besides the settings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct About {
    /// Version of the folder's layout.
    pub format_version: u32,
    /// Version of the program that made it.
    pub skolem: String,
    /// The graph's fingerprint.
    pub graph: String,
    /// Number of entities.
    pub entities: usize,
    /// Number of relations, inverses included.
    pub relations: usize,
    /// How long it learns.
    pub limit: Limit,
}

/// `model.toml`
#[derive(Serialize, Deserialize)]
struct Description {
    about: About,
    #[serde(flatten)]
    config: Config,
}

/// A model's folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A folder, whether it is there or not.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of one of its files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether there is a model in it.
    pub fn has_model(&self) -> bool {
        self.file("model.toml").exists()
    }

    /// Starts a model here: the folder must be new or empty.
    pub fn create(&self, graph: &Graph, config: &Config, limit: Limit) -> Result<About> {
        std::fs::create_dir_all(&self.path).map_err(Error::io(&self.path))?;
        let mut inside = std::fs::read_dir(&self.path).map_err(Error::io(&self.path))?;
        if inside.next().is_some() {
            return Err(Error::corrupt(
                &self.path,
                "this folder is not empty: name another one, or go on with --resume",
            ));
        }
        graph.write(self.file("graph.kg"))?;
        let about = About {
            format_version: VERSION,
            skolem: env!("CARGO_PKG_VERSION").into(),
            graph: format!("{:016x}", graph.fingerprint()),
            entities: graph.entity_count(),
            relations: graph.relation_count(),
            limit,
        };
        self.describe(&about, config)?;
        Ok(about)
    }

    /// Writes `model.toml`.
    pub fn describe(&self, about: &About, config: &Config) -> Result<()> {
        let description = Description { about: about.clone(), config: config.clone() };
        let text = toml::to_string(&description)
            .map_err(|error| Error::Setting(format!("the settings cannot be written: {error}")))?;
        let path = self.file("model.toml");
        Ok(write_atomically(&path, |out| out.write_all(text.as_bytes()))?)
    }

    /// Reads `model.toml`.
    pub fn description(&self) -> Result<(About, Config)> {
        let path = self.file("model.toml");
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
        let wrong = |what: String| Error::corrupt(&path, what);
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let version =
            table.get("about").and_then(|about| about.get("format_version")?.as_integer());
        match version {
            Some(version) if version > i64::from(VERSION) => {
                let formats = format!("format {version}, this program reads up to {VERSION}");
                return Err(wrong(format!(
                    "written by a newer version ({formats}): update skolem"
                )));
            }
            Some(1..) => {}
            _ => return Err(wrong("no model of skolem: about.format_version is missing".into())),
        }
        let Description { about, config } =
            toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        config.check()?;
        Ok((about, config))
    }

    /// Opens the graph and checks that it is the model's.
    pub fn graph(&self, about: &About) -> Result<Graph> {
        let path = self.file("graph.kg");
        let graph = Graph::open(&path)?;
        match format!("{:016x}", graph.fingerprint()) == about.graph {
            true => Ok(graph),
            false => {
                Err(Error::corrupt(&path, "this is not the graph that the model was made from"))
            }
        }
    }

    /// Opens a model to use: its settings, its graph and its best weights.
    pub fn open(&self) -> Result<(Config, Graph, Logic, Weights<f32>)> {
        let (about, config) = self.description()?;
        let graph = self.graph(&about)?;
        let model = config.logic()?;
        let mut file = Checkpoint::read(&self.file("weights.safetensors"))?;
        let weights = take_weights(&mut file, &model, &about, "")?;
        Ok((config, graph, model, weights))
    }

    /// Writes the weights that the model is used with.
    pub fn write_weights(&self, weights: &Weights<f32>, meta: &Meta) -> Result<()> {
        checkpoint::write(&self.file("weights.safetensors"), &entries_of(weights, ""), meta)
    }
}

/// The tensors of weights as entries of a file.
pub fn entries_of<'a>(weights: &'a Weights<f32>, prefix: &str) -> Vec<Entry<'a>> {
    let entry = |tensor: &'a crate::model::Tensor<f32>| Entry {
        name: format!("{prefix}{}", tensor.name),
        shape: tensor.shape.clone(),
        data: &tensor.data,
    };
    weights.all().map(entry).collect()
}

/// Takes weights out of a file; they must fit the model.
pub fn take_weights(
    file: &mut Checkpoint,
    model: &Logic,
    about: &About,
    prefix: &str,
) -> Result<Weights<f32>> {
    // Made without drawing numbers for every entity: only names and shapes matter here.
    let mut weights: Weights<f32> = model.weights(0, 0, &mut Rng::new(0));
    weights.entities.shape[0] = about.entities;
    weights.relations.shape[0] = about.relations;
    for tensor in weights.all_mut() {
        tensor.data = file.take(&format!("{prefix}{}", tensor.name), &tensor.shape)?;
    }
    Ok(weights)
}
