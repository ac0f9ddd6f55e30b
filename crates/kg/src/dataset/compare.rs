//! Tells whether two query sets are the same.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::code::{Bytes, put_answers, put_query};
use super::{Answers, Example};
use crate::error::Result;
use crate::query::tuple::Tuple;
use crate::query::{Query, Shape};

/// How two query sets agree.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// The numbers for each shape, whatever the order of its operands.
    pub shapes: Vec<ShapeComparison>,
    /// The first thing found that differs.
    pub first_difference: Option<Difference>,
}

/// How the queries of one shape agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeComparison {
    /// The shape, its operands in a fixed order.
    pub shape: Shape,
    /// Queries of the one set.
    pub left: usize,
    /// Queries of the other set.
    pub right: usize,
    /// Queries of both, a repeated one as often as both have it.
    pub both: usize,
    /// Lists or numbers of answers that could be compared: up to two a query.
    pub answers_compared: usize,
    /// Those that differ.
    pub answers_different: usize,
}

/// Something that two query sets do not share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// A query that the left set has, or has more often.
    OnlyLeft(Query),
    /// A query that the right set has, or has more often.
    OnlyRight(Query),
    /// A query whose answers differ.
    Answers {
        /// The query.
        query: Query,
        /// Whether it is the hard answers.
        hard: bool,
        /// How many there are on the left.
        left: usize,
        /// How many there are on the right.
        right: usize,
    },
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.first_difference.is_none()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tuple = |query| serde_json::to_string(&Tuple::of(query)).unwrap_or_default();
        match self {
            Difference::OnlyLeft(query) => write!(f, "only the left has {}", tuple(query)),
            Difference::OnlyRight(query) => write!(f, "only the right has {}", tuple(query)),
            Difference::Answers { query, hard, left, right } => {
                let kind = if *hard { "hard" } else { "easy" };
                let query = tuple(query);
                match left == right {
                    true => write!(f, "{query} has {left} {kind} answers, not the same ones"),
                    false => {
                        write!(f, "{query} has {left} {kind} answers, and {right} on the right")
                    }
                }
            }
        }
    }
}

/// A query of the left set that was not yet met on the right.
struct Waiting {
    shape: u32,
    left: u32,
    answers: [Known; 2],
}

/// What is kept of answers: as much as tells whether others are the same.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Count(usize),
    Listed(usize, u64),
}

/// Compares two query sets as multisets, as written: the order of queries does not matter, that of
/// operands does. Answers are compared where both sides list them, and else their numbers where
/// both are known; for a repeated query, with those of its first occurrence on the left.
pub fn compare(
    left: impl IntoIterator<Item = Result<Example>>,
    right: impl IntoIterator<Item = Result<Example>>,
) -> Result<Comparison> {
    let mut shapes = Shapes::default();
    let mut waiting: HashMap<Box<[u8]>, Waiting> = HashMap::new();
    let mut order: Vec<ShapeComparison> = Vec::new();
    let mut first_difference = None;
    for example in left {
        let example = example?;
        let shape = shapes.number(&example.query, &mut order);
        order[shape].left += 1;
        let entry = waiting.entry(code(&example.query)).or_insert_with(|| Waiting {
            shape: shape as u32,
            left: 0,
            answers: [known(&example.easy), known(&example.hard)],
        });
        entry.left += 1;
    }
    for example in right {
        let example = example?;
        let shape = shapes.number(&example.query, &mut order);
        let counts = &mut order[shape];
        counts.right += 1;
        let Some(entry) = waiting.get_mut(&code(&example.query)[..]).filter(|entry| entry.left > 0)
        else {
            first_difference.get_or_insert(Difference::OnlyRight(example.query));
            continue;
        };
        entry.left -= 1;
        counts.both += 1;
        for (hard, answers) in [(false, &example.easy), (true, &example.hard)] {
            let (ours, theirs) = (entry.answers[usize::from(hard)], known(answers));
            let (Some(left), Some(right)) = (ours.count(), theirs.count()) else { continue };
            counts.answers_compared += 1;
            if !ours.agrees(theirs) {
                counts.answers_different += 1;
                let query = example.query.clone();
                first_difference.get_or_insert(Difference::Answers { query, hard, left, right });
            }
        }
    }
    if first_difference.is_none() {
        // The smallest one, so that the report is the same every time.
        let left = waiting.iter().filter(|(_, entry)| entry.left > 0);
        let left = left.min_by_key(|(code, entry)| (entry.shape, code.len(), (*code).clone()));
        let query = left.and_then(|(code, _)| Bytes(code).query().ok());
        first_difference = query.map(Difference::OnlyLeft);
    }
    Ok(Comparison { shapes: order, first_difference })
}

/// Numbers of shapes; the canonical form is looked up once for each form as written.
#[derive(Default)]
struct Shapes {
    written: HashMap<Shape, usize>,
    canonical: BTreeMap<Shape, usize>,
}

impl Shapes {
    fn number(&mut self, query: &Query, order: &mut Vec<ShapeComparison>) -> usize {
        let canonical = &mut self.canonical;
        *self.written.entry(query.shape()).or_insert_with_key(|shape| {
            let shape = shape.canonical();
            *canonical.entry(shape).or_insert_with_key(|shape| {
                order.push(ShapeComparison {
                    shape: shape.clone(),
                    left: 0,
                    right: 0,
                    both: 0,
                    answers_compared: 0,
                    answers_different: 0,
                });
                order.len() - 1
            })
        })
    }
}

fn code(query: &Query) -> Box<[u8]> {
    let mut code = Vec::with_capacity(32);
    put_query(&mut code, query);
    code.into()
}

fn known(answers: &Answers) -> Known {
    match answers {
        Answers::Unknown => Known::Nothing,
        Answers::Count(count) => Known::Count(*count),
        Answers::Listed(entities) => {
            let mut code = Vec::new();
            put_answers(&mut code, answers);
            Known::Listed(entities.len(), xxh3_64(&code))
        }
    }
}

impl Known {
    fn count(self) -> Option<usize> {
        match self {
            Known::Nothing => None,
            Known::Count(count) | Known::Listed(count, _) => Some(count),
        }
    }

    fn agrees(self, other: Known) -> bool {
        match (self, other) {
            (Known::Listed(.., one), Known::Listed(.., other)) => one == other,
            _ => self.count() == other.count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Entity, Relation};

    fn example(at: u32, easy: Answers) -> Example {
        let query = Query::Anchor(Entity(at)).follow(Relation(0));
        Example { query, easy, hard: Answers::Unknown }
    }

    fn of(left: &[Example], right: &[Example]) -> Comparison {
        compare(left.iter().cloned().map(Ok), right.iter().cloned().map(Ok)).unwrap()
    }

    #[test]
    fn order_does_not_matter_and_repeats_do() {
        let [a, b] = [1, 2].map(|at| example(at, Answers::Unknown));
        let same = of(&[a.clone(), b.clone(), a.clone()], &[b.clone(), a.clone(), a.clone()]);
        assert!(same.is_same());
        assert_eq!((same.shapes.len(), same.shapes[0].both), (1, 3));
        let fewer = of(&[a.clone(), a.clone()], std::slice::from_ref(&a));
        assert_eq!(fewer.first_difference, Some(Difference::OnlyLeft(a.query.clone())));
        let other = of(std::slice::from_ref(&a), &[b]);
        assert_eq!(other.first_difference.unwrap().to_string(), "only the right has [2,[0]]");
    }

    #[test]
    fn answers_are_compared_as_far_as_both_know_them() {
        let listed = |ids: &[u32]| Answers::listed(ids.iter().copied().map(Entity).collect());
        for (left, right, compared, said) in [
            (listed(&[1, 2]), Answers::Unknown, 0, None),
            (listed(&[1, 2]), Answers::Count(2), 1, None),
            (listed(&[1, 2]), listed(&[2, 1]), 1, None),
            (Answers::Count(3), listed(&[1]), 1, Some("3 easy answers, and 1 on the right")),
            (listed(&[1]), listed(&[2]), 1, Some("1 easy answers, not the same ones")),
        ] {
            let found = of(&[example(1, left)], &[example(1, right)]);
            assert_eq!(found.shapes[0].answers_compared, compared);
            let difference = found.first_difference.map(|difference| difference.to_string());
            assert_eq!(difference.is_some(), said.is_some(), "{difference:?}");
            if let (Some(difference), Some(said)) = (difference, said) {
                assert!(difference.contains(said), "{difference}");
            }
        }
    }
}
