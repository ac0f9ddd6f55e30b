//! Laws (being written).

/// Reads set logic.
pub fn parse(_: &str, _: &dyn super::Names) -> crate::Result<super::Query> {
    Err(crate::Error::Setting("later".into()))
}
