//! KGReasoning's nested tuples: `(e, (r, …))` follows relations from an entity, `(q, (r, …))` from
//! a set, `(q, q, …)` intersects and `(q, q, …, (-1,))` unites; −2 among relations is a complement.
//!
//! Two forms that the published files never need make every query writable: no relation at all,
//! `(e, ())`, is the entity itself, and `(q, (-2,))` the complement of a set.

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{MOST_DEPTH, Query, too_deep};
use crate::error::{Error, Result};
use crate::id::{Entity, Relation};

/// Marks a complement among relations.
pub const NOT: i64 = -2;
/// Marks a union, as the only number of the last tuple.
pub const OR: i64 = -1;

/// A number or a tuple of them, nested.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Tuple {
    /// An entity, a relation, or one of [`NOT`] and [`OR`].
    Number(i64),
    /// Parts in brackets.
    Parts(Vec<Tuple>),
}

impl Tuple {
    /// The query that a tuple stands for.
    pub fn to_query(&self) -> Result<Query> {
        read(self, MOST_DEPTH)?.limited()
    }

    /// The tuple that stands for a query.
    pub fn of(query: &Query) -> Tuple {
        match query {
            Query::Anchor(entity) => {
                Tuple::Parts(vec![Tuple::Number(entity.0.into()), Tuple::Parts(vec![])])
            }
            Query::And(parts) => Tuple::Parts(parts.iter().map(Tuple::of).collect()),
            Query::Or(parts) => {
                let mut parts: Vec<Tuple> = parts.iter().map(Tuple::of).collect();
                parts.push(Tuple::Parts(vec![Tuple::Number(OR)]));
                Tuple::Parts(parts)
            }
            Query::Follow(..) | Query::Not(_) => {
                let mut steps = Vec::new();
                let mut from = query;
                let start = loop {
                    from = match from {
                        Query::Follow(relation, inner) => {
                            steps.push(Tuple::Number(relation.0.into()));
                            inner
                        }
                        Query::Not(inner) => {
                            steps.push(Tuple::Number(NOT));
                            inner
                        }
                        Query::Anchor(entity) => break Tuple::Number(entity.0.into()),
                        set => break Tuple::of(set),
                    }
                };
                steps.reverse();
                Tuple::Parts(vec![start, Tuple::Parts(steps)])
            }
        }
    }

    fn numbers(&self) -> Option<Vec<i64>> {
        let Tuple::Parts(parts) = self else { return None };
        parts
            .iter()
            .map(|part| if let Tuple::Number(at) = part { Some(*at) } else { None })
            .collect()
    }
}

fn read(tuple: &Tuple, depth: usize) -> Result<Query> {
    let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the tuple"))?;
    let Tuple::Parts(parts) = tuple else { return Err(wrong("a bare number is no query")) };
    let sets = |parts: &[Tuple]| {
        parts.iter().map(|part| read(part, depth)).collect::<Result<Vec<Query>>>()
    };
    match &parts[..] {
        [] => Err(wrong("an empty tuple is no query")),
        [united @ .., mark] if !united.is_empty() && mark.numbers().as_deref() == Some(&[OR]) => {
            Ok(Query::Or(sets(united)?))
        }
        [start, steps] if steps.numbers().is_some() => {
            let start = match start {
                Tuple::Number(entity) => Query::Anchor(Entity(number(*entity)?)),
                set => read(set, depth)?,
            };
            let steps = steps.numbers().unwrap_or_default();
            // Before a chain is built that would be too deep even to drop.
            if steps.len() > MOST_DEPTH {
                return Err(too_deep("the tuple"));
            }
            steps.into_iter().try_fold(start, |set, step| {
                Ok(match step {
                    NOT => set.not(),
                    relation => set.follow(Relation(number(relation)?)),
                })
            })
        }
        parts => Ok(Query::And(sets(parts)?)),
    }
}

fn number(number: i64) -> Result<u32> {
    u32::try_from(number).map_err(|_| wrong(&format!("{number} is no entity or relation")))
}

fn wrong(why: &str) -> Error {
    Error::Setting(format!("not a query tuple: {why}"))
}

impl Serialize for Tuple {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Tuple::Number(number) => serializer.serialize_i64(*number),
            Tuple::Parts(parts) => parts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Tuple {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tuple, D::Error> {
        deserializer.deserialize_any(TupleVisitor)
    }
}

struct TupleVisitor;

impl<'de> Visitor<'de> for TupleVisitor {
    type Value = Tuple;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a whole number or an array of them")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Tuple, E> {
        Ok(Tuple::Number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Tuple, E> {
        i64::try_from(number).map(Tuple::Number).map_err(de::Error::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tuple, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
        }
        Ok(Tuple::Parts(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::shape::NAMED;

    fn query(json: &str) -> Result<Query> {
        serde_json::from_str::<Tuple>(json).unwrap().to_query()
    }

    #[test]
    fn published_forms_have_their_shapes() {
        for (name, json) in [
            ("1p", "[453,[74]]"),
            ("3p", "[6856,[284,357,260]]"),
            ("2i", "[[90,[217]],[1566,[178]]]"),
            ("3i", "[[11833,[307]],[2941,[14]],[32,[57]]]"),
            ("pi", "[[774,[237,97]],[6586,[16]]]"),
            ("ip", "[[[424,[300]],[10481,[262]]],[295]]"),
            ("2in", "[[2279,[142]],[384,[87,-2]]]"),
            ("3in", "[[32,[97]],[3183,[44]],[434,[171,-2]]]"),
            ("inp", "[[[1248,[14]],[32,[57,-2]]],[24]]"),
            ("pin", "[[32,[30,287]],[4722,[249,-2]]]"),
            ("pni", "[[5348,[166,188,-2]],[6568,[285]]]"),
            ("2u", "[[3309,[273]],[6765,[12]],[-1]]"),
            ("up", "[[[4732,[43]],[2456,[165]],[-1]],[48]]"),
        ] {
            let query = query(json).unwrap();
            assert_eq!(query.shape().to_string(), name);
            assert_eq!(serde_json::to_string(&Tuple::of(&query)).unwrap(), json);
        }
        assert_eq!(NAMED.len(), 14);
    }

    #[test]
    fn what_is_no_query_is_refused() {
        for json in
            ["5", "[]", "[5]", "[[1,[2]],[-3,[1]]]", "[1,[-1]]", "[[-1]]", "[1,[4294967296]]"]
        {
            assert!(query(json).is_err(), "{json}");
        }
        let deep = "[".repeat(100) + "1,[1]" + &"]".repeat(100);
        assert!(query(&deep).unwrap_err().to_string().contains("depth"));
        let long = format!("[1,[{}1]]", "1,".repeat(1_000_000));
        assert!(query(&long).unwrap_err().to_string().contains("depth"));
    }
}
