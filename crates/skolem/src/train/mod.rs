//! Learning: batches made in the background, updates, evaluations and checkpoints.

pub mod batch;
pub mod feed;
pub mod first;
pub mod run;
pub mod schedule;
mod score;
pub mod update;
