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
use skolem_kg::Graph;
use skolem_kg::rng::Rng;
use skolem_kg::store::{is_partial, remove_partial, write_atomically};
use toml::Value;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::model::{Model, Tensor, Weights, with_model};
use crate::train::run::Limit;
use checkpoint::{Checkpoint, Entry, Meta};

pub use card::card;

/// The version of the folder's layout.
const VERSION: u32 = 1;
/// The file that learning goes on from.
pub(crate) const STATE: &str = "state.safetensors";
const WEIGHTS: &str = "weights.safetensors";

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
    /// Number of queries that it was given to learn from; none if they are sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub examples: Option<usize>,
}

/// `model.toml`
#[derive(Serialize)]
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

    /// Whether there are weights to use it with.
    pub fn has_weights(&self) -> bool {
        self.file(WEIGHTS).exists()
    }

    /// Refuses a path at which no model can be started: there must be nothing, or a folder that is
    /// empty. What a start of this very model left there when it was killed does not count.
    pub fn check_free(&self, graph: &Graph) -> Result<()> {
        let refused = |what: &str| Err(Error::corrupt(&self.path, what));
        match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io(&self.path)(error)),
            Ok(found) if !found.is_dir() => return refused("this is a file: name a folder"),
            Ok(_) => {}
        }
        for entry in std::fs::read_dir(&self.path).map_err(Error::io(&self.path))? {
            let name = entry.map_err(Error::io(&self.path))?.file_name();
            let is_ours = || {
                let found = Graph::open(self.file("graph.kg"));
                found.is_ok_and(|found| found.fingerprint() == graph.fingerprint())
            };
            if is_partial(&name) || (name == "graph.kg" && !self.has_model() && is_ours()) {
                continue;
            }
            return match self.has_model() {
                true => refused("there is a model already: name another folder, or --resume it"),
                false => refused("this folder is not empty: name another one"),
            };
        }
        Ok(())
    }

    /// Starts a model here; see [`Folder::check_free`].
    pub fn create(
        &self,
        graph: &Graph,
        config: &Config,
        limit: Limit,
        examples: Option<usize>,
    ) -> Result<About> {
        self.check_free(graph)?;
        let is_new = !self.path.exists();
        std::fs::create_dir_all(&self.path).map_err(Error::io(&self.path))?;
        let about = About {
            format_version: VERSION,
            skolem: env!("CARGO_PKG_VERSION").into(),
            graph: format!("{:016x}", graph.fingerprint()),
            entities: graph.entity_count(),
            relations: graph.relation_count(),
            limit,
            examples,
        };
        let written = remove_partial(&self.path)
            // The description comes last: with it, all that a model needs is there.
            .and_then(|()| graph.write(self.file("graph.kg")))
            .map_err(Error::from)
            .and_then(|()| self.describe(&about, config));
        if written.is_err() && is_new {
            // The disk is full, or the like. What matters is that error.
            let _ = std::fs::remove_file(self.file("graph.kg"));
            let _ = std::fs::remove_dir(&self.path);
        }
        written.map(|()| about)
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
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::corrupt(&self.path, "there is no model here (no file model.toml)")
            }
            _ => Error::io(&path)(error),
        })?;
        let wrong = |what: String| Error::corrupt(&path, what);
        let mut table: toml::Table =
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
        let about = table.remove("about").map(Value::try_into).transpose();
        let about = about.map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
        let about = about.ok_or_else(|| wrong("it says nothing of its model".into()))?;
        let config = Config::stored(table).map_err(|error| wrong(error.to_string()))?;
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
    pub fn open(&self) -> Result<(Config, Graph, Weights<f32>)> {
        let (about, config) = self.description()?;
        let graph = self.graph(&about)?;
        let path = self.file(WEIGHTS);
        if !self.has_weights() {
            return Err(Error::corrupt(
                &path,
                "nothing is learnt yet: go on with skolem train --resume",
            ));
        }
        let mut file = Checkpoint::read(&path)?;
        let weights = with_model!(&config.model, |model| take_weights(&mut file, model, &about))?;
        Ok((config, graph, weights))
    }

    /// Writes the weights that the model is used with.
    pub fn write_weights(&self, weights: &Weights<f32>, meta: &Meta) -> Result<()> {
        checkpoint::write(&self.file(WEIGHTS), &entries_of(weights), meta)
    }
}

/// The tensors of weights as entries of a file.
pub fn entries_of(weights: &Weights<f32>) -> Vec<Entry<'_>> {
    let entry = |tensor| {
        let Tensor { name, shape, data }: &Tensor<f32> = tensor;
        Entry { name: name.clone(), shape: shape.clone(), data }
    };
    weights.all().map(entry).collect()
}

/// Takes weights out of a file; they must fit the model.
pub fn take_weights<M: Model<f32>>(
    file: &mut Checkpoint,
    model: &M,
    about: &About,
) -> Result<Weights<f32>> {
    // Made without drawing numbers for every entity: only names and shapes matter here.
    let mut weights: Weights<f32> = model.weights(0, 0, &mut Rng::new(0));
    weights.entities.shape[0] = about.entities;
    weights.relations.shape[0] = about.relations;
    for tensor in weights.all_mut() {
        tensor.data = file.take(&tensor.name, &tensor.shape)?;
    }
    Ok(weights)
}
