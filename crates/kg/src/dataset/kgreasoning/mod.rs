//! KGReasoning's query sets: pickled dicts from shapes to queries and from queries to answers.
//!
//! | file | what it holds |
//! |---|---|
//! | `{split}-queries.pkl` | shape → set of queries, both as nested tuples |
//! | `train-answers.pkl` | query → set of answers; all of them count as easy |
//! | `{split}-easy-answers.pkl`, `{split}-hard-answers.pkl` | the same for valid and test |
//! | `id2ent.pkl`, `ent2id.pkl`, … | names of numbers, see [`read_id_names`] |
//!
//! As in Python, a query that an answers file does not mention has no answers.

mod names;
mod read;
#[cfg(test)]
mod tests;
mod walk;
mod write;

pub use names::read_id_names;
pub use read::{Files, Reader, open};
pub use write::Writer;

use std::path::{Path, PathBuf};

use super::pickle::{Pickle, parse};
use crate::error::{Error, Result};

/// How the name of a file of queries ends.
pub(super) const QUERIES: &str = "-queries.pkl";

/// Where the parts of a query set lie.
struct Names {
    folder: PathBuf,
    set: String,
}

impl Names {
    /// From the path of the file of queries.
    fn of(path: &Path) -> Result<Names> {
        let name = path.file_name().and_then(|name| name.to_str());
        let set = name.and_then(|name| name.strip_suffix(QUERIES)).ok_or_else(|| {
            Error::unusable(path, "is not the file of queries (its name ends in -queries.pkl)")
        })?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Names { folder, set: set.to_owned() })
    }

    fn file(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}-{what}.pkl", self.set))
    }
}

/// Reads a pickle, its errors told with the path.
fn unpickle(bytes: &[u8], path: &Path) -> Result<Pickle> {
    parse(bytes).map_err(|error| match error.refused {
        true => Error::unusable(path, error.to_string()),
        false => Error::corrupt(path, error.to_string()),
    })
}
