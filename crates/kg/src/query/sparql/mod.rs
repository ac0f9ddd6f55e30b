//! SPARQL 1.1, as far as set logic goes: one projected variable, basic graph patterns, `UNION`,
//! `FILTER NOT EXISTS`, `FILTER EXISTS`, `MINUS`, one-variable `VALUES`, equality with a constant,
//! the property paths `/ ^ |`, `DISTINCT` and `LIMIT`. Everything else is refused by name.
//!
//! Names that are no IRIs are relative ones: `<France>`, `:France` or `<United%20States>`; an
//! underscore may stand for a space, as in `:United_States`.

mod parse;
mod print;
mod translate;

pub use parse::parse;
pub use print::print;

/// What relative IRIs and the empty prefix stand for.
pub const BASE: &str = "skolem:/";
