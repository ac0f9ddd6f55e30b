//! Reads query sets.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::Names;
use super::walk::Walk;
use crate::dataset::code::put_query;
use crate::dataset::pickle::Value;
use crate::dataset::{Answers, Example, until_failed};
use crate::error::{Error, Result};
use crate::query::{Query, Shape};

/// The files of a query set, in memory.
pub struct Files<'a> {
    /// The file of queries, for messages.
    pub path: &'a Path,
    /// Its bytes.
    pub queries: &'a [u8],
    /// The file of easy answers, or of all of them for training.
    pub easy: Option<(&'a Path, &'a [u8])>,
    /// The file of hard answers.
    pub hard: Option<(&'a Path, &'a [u8])>,
    /// Whether a query has no hard answers when there is no file of them.
    pub training: bool,
}

/// Opens a `*-queries.pkl`, and the files of answers that lie beside it.
pub fn open(path: &Path) -> Result<Reader> {
    let names = Names::of(path)?;
    let training = names.file("answers");
    let [easy, hard] = ["easy-answers", "hard-answers"].map(|what| names.file(what));
    let training = (!easy.exists() && !hard.exists() && training.exists()).then_some(training);
    let read = |path: PathBuf| -> Result<(PathBuf, Vec<u8>)> {
        let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
        Ok((path, bytes))
    };
    let mut reader = Reader::new(&read(path.to_owned())?.1, path)?;
    // One after the other: files of answers are large.
    if let Some(path) = &training {
        reader.easy = Side::new(&read(path.clone())?.1, path)?;
        reader.hard = Side::Nothing;
    }
    for (path, side) in [(easy, &mut reader.easy), (hard, &mut reader.hard)] {
        if path.exists() {
            *side = Side::new(&read(path.clone())?.1, &path)?;
        }
    }
    Ok(reader)
}

/// Gives the queries of a set one by one, shape by shape.
pub struct Reader {
    queries: Walk,
    /// What the dict holds: shapes and their sets of queries.
    groups: Vec<(Shape, Value)>,
    group: usize,
    /// The next query of this group.
    at: usize,
    /// Queries of this group met so far: a pickled set may hold one twice.
    seen: HashSet<u128>,
    given: usize,
    easy: Side,
    hard: Side,
    path: PathBuf,
    done: bool,
}

/// What is known of one kind of answers.
enum Side {
    Unknown,
    /// There are none.
    Nothing,
    File {
        walk: Walk,
        sets: HashMap<u128, Value>,
        found: usize,
        path: PathBuf,
    },
}

impl Reader {
    /// Reads a set from memory.
    pub fn from_files(files: &Files<'_>) -> Result<Reader> {
        let mut reader = Reader::new(files.queries, files.path)?;
        let side = |file: Option<(&Path, &[u8])>| match file {
            Some((path, bytes)) => Side::new(bytes, path),
            None => Ok(Side::Unknown),
        };
        reader.easy = side(files.easy)?;
        reader.hard = side(files.hard)?;
        if files.training && matches!(reader.hard, Side::Unknown) {
            reader.hard = Side::Nothing;
        }
        Ok(reader)
    }

    fn new(queries: &[u8], path: &Path) -> Result<Reader> {
        let mut queries = Walk::new(queries, path)?;
        let mut groups: Vec<(Shape, Value)> = Vec::new();
        let mut places: HashMap<Shape, usize> = HashMap::new();
        for at in 0..queries.dict()?.len() {
            let (key, set) = queries.dict()?[at];
            let shape = queries.shape(key)?;
            // As in a dict, of two equal keys the last one counts.
            match places.entry(shape.clone()) {
                Entry::Occupied(place) => groups[*place.get()].1 = set,
                Entry::Vacant(place) => {
                    place.insert(groups.len());
                    groups.push((shape, set));
                }
            }
        }
        Ok(Reader {
            queries,
            groups,
            group: 0,
            at: 0,
            seen: HashSet::new(),
            given: 0,
            easy: Side::Unknown,
            hard: Side::Unknown,
            path: path.to_owned(),
            done: false,
        })
    }

    fn step(&mut self) -> Result<Option<Example>> {
        while let Some((shape, set)) = self.groups.get(self.group) {
            let (items, is_set) = self.queries.items(*set)?;
            let Some(value) = items.get(self.at) else {
                self.seen.clear();
                (self.group, self.at) = (self.group + 1, 0);
                continue;
            };
            self.at += 1;
            let query = self.queries.query(value)?;
            let found = query.shape();
            if found != *shape && found.canonical() != shape.canonical() {
                let message = format!("has a query of shape {found} under {shape}");
                return Err(Error::unusable(&self.path, message));
            }
            let key = key_of(&query);
            if is_set && !self.seen.insert(key) {
                continue;
            }
            self.given += 1;
            let (easy, hard) = (self.easy.answers(key)?, self.hard.answers(key)?);
            return Ok(Some(Example { query, easy, hard }));
        }
        for side in [&self.easy, &self.hard] {
            if let Side::File { sets, found: 0, path, .. } = side
                && self.given > 0
                && !sets.is_empty()
            {
                let message = format!("answers none of the queries of {}", self.path.display());
                return Err(Error::unusable(path, message));
            }
        }
        Ok(None)
    }
}

impl Iterator for Reader {
    type Item = Result<Example>;

    fn next(&mut self) -> Option<Self::Item> {
        until_failed(self, |reader| &mut reader.done, Self::step)
    }
}

impl Side {
    fn new(bytes: &[u8], path: &Path) -> Result<Side> {
        let mut walk = Walk::new(bytes, path)?;
        let mut sets = HashMap::new();
        for at in 0..walk.dict()?.len() {
            let (query, set) = walk.dict()?[at];
            sets.insert(key_of(&walk.query(query)?), set);
        }
        Ok(Side::File { walk, sets, found: 0, path: path.to_owned() })
    }

    fn answers(&mut self, key: u128) -> Result<Answers> {
        match self {
            Side::Unknown => Ok(Answers::Unknown),
            Side::Nothing => Ok(Answers::Listed(vec![])),
            Side::File { walk, sets, found, .. } => match sets.get(&key) {
                Some(set) => {
                    *found += 1;
                    walk.entities(*set)
                }
                None => Ok(Answers::Listed(vec![])),
            },
        }
    }
}

/// A number that stands for a query: equal by chance once in 10³⁸ pairs.
fn key_of(query: &Query) -> u128 {
    let mut code = Vec::with_capacity(32);
    put_query(&mut code, query);
    xxh3_128(&code)
}
