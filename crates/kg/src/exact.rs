//! Exact answers (being written).
/// Why an evaluation stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stop {
    /// Cancelled.
    #[error("cancelled")]
    Cancelled,
}
