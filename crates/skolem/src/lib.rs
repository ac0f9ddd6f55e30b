//! Learns logic embeddings of a knowledge graph and answers logical questions with them.

pub mod error;
pub mod model;
pub mod pass;
pub mod program;
pub mod train;

pub use error::{Error, Result};
