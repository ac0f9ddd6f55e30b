//! First-order logic (being written).
/// Why a formula is no question.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// A cycle.
    #[error("cycle")]
    Cycle,
}

/// Reads a formula.
pub fn parse(_: &str, _: &dyn super::Names) -> crate::Result<(String, super::Query)> {
    Err(crate::Error::Setting("later".into()))
}
