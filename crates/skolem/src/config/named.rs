//! Settings that are one of a few names: written as text, read with a message that lists them.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de};

/// Writes the name.
pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

/// Reads the name.
pub fn deserialize<'a, T: FromStr<Err: Display>, D: Deserializer<'a>>(
    from: D,
) -> Result<T, D::Error> {
    String::deserialize(from)?.parse().map_err(de::Error::custom)
}
