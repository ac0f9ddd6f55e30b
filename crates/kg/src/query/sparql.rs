//! Laws (being written).

/// Reads SPARQL.
pub fn parse(_: &str, _: &dyn super::Names) -> crate::Result<super::Question> {
    Err(crate::Error::Setting("later".into()))
}
