//! Learns logic embeddings of a knowledge graph and answers logical questions with them.

pub mod answer;
pub mod config;
pub mod error;
pub mod evaluate;
pub mod model;
pub mod pass;
pub mod program;
pub mod report;
pub mod store;
pub mod train;

pub use config::Config;
pub use error::{Error, Result};
