//! Writes query sets.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::Names;
use crate::dataset::code::put_answers;
use crate::dataset::pickle::write::{
    BEGIN, END, END_SET, PAIRS, PUT_PAIRS, SET, put_set, put_shape, put_tuple,
};
use crate::dataset::{Answers, Example, ExampleWriter, check};
use crate::error::{Error, Result};
use crate::id::Entity;
use crate::query::tuple::Tuple;
use crate::split::Split;
use crate::store::AtomicFile;

/// Writes the pickles of a split into a folder. Answers go to their files at once; of the queries,
/// which are grouped by shape, a few bytes each stay in memory.
///
/// Either all queries come with their answers listed or none, and then only the queries are
/// written. As these files are dicts and sets, a query that comes twice is written once.
pub struct Writer {
    names: Names,
    split: Split,
    /// Pickled shapes, and the pickled queries of each.
    groups: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Queries written so far, with their answers: each as a number that stands for it.
    seen: HashMap<u128, u64>,
    /// None once the set turned out to have no answers.
    sides: Option<Vec<AnswersFile>>,
    started: bool,
}

struct AnswersFile {
    out: AtomicFile,
    bytes: Vec<u8>,
    pairs: usize,
}

/// Pairs put into a dict at once: Python does the same, since they wait on the reader's stack.
const RUN: usize = 1000;

impl Writer {
    /// Starts the files of a split in a folder.
    pub fn create(folder: &Path, split: Split) -> Result<Writer> {
        let names = Names { folder: folder.to_owned(), set: split.name().to_owned() };
        let files: &[&str] = match split {
            Split::Train => &["answers"],
            Split::Valid | Split::Test => &["easy-answers", "hard-answers"],
        };
        let sides = files.iter().map(|file| AnswersFile::create(&names.file(file)));
        let sides = Some(sides.collect::<Result<Vec<_>>>()?);
        let (groups, seen) = (BTreeMap::new(), HashMap::new());
        Ok(Writer { names, split, groups, seen, sides, started: false })
    }

    /// Starts the files of the split that the path of its queries names.
    pub fn at(path: &Path) -> Result<Writer> {
        let names = Names::of(path)?;
        let split = names.set.parse().map_err(|error| Error::unusable(path, error))?;
        Writer::create(&names.folder, split)
    }

    /// The lists of answers that this split has files for, or none of them.
    fn lists<'a>(&self, example: &'a Example) -> Result<Option<Vec<&'a [Entity]>>> {
        let wrong = |message: &str| {
            let tuple = serde_json::to_string(&Tuple::of(&example.query)).unwrap_or_default();
            Error::unusable(self.names.file("queries"), format!("{message} (query {tuple})"))
        };
        match (self.split, &example.easy, &example.hard) {
            (_, Answers::Unknown, Answers::Unknown) => Ok(None),
            (Split::Train, Answers::Listed(easy), hard) => match hard.count() {
                None | Some(0) => Ok(Some(vec![easy])),
                Some(_) => Err(wrong("a training set has no hard answers")),
            },
            (_, Answers::Listed(easy), Answers::Listed(hard)) => Ok(Some(vec![easy, hard])),
            _ => Err(wrong("the answers must be listed, or not be given at all")),
        }
    }
}

impl ExampleWriter for Writer {
    fn write(&mut self, example: &Example) -> Result<()> {
        check(example)?;
        let lists = self.lists(example)?;
        if !std::mem::replace(&mut self.started, true) && lists.is_none() {
            self.sides = None;
        }
        if lists.is_some() != self.sides.is_some() {
            let message = "some queries have their answers listed and others have not";
            return Err(Error::unusable(self.names.file("queries"), message));
        }
        let tuple = Tuple::of(&example.query);
        let (mut shape, mut query, mut answers) = (vec![], vec![], vec![]);
        put_shape(&mut shape, &tuple);
        put_tuple(&mut query, &tuple);
        put_answers(&mut answers, &example.easy);
        put_answers(&mut answers, &example.hard);
        let answers = xxh3_64(&answers);
        match self.seen.insert(xxh3_128(&query), answers) {
            None => {}
            Some(before) if before == answers => return Ok(()),
            Some(_) => {
                let tuple = serde_json::to_string(&tuple).unwrap_or_default();
                let message = format!("the query {tuple} comes twice, with different answers");
                return Err(Error::unusable(self.names.file("queries"), message));
            }
        }
        for (side, list) in self.sides.iter_mut().flatten().zip(lists.unwrap_or_default()) {
            side.put(&query, list)?;
        }
        self.groups.entry(shape).or_default().extend_from_slice(&query);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let path: PathBuf = self.names.file("queries");
        let mut out = AtomicFile::create(&path)?;
        let mut put = |bytes: &[u8]| out.write_all(bytes).map_err(Error::io(&path));
        put(BEGIN)?;
        put(PAIRS)?;
        for (shape, queries) in &self.groups {
            [shape, SET, queries, END_SET].into_iter().try_for_each(&mut put)?;
        }
        put(PUT_PAIRS)?;
        put(END)?;
        // The queries come last: where they are, the answers are.
        for side in self.sides.into_iter().flatten() {
            side.finish()?;
        }
        out.commit()
    }
}

impl AnswersFile {
    fn create(path: &Path) -> Result<AnswersFile> {
        let mut file =
            AnswersFile { out: AtomicFile::create(path)?, bytes: BEGIN.to_vec(), pairs: 0 };
        file.bytes.extend_from_slice(PAIRS);
        Ok(file)
    }

    fn put(&mut self, query: &[u8], answers: &[Entity]) -> Result<()> {
        self.bytes.extend_from_slice(query);
        put_set(&mut self.bytes, answers);
        self.pairs += 1;
        if self.pairs.is_multiple_of(RUN) {
            self.bytes.extend_from_slice(&[PUT_PAIRS, PAIRS].concat());
        }
        self.flush()
    }

    fn finish(mut self) -> Result<()> {
        self.bytes.extend_from_slice(&[PUT_PAIRS, END].concat());
        self.flush()?;
        self.out.commit()
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.bytes).map_err(Error::io(self.out.path()))?;
        self.bytes.clear();
        Ok(())
    }
}
