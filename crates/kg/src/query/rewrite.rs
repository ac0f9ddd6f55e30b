//! Laws of set logic: queries that stand for the same set, in a form that something needs.

use super::Query;
use super::shape::one_or;
use crate::error::{Error, Result};

/// The most disjuncts a disjunctive normal form may have: their number can grow exponentially.
pub const MOST_DISJUNCTS: usize = 1024;

impl Query {
    /// A form in which queries that differ only in the order, nesting or repetition of operands,
    /// or in double complements, are equal.
    ///
    /// ```
    /// use skolem_kg::query::{names::Numbers, text::parse};
    /// let [a, b] = ["e1 & (!!e2 & e1)", "e2 & e1"].map(|text| parse(text, &Numbers));
    /// assert_eq!(a?.canonical(), b?.canonical());
    /// # Ok::<(), skolem_kg::Error>(())
    /// ```
    pub fn canonical(&self) -> Query {
        match self {
            Query::Anchor(entity) => Query::Anchor(*entity),
            Query::Follow(relation, inner) => inner.canonical().follow(*relation),
            Query::Not(inner) => match inner.canonical() {
                Query::Not(twice) => *twice,
                once => once.not(),
            },
            Query::And(parts) => flat(parts, Query::And, |query| match query {
                Query::And(parts) => Ok(parts),
                other => Err(other),
            }),
            Query::Or(parts) => flat(parts, Query::Or, |query| match query {
                Query::Or(parts) => Ok(parts),
                other => Err(other),
            }),
        }
    }

    /// The same set without unions: `a ∪ b` becomes `¬(¬a ∩ ¬b)`.
    pub fn without_unions(&self) -> Query {
        match self {
            Query::Anchor(entity) => Query::Anchor(*entity),
            Query::Follow(relation, inner) => inner.without_unions().follow(*relation),
            Query::Not(inner) => complement(inner.without_unions()),
            Query::And(parts) => Query::And(parts.iter().map(Query::without_unions).collect()),
            Query::Or(parts) => {
                let parts = parts.iter().map(|part| complement(part.without_unions()));
                Query::Not(Box::new(one_or(parts.collect(), Query::And)))
            }
        }
    }

    /// The same set with complements only of followed relations and entities: `¬(a ∩ b)` becomes
    /// `¬a ∪ ¬b` and `¬(a ∪ b)` becomes `¬a ∩ ¬b`.
    pub fn negations_inside(&self) -> Query {
        self.signed(true)
    }

    fn signed(&self, positive: bool) -> Query {
        let all = |parts: &[Query]| parts.iter().map(|part| part.signed(positive)).collect();
        match self {
            Query::Not(inner) => inner.signed(!positive),
            Query::And(parts) if positive => Query::And(all(parts)),
            Query::And(parts) => Query::Or(all(parts)),
            Query::Or(parts) if positive => Query::Or(all(parts)),
            Query::Or(parts) => Query::And(all(parts)),
            Query::Anchor(_) | Query::Follow(..) => {
                let literal = match self {
                    Query::Follow(relation, inner) => inner.signed(true).follow(*relation),
                    other => other.clone(),
                };
                if positive { literal } else { literal.not() }
            }
        }
    }

    /// The disjunctive normal form: queries without unions whose union is this query. Each is an
    /// intersection of followed relations, entities and complements of these; a union inside a
    /// followed relation is drawn out, since what follows from `a ∪ b` is what follows from `a` or
    /// from `b`.
    pub fn disjuncts(&self) -> Result<Vec<Query>> {
        let mut all = disjuncts(&self.negations_inside())?;
        let mut seen = std::collections::HashSet::new();
        all.retain(|query| seen.insert(query.clone()));
        Ok(all)
    }
}

/// The complement of a set, undoing one that is there.
fn complement(query: Query) -> Query {
    match query {
        Query::Not(inner) => *inner,
        other => other.not(),
    }
}

/// Operands in canonical form, with those of the same kind opened, sorted, each once.
fn flat(
    parts: &[Query],
    join: impl FnOnce(Vec<Query>) -> Query,
    open: impl Fn(Query) -> Result<Vec<Query>, Query>,
) -> Query {
    let mut all = Vec::new();
    for part in parts {
        match open(part.canonical()) {
            Ok(inner) => all.extend(inner),
            Err(other) => all.push(other),
        }
    }
    all.sort();
    all.dedup();
    one_or(all, join)
}

/// The disjuncts of a query whose complements are inside.
fn disjuncts(query: &Query) -> Result<Vec<Query>> {
    match query {
        Query::Anchor(_) => Ok(vec![query.clone()]),
        Query::Follow(relation, inner) => {
            Ok(disjuncts(inner)?.into_iter().map(|inner| inner.follow(*relation)).collect())
        }
        Query::Or(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(disjuncts(part)?);
                check(all.len())?;
            }
            Ok(all)
        }
        Query::And(parts) => product(parts.iter().map(disjuncts)),
        // ¬f(a ∪ b) = ¬(f(a) ∪ f(b)) = ¬f(a) ∩ ¬f(b)
        Query::Not(inner) => {
            let parts: Vec<Query> = disjuncts(inner)?.into_iter().map(Query::not).collect();
            Ok(vec![one_or(parts, Query::And)])
        }
    }
}

/// All ways to take one disjunct of each operand.
fn product(operands: impl Iterator<Item = Result<Vec<Query>>>) -> Result<Vec<Query>> {
    let mut all: Vec<Vec<Query>> = vec![vec![]];
    for choices in operands {
        let choices = choices?;
        check(all.len().saturating_mul(choices.len()))?;
        let extend = |taken: &Vec<Query>| {
            let with = |choice: &Query| {
                let mut taken = taken.clone();
                match choice {
                    Query::And(parts) => taken.extend(parts.iter().cloned()),
                    other => taken.push(other.clone()),
                }
                taken
            };
            choices.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(extend).collect();
    }
    Ok(all.into_iter().map(|parts| one_or(parts, Query::And)).collect())
}

fn check(count: usize) -> Result<()> {
    match count > MOST_DISJUNCTS {
        true => Err(Error::TooLarge {
            what: "the number of disjuncts of the question".into(),
            limit: MOST_DISJUNCTS.to_string(),
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::names::Numbers;
    use crate::query::text::{Style, parse, print};

    fn query(text: &str) -> Query {
        parse(text, &Numbers).unwrap()
    }

    fn written(query: &Query) -> String {
        print(query, &Numbers, Style::Ascii)
    }

    #[test]
    fn canonical_form_forgets_order_and_repetition() {
        let same = ["r0(e2 & e1) | e3", "e3 | r0(e1 & e2)", "e3 | (e3 | r0(e2 & (e1 & e2)))"];
        for text in same {
            assert_eq!(query(text).canonical(), query(same[0]).canonical());
        }
        assert_ne!(query("r0(e1)").canonical(), query("r1(e1)").canonical());
        assert_eq!(written(&query("!!!e1 & !!!e1").canonical()), "!e1");
    }

    #[test]
    fn normal_forms_as_worked_by_hand() {
        let up = query("r2(r0(e1) | r4(e2))");
        let dnf: Vec<String> = up.disjuncts().unwrap().iter().map(written).collect();
        assert_eq!(dnf, ["r2(r0(e1))", "r2(r4(e2))"]);
        assert_eq!(written(&up.without_unions()), "r2(!(!r0(e1) & !r4(e2)))");
        let mixed = query("!(e1 & r0(e2 | e3)) & e4");
        let dnf: Vec<String> = mixed.disjuncts().unwrap().iter().map(written).collect();
        assert_eq!(dnf, ["!e1 & e4", "!r0(e2) & !r0(e3) & e4"]);
    }

    #[test]
    fn a_normal_form_that_explodes_is_refused() {
        let text = ["(e1 | e2)"; 11].join(" & ");
        assert!(query(&text).disjuncts().unwrap_err().to_string().contains("1024"));
    }
}
