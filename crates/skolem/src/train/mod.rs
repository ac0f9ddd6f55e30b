//! Learning.

pub mod batch;
pub mod update;
