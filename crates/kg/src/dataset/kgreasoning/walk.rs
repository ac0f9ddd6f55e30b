//! From the values of a pickle to queries, with a bound on the work.

use std::path::{Path, PathBuf};

use crate::dataset::pickle::{Items, Pickle, Value, View};
use crate::dataset::{Answers, query_of};
use crate::error::{Error, Result};
use crate::id::Entity;
use crate::query::tuple::{NOT, OR, Tuple};
use crate::query::{MOST_DEPTH, Query, Shape};

/// A pickle and how much of it may still be walked. A tuple may hold another one many times over,
/// so that a short file can stand for more than any memory; an honest one shares little.
pub(super) struct Walk {
    pickle: Pickle,
    path: PathBuf,
    budget: usize,
}

/// Work that any file may ask for, and what each of its bytes adds to it.
const BUDGET: usize = 1 << 20;
const BUDGET_PER_BYTE: usize = 16;

impl Walk {
    /// Reads a pickle; the path is for messages.
    pub(super) fn new(bytes: &[u8], path: &Path) -> Result<Walk> {
        let budget = BUDGET.saturating_add(bytes.len().saturating_mul(BUDGET_PER_BYTE));
        Ok(Walk { pickle: super::unpickle(bytes, path)?, path: path.to_owned(), budget })
    }

    /// The pairs of the dict that the whole pickle must be.
    pub(super) fn dict(&self) -> Result<&[(Value, Value)]> {
        match self.pickle.view(self.pickle.root()) {
            View::Dict(pairs) => Ok(pairs),
            other => Err(self.wrong(format!("holds {} and should hold a dict", other.kind()))),
        }
    }

    /// The elements of a set or list, and whether it is a set.
    pub(super) fn items(&self, value: Value) -> Result<(Items<'_>, bool)> {
        match self.pickle.view(value) {
            View::Set(items) => Ok((items, true)),
            View::List(items) => Ok((items, false)),
            other => Err(self.wrong(format!("has {} in the place of a set", other.kind()))),
        }
    }

    /// A value as a query.
    pub(super) fn query(&mut self, value: Value) -> Result<Query> {
        let tuple = self.tuple(value, MOST_DEPTH)?;
        query_of(&tuple).map_err(|error| self.wrong(error.to_string()))
    }

    /// A value as a shape: a tuple of letters, or a name.
    pub(super) fn shape(&mut self, value: Value) -> Result<Shape> {
        if let View::Text(name) = self.pickle.view(value) {
            return name.parse().map_err(|error: Error| self.wrong(error.to_string()));
        }
        Ok(self.query(value)?.shape())
    }

    /// A value as a set of entities.
    pub(super) fn entities(&mut self, value: Value) -> Result<Answers> {
        let len = self.items(value)?.0.len();
        self.spend(len)?;
        match self.items(value)?.0 {
            Items::Ints(ints) => Ok(Answers::listed(ints.iter().copied().map(Entity).collect())),
            Items::Values(values) => {
                let entity = |value: &Value| match self.pickle.view(*value) {
                    View::Int(int) => u32::try_from(int).ok().map(Entity),
                    _ => None,
                };
                let entities = values.iter().map(entity).collect::<Option<Vec<Entity>>>();
                let entities = entities.ok_or_else(|| {
                    self.wrong("has an answer that is not the number of an entity".into())
                })?;
                Ok(Answers::listed(entities))
            }
        }
    }

    /// A tuple; the letters of shapes become numbers of the same kind.
    fn tuple(&mut self, value: Value, depth: usize) -> Result<Tuple> {
        self.spend(1)?;
        let parts = match self.pickle.view(value) {
            View::Int(int) => return Ok(Tuple::Number(int)),
            View::Text("e" | "r") => return Ok(Tuple::Number(0)),
            View::Text("n") => return Ok(Tuple::Number(NOT)),
            View::Text("u") => return Ok(Tuple::Number(OR)),
            View::Tuple(parts) if depth > 0 => parts.len(),
            View::Tuple(_) => return Err(self.wrong("has a tuple that is too deep".into())),
            other => {
                return Err(self.wrong(format!("has {} in the place of a tuple", other.kind())));
            }
        };
        let part = |walk: &Walk, at: usize| match walk.pickle.view(value) {
            View::Tuple(parts) => parts[at],
            _ => value,
        };
        (0..parts)
            .map(|at| {
                let part = part(self, at);
                self.tuple(part, depth - 1)
            })
            .collect::<Result<_>>()
            .map(Tuple::Parts)
    }

    fn spend(&mut self, work: usize) -> Result<()> {
        match self.budget.checked_sub(work) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(self.wrong("holds the same values too many times over".into())),
        }
    }

    fn wrong(&self, message: String) -> Error {
        Error::unusable(&self.path, message)
    }
}
