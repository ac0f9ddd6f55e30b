//! Queries and answers as bytes: what the compact format stores, and a key to look queries up by.
//!
//! Numbers are written seven bits a byte, lowest first. A query is its terms, each before those
//! under it: one number, of which the low three bits tell the kind of the term and the rest its
//! entity, its relation, or how many operands follow. Answers start with a number of which the low
//! two bits tell what is known and the rest how many there are; a list goes on with the first
//! entity and the gaps between neighbours less one, so that any list that can be read is in order.

use super::{Answers, Example, MOST_TERMS};
use crate::id::{Entity, Relation};
use crate::query::{MOST_DEPTH, Query};

const ANCHOR: u64 = 0;
const FOLLOW: u64 = 1;
const AND: u64 = 2;
const OR: u64 = 3;
const NOT: u64 = 4;

const UNKNOWN: u64 = 0;
const COUNT: u64 = 1;
const LISTED: u64 = 2;

/// What does not fit, when bytes are not what [`put_example`] writes.
pub(super) type Decoded<T> = Result<T, &'static str>;

/// Appends a query and its answers.
pub(super) fn put_example(out: &mut Vec<u8>, example: &Example) {
    put_query(out, &example.query);
    put_answers(out, &example.easy);
    put_answers(out, &example.hard);
}

/// Appends a query; two queries are the same exactly when their bytes are.
pub(super) fn put_query(out: &mut Vec<u8>, query: &Query) {
    let (kind, number) = match query {
        Query::Anchor(entity) => (ANCHOR, u64::from(entity.0)),
        Query::Follow(relation, _) => (FOLLOW, u64::from(relation.0)),
        Query::And(parts) => (AND, parts.len() as u64),
        Query::Or(parts) => (OR, parts.len() as u64),
        Query::Not(_) => (NOT, 0),
    };
    put_number(out, number << 3 | kind);
    query.operands().iter().for_each(|part| put_query(out, part));
}

/// Appends what is known of answers.
pub(super) fn put_answers(out: &mut Vec<u8>, answers: &Answers) {
    match answers {
        Answers::Unknown => put_number(out, UNKNOWN),
        Answers::Count(count) => put_number(out, (*count as u64) << 2 | COUNT),
        Answers::Listed(entities) => {
            put_number(out, (entities.len() as u64) << 2 | LISTED);
            let mut next = 0;
            for entity in entities {
                put_number(out, u64::from(entity.0).wrapping_sub(next));
                next = u64::from(entity.0) + 1;
            }
        }
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Bytes still to be decoded.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    /// A query and its answers.
    pub(super) fn example(&mut self) -> Decoded<Example> {
        let query = self.query()?;
        Ok(Example { query, easy: self.answers()?, hard: self.answers()? })
    }

    /// A query.
    pub(super) fn query(&mut self) -> Decoded<Query> {
        self.term(MOST_DEPTH, &mut MOST_TERMS.clone())
    }

    fn term(&mut self, depth: usize, terms: &mut usize) -> Decoded<Query> {
        let depth = depth.checked_sub(1).ok_or("a query is too deep")?;
        *terms = terms.checked_sub(1).ok_or("a query is too large")?;
        let number = self.number()?;
        let id = || u32::try_from(number >> 3).map_err(|_| "an id is out of range");
        Ok(match number & 7 {
            ANCHOR => Query::Anchor(Entity(id()?)),
            FOLLOW => self.term(depth, terms)?.follow(Relation(id()?)),
            AND => Query::And(self.operands(number >> 3, depth, terms)?),
            OR => Query::Or(self.operands(number >> 3, depth, terms)?),
            NOT if number >> 3 == 0 => self.term(depth, terms)?.not(),
            _ => return Err("a query has a term of an unknown kind"),
        })
    }

    fn operands(&mut self, count: u64, depth: usize, terms: &mut usize) -> Decoded<Vec<Query>> {
        if count == 0 || count > *terms as u64 {
            return Err("a query has an impossible number of operands");
        }
        (0..count).map(|_| self.term(depth, terms)).collect()
    }

    fn answers(&mut self) -> Decoded<Answers> {
        let number = self.number()?;
        let count = usize::try_from(number >> 2).map_err(|_| "a count is out of range")?;
        match number & 3 {
            UNKNOWN if count == 0 => Ok(Answers::Unknown),
            COUNT => Ok(Answers::Count(count)),
            // Each takes a byte at least, which bounds what the list can ask for.
            LISTED if count <= self.0.len() => {
                let mut entities = Vec::with_capacity(count);
                let mut next = 0u64;
                for _ in 0..count {
                    let entity = next.checked_add(self.number()?);
                    let entity = entity.and_then(|entity| u32::try_from(entity).ok());
                    let entity = entity.ok_or("an answer is out of range")?;
                    entities.push(Entity(entity));
                    next = u64::from(entity) + 1;
                }
                Ok(Answers::Listed(entities))
            }
            _ => Err("a list of answers makes no sense"),
        }
    }

    fn number(&mut self) -> Decoded<u64> {
        let mut number = 0;
        for (at, &byte) in self.0.iter().enumerate().take(10) {
            if at == 9 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Ok(number);
            }
        }
        Err("a number does not end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            let mut bytes = Bytes(&out);
            assert_eq!(bytes.number(), Ok(number));
            assert!(bytes.0.is_empty());
            assert!(Bytes(&out[..out.len() - 1]).number().is_err());
        }
        assert!(Bytes(&[0xff; 11]).number().is_err());
    }

    #[test]
    fn a_small_example_takes_few_bytes() {
        let example = Example {
            query: Query::Anchor(Entity(1000)).follow(Relation(7)),
            easy: Answers::listed([5, 6, 200].map(Entity).to_vec()),
            hard: Answers::Count(3),
        };
        let mut out = Vec::new();
        put_example(&mut out, &example);
        assert_eq!(out.len(), 9);
        assert_eq!(Bytes(&out).example(), Ok(example));
    }

    #[test]
    fn hostile_bytes_are_refused() {
        let huge = (u64::MAX >> 3) << 3;
        for (numbers, why) in [
            (vec![FOLLOW; 100], "deep"),
            (vec![NOT; 100], "deep"),
            (vec![AND], "operands"),
            (vec![huge | AND], "operands"),
            (vec![huge | ANCHOR], "out of range"),
            (vec![7], "unknown kind"),
            (vec![ANCHOR, huge | LISTED], "no sense"),
            (vec![ANCHOR, 2 << 2 | LISTED, u64::from(u32::MAX), 0], "out of range"),
            (vec![ANCHOR, 1 << 2 | LISTED, u64::MAX], "out of range"),
            (vec![ANCHOR, 3], "no sense"),
        ] {
            let mut out = Vec::new();
            numbers.into_iter().for_each(|number| put_number(&mut out, number));
            let error = Bytes(&out).example().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn whatever_bytes_can_be_read_can_be_written() {
        // What a checksum would keep out, if nobody made it right again.
        let cases = std::env::var("SKOLEM_CASES").ok().and_then(|cases| cases.parse().ok());
        let mut read = 0;
        for case in 0..cases.unwrap_or(2000) {
            let mut rng = Rng::stream(5, case, 0);
            let bytes: Vec<u8> = (0..rng.below(40))
                .map(|_| if rng.below(4) == 0 { rng.next() as u8 } else { rng.below(24) as u8 })
                .collect();
            let Ok(example) = Bytes(&bytes).example() else { continue };
            crate::dataset::check(&example).unwrap();
            let mut out = Vec::new();
            put_example(&mut out, &example);
            assert_eq!(Bytes(&out).example(), Ok(example));
            read += 1;
        }
        assert!(read > 0);
    }
}
