//! Graphs and questions: what Skolem does before any learning.

pub mod dataset;
pub mod error;
pub mod exact;
pub mod graph;
pub mod id;
pub mod load;
pub mod query;
pub mod rng;
pub mod sample;
pub mod split;
pub mod store;
mod unpack;
pub mod vocab;

pub use error::{Error, Kind, Place, Result};
pub use graph::{Batch, Counted, Edges, Graph, GraphBuilder, RelationStats, Stats};
pub use id::{Entity, Relation};
pub use query::{Names, Query, Question, Shape};
pub use split::Split;
pub use vocab::Vocab;
