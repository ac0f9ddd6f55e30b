//! Query sets: queries with their answers, and the files that hold them.
//!
//! | file | module | what it is |
//! |---|---|---|
//! | `.jsonl`, `.jsonl.gz` | [`jsonl`] | one JSON object a line, for people and other programs |
//! | `.skq` | [`compact`] | our own: small, checksummed, read and written as a stream |
//! | `*-queries.pkl` | [`kgreasoning`] | KGReasoning's pickles, with the answers files beside them |
//!
//! [`read`] and [`create`] choose by the name of the file. Every writer works as a stream and its
//! files appear only when it is finished.

mod code;
pub mod compact;
mod compare;
mod folder;
mod input;
pub mod jsonl;
pub mod kgreasoning;
pub mod pickle;
mod summary;

pub use compare::{Comparison, Difference, ShapeComparison, compare};
pub use folder::{check_origin, files, files_if_any, fits, has_word};
pub use summary::{ShapeSummary, Summary};

use std::path::Path;

use crate::error::{Error, Result};
use crate::id::Entity;
use crate::query::tuple::Tuple;
use crate::query::{MOST_DEPTH, Query};
use crate::split::Split;

/// The largest query of a set, in terms.
pub const MOST_TERMS: usize = 1 << 16;

/// A query and what is known of its answers.
///
/// In a training set, which has one graph alone, all answers are `easy` and none is `hard`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// What is asked.
    pub query: Query,
    /// Answers that the smaller split's graph entails.
    pub easy: Answers,
    /// Answers that only the larger split's graph entails.
    pub hard: Answers,
}

/// What a file says of the answers to a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answers {
    /// Nothing.
    Unknown,
    /// How many there are.
    Count(usize),
    /// Which they are: sorted and distinct.
    Listed(Vec<Entity>),
}

impl Answers {
    /// These answers, put in order.
    pub fn listed(mut entities: Vec<Entity>) -> Answers {
        entities.sort_unstable();
        entities.dedup();
        Answers::Listed(entities)
    }

    /// How many there are, if the file says so.
    pub fn count(&self) -> Option<usize> {
        match self {
            Answers::Unknown => None,
            Answers::Count(count) => Some(*count),
            Answers::Listed(entities) => Some(entities.len()),
        }
    }
}

/// Where a query set comes from: what the compact format notes in its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Fingerprint of the graph it was sampled from; zero if that is not known.
    pub graph: u64,
    /// The split it belongs to.
    pub split: Option<Split>,
}

/// The queries of a set, one after the other.
pub type Examples = Box<dyn Iterator<Item = Result<Example>> + Send>;

/// Takes the queries of a set one by one.
pub trait ExampleWriter: Send {
    /// Adds a query.
    fn write(&mut self, example: &Example) -> Result<()>;
    /// Makes the files appear. Without this nothing is left behind.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The formats of query sets, which the name of a file tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `.jsonl`
    JsonLines,
    /// `.jsonl.gz`
    JsonLinesGzip,
    /// `.skq`
    Compact,
    /// `*-queries.pkl`
    KgReasoning,
}

impl Format {
    /// The format that the name of a file stands for.
    pub fn of(path: &Path) -> Result<Format> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let endings = [
            (".jsonl", Format::JsonLines),
            (".jsonl.gz", Format::JsonLinesGzip),
            (".skq", Format::Compact),
            (kgreasoning::QUERIES, Format::KgReasoning),
        ];
        let found = endings.into_iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, format)| format).ok_or_else(|| {
            let known = endings.map(|(ending, _)| format!("*{ending}")).join(", ");
            Error::unusable(path, format!("its name is that of no query set (one of {known})"))
        })
    }
}

/// Reads a query set, in the format that its name tells.
pub fn read(path: &Path) -> Result<Examples> {
    Ok(match Format::of(path)? {
        Format::JsonLines | Format::JsonLinesGzip => Box::new(jsonl::open(path)?),
        Format::Compact => Box::new(compact::open(path)?),
        Format::KgReasoning => Box::new(kgreasoning::open(path)?),
    })
}

/// Where a query set comes from, as far as its file tells.
pub fn origin(path: &Path) -> Result<Origin> {
    Ok(match Format::of(path)? {
        Format::Compact => compact::open(path)?.origin(),
        _ => Origin::default(),
    })
}

/// Starts a query set, in the format that its name tells.
pub fn create(path: &Path, origin: Origin) -> Result<Box<dyn ExampleWriter>> {
    Ok(match Format::of(path)? {
        Format::JsonLines | Format::JsonLinesGzip => Box::new(jsonl::Writer::create(path)?),
        Format::Compact => Box::new(compact::Writer::create(path, origin)?),
        Format::KgReasoning => Box::new(kgreasoning::Writer::at(path)?),
    })
}

/// The next example of a reader that ends at its first error, since nothing after it can be trusted.
fn until_failed<R>(
    reader: &mut R,
    done: fn(&mut R) -> &mut bool,
    step: fn(&mut R) -> Result<Option<Example>>,
) -> Option<Result<Example>> {
    if *done(reader) {
        return None;
    }
    let next = step(reader);
    *done(reader) = !matches!(next, Ok(Some(_)));
    next.transpose()
}

/// Refuses what a reader would refuse, before it is in a file.
fn check(example: &Example) -> Result<()> {
    check_query(&example.query)?;
    for answers in [&example.easy, &example.hard] {
        if let Answers::Listed(entities) = answers
            && !entities.is_sorted_by(|before, after| before < after)
        {
            return Err(Error::Setting("answers must be sorted and distinct".into()));
        }
    }
    Ok(())
}

/// The query of a tuple, if every format can hold it.
fn query_of(tuple: &Tuple) -> Result<Query> {
    // A union's mark counts as a step here, so this bound is a loose one. It comes first since one
    // long tuple of steps would make a query too deep to walk, or even to drop.
    if depth_of(tuple) > 2 * MOST_DEPTH {
        return Err(too_large("depth", format!("{MOST_DEPTH} levels")));
    }
    let query = tuple.to_query()?;
    check_query(&query).map(|()| query)
}

/// At least the depth of the query that a tuple stands for.
fn depth_of(tuple: &Tuple) -> usize {
    let Tuple::Parts(parts) = tuple else { return 0 };
    let is_steps = |tuple: &Tuple| match tuple {
        Tuple::Parts(parts) => parts.iter().all(|part| matches!(part, Tuple::Number(_))),
        Tuple::Number(_) => false,
    };
    let (mut sets, mut steps) = (0, 0);
    for part in parts {
        match part {
            Tuple::Parts(numbers) if is_steps(part) => steps = numbers.len().max(steps),
            set => sets = depth_of(set).max(sets),
        }
    }
    1 + sets + steps
}

/// Refuses a query that not every format can hold.
fn check_query(query: &Query) -> Result<()> {
    check_term(query, MOST_DEPTH, &mut 0)
}

fn check_term(query: &Query, depth: usize, terms: &mut usize) -> Result<()> {
    *terms += 1;
    if *terms > MOST_TERMS {
        return Err(too_large("size", format!("{MOST_TERMS} terms")));
    }
    let Some(depth) = depth.checked_sub(1) else {
        return Err(too_large("depth", format!("{MOST_DEPTH} levels")));
    };
    if matches!(query, Query::And(parts) | Query::Or(parts) if parts.is_empty()) {
        return Err(Error::Setting("an intersection or union of nothing has no meaning".into()));
    }
    query.operands().iter().try_for_each(|part| check_term(part, depth, terms))
}

fn too_large(what: &str, limit: String) -> Error {
    Error::TooLarge { what: format!("the {what} of a query"), limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Relation;

    fn example(query: Query) -> Example {
        Example { query, easy: Answers::Unknown, hard: Answers::Unknown }
    }

    #[test]
    fn names_of_files_tell_the_format() {
        for (name, format) in [
            ("a.jsonl", Format::JsonLines),
            ("x/a.JSONL.gz", Format::JsonLinesGzip),
            ("a.skq", Format::Compact),
            ("test-queries.pkl", Format::KgReasoning),
        ] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), format);
        }
        let error = read(Path::new("a.csv")).err().unwrap().to_string();
        assert_eq!(
            error,
            "a.csv: its name is that of no query set (one of *.jsonl, *.jsonl.gz, *.skq, *-queries.pkl)"
        );
    }

    #[test]
    fn a_tuple_of_very_many_steps_is_no_query() {
        let steps = |len| Tuple::Parts(vec![Tuple::Number(1); len]);
        let chain = |len| Tuple::Parts(vec![Tuple::Number(1), steps(len)]);
        assert_eq!(query_of(&chain(MOST_DEPTH - 1)).unwrap().depth(), MOST_DEPTH);
        for len in [MOST_DEPTH, 2 * MOST_DEPTH, 1_000_000] {
            assert!(query_of(&chain(len)).unwrap_err().to_string().contains("depth"), "{len}");
        }
        let twice = Tuple::Parts(vec![chain(40), steps(40)]);
        assert!(query_of(&twice).is_err());
    }

    #[test]
    fn what_no_reader_would_take_is_not_written() {
        let anchor = Query::Anchor(Entity(1));
        check(&example(anchor.clone())).unwrap();
        assert!(check(&example(Query::And(vec![]))).is_err());
        let deep = (0..MOST_DEPTH).fold(anchor.clone(), |query, _| query.follow(Relation(0)));
        assert!(check(&example(deep)).is_err());
        assert!(check(&example(Query::Or(vec![anchor.clone(); MOST_TERMS]))).is_err());
        let mut unsorted = example(anchor);
        unsorted.easy = Answers::Listed(vec![Entity(2), Entity(2)]);
        assert!(check(&unsorted).is_err());
        unsorted.easy = Answers::listed(vec![Entity(2), Entity(1), Entity(2)]);
        assert_eq!(unsorted.easy.count(), Some(2));
        check(&unsorted).unwrap();
    }
}
