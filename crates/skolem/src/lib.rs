//! Learns logic embeddings of a knowledge graph and answers logical questions with them.

pub mod error;

pub use error::{Error, Result};
