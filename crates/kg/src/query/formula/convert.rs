//! From formulae to set logic, by the paper's rules.
//!
//! The parts of a conjunction are joined by the variables they share. When these joints form a tree
//! with the target as its root (the dependency graph: acyclic, one sink) and every leaf is an entity
//! (anchors as sources), each variable stands for a set: the intersection of what its parts say. An
//! atom that points away from the target is turned by using the inverse relation.
//!
//! Two ways between the same variables are refused as a cycle even where the arrows would not form
//! one: set logic follows each way by itself, and would forget that both met the same entity.

use std::collections::HashMap;

use super::{Formula, Term};
use crate::error::{Error, Result};
use crate::query::shape::one_or;
use crate::query::{MOST_DEPTH, Query, too_deep};

/// Why a formula is no question that set logic can answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Two ways between variables.
    #[error(
        "?{0} is reached in two ways (a cycle); each variable may be linked to the target once"
    )]
    Cycle(String),
    /// A variable, anchored, that does not lead to the target.
    #[error("two sinks: ?{1} does not lead to the target ?{0}; link it or leave it out")]
    TwoSinks(String, String),
    /// A variable that nothing known leads to.
    #[error("?{0} has no anchor: no known entity leads to it")]
    NoAnchor(String),
    /// A complement of something that says nothing about any variable outside it.
    #[error("a negation binds nothing: it mentions neither the target nor a variable linked to it")]
    NegationBindsNothing,
    /// An atom about known entities only.
    #[error("a part speaks of known entities only, not of a variable")]
    Ground,
    /// The target is not mentioned.
    #[error("the target ?{0} does not occur in the question")]
    NoTarget(String),
    /// A variable that is neither the target nor quantified.
    #[error("?{0} is neither the target nor quantified; write 'exists ?{0}.' before it")]
    Unquantified(String),
    /// A variable that some branches of a disjunction mention and others do not.
    #[error("?{0} occurs in some branches of a union only, and also outside it")]
    SomeBranches(String),
    /// A complement that joins two variables, where that is not what set logic would compute.
    #[error("a negation joins ?{0} and ?{1}; it may share one variable with what is outside it")]
    NegationJoins(String, String),
}

impl Invalid {
    /// The variable that is at fault.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Invalid::Cycle(name)
            | Invalid::TwoSinks(_, name)
            | Invalid::NoAnchor(name)
            | Invalid::NoTarget(name)
            | Invalid::Unquantified(name)
            | Invalid::SomeBranches(name)
            | Invalid::NegationJoins(name, _) => Some(name),
            Invalid::NegationBindsNothing | Invalid::Ground => None,
        }
    }
}

/// How a complement that joins two variables is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strictness {
    /// As the paper writes its `pni` queries: `p(a, V) ∧ ¬q(V, T)` is the complement of all that
    /// `q` leads to from the set of `V`, as if `V` were quantified inside the negation.
    Paper,
    /// Refused: in first-order logic and SPARQL it asks for a `V` *without* such an edge to `T`,
    /// which is another set, and not one of set logic.
    Standard,
}

/// The set that a formula describes for its target variable.
pub fn to_query(formula: &Formula, target: &str, strictness: Strictness) -> Result<Query> {
    let mut variables = vec![target.to_owned()];
    let scope = HashMap::from([(target.to_owned(), 0)]);
    let part = resolve(formula, &scope, &mut variables)?;
    let converter = Converter { variables, strictness };
    converter.set(0, &[&part], &HashMap::new(), MOST_DEPTH)?.limited()
}

/// A formula whose variables are numbers, each quantified once.
enum Part {
    Atom(crate::Relation, End, End),
    Equal(usize, crate::Entity),
    And(Vec<Part>),
    Or(Vec<Part>),
    Not(Box<Part>),
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Variable(usize),
    Entity(crate::Entity),
}

/// Gives each quantified variable a number of its own, so that quantifiers can be left out.
fn resolve(
    formula: &Formula,
    scope: &HashMap<String, usize>,
    variables: &mut Vec<String>,
) -> Result<Part> {
    let number = |name: &String| {
        scope.get(name).copied().ok_or_else(|| invalid(Invalid::Unquantified(name.clone())))
    };
    let end = |term: &Term| match term {
        Term::Variable(name) => number(name).map(End::Variable),
        Term::Entity(entity) => Ok(End::Entity(*entity)),
    };
    Ok(match formula {
        Formula::Atom(relation, from, to) => Part::Atom(*relation, end(from)?, end(to)?),
        Formula::Equal(name, entity) => Part::Equal(number(name)?, *entity),
        Formula::And(parts) => Part::And(resolve_all(parts, scope, variables)?),
        Formula::Or(parts) => Part::Or(resolve_all(parts, scope, variables)?),
        Formula::Not(inner) => Part::Not(Box::new(resolve(inner, scope, variables)?)),
        Formula::Exists(bound, inner) => {
            let mut scope = scope.clone();
            for name in bound {
                scope.insert(name.clone(), variables.len());
                variables.push(name.clone());
            }
            resolve(inner, &scope, variables)?
        }
    })
}

fn resolve_all(
    parts: &[Formula],
    scope: &HashMap<String, usize>,
    variables: &mut Vec<String>,
) -> Result<Vec<Part>> {
    parts.iter().map(|part| resolve(part, scope, variables)).collect()
}

impl Part {
    /// The variables it mentions, each once, in order of appearance.
    fn mentions(&self) -> Vec<usize> {
        let mut all = Vec::new();
        self.collect(&mut all);
        let mut seen = std::collections::HashSet::new();
        all.retain(|variable| seen.insert(*variable));
        all
    }

    fn collect(&self, all: &mut Vec<usize>) {
        match self {
            Part::Atom(_, from, to) => {
                for end in [from, to] {
                    if let End::Variable(variable) = end {
                        all.push(*variable);
                    }
                }
            }
            Part::Equal(variable, _) => all.push(*variable),
            Part::And(parts) | Part::Or(parts) => parts.iter().for_each(|part| part.collect(all)),
            Part::Not(inner) => inner.collect(all),
        }
    }

    fn has_entity(&self) -> bool {
        match self {
            Part::Atom(_, from, to) => [from, to].iter().any(|end| matches!(end, End::Entity(_))),
            Part::Equal(..) => true,
            Part::And(parts) | Part::Or(parts) => parts.iter().any(Part::has_entity),
            Part::Not(inner) => inner.has_entity(),
        }
    }
}

struct Converter {
    variables: Vec<String>,
    strictness: Strictness,
}

/// The parts of one conjunction, and which of them are used up.
struct Conjunction<'a> {
    parts: Vec<(&'a Part, Vec<usize>)>,
    used: Vec<bool>,
    reached: Vec<usize>,
    /// Sets that variables from outside stand for.
    given: &'a HashMap<usize, Query>,
}

impl Converter {
    /// What a conjunction says about one of its variables.
    fn set(
        &self,
        target: usize,
        parts: &[&Part],
        given: &HashMap<usize, Query>,
        depth: usize,
    ) -> Result<Query> {
        let mut open = Vec::new();
        parts.iter().for_each(|part| flatten(part, &mut open));
        let parts: Vec<_> = open.into_iter().map(|part| (part, part.mentions())).collect();
        for (part, mentions) in &parts {
            if mentions.is_empty() {
                return Err(invalid(match part {
                    Part::Not(_) => Invalid::NegationBindsNothing,
                    _ => Invalid::Ground,
                }));
            }
        }
        if !parts.iter().any(|(_, mentions)| mentions.contains(&target)) {
            return Err(invalid(Invalid::NoTarget(self.name(target))));
        }
        let used = vec![false; parts.len()];
        let mut all = Conjunction { parts, used, reached: vec![target], given };
        let query = self.variable(target, &mut all, depth)?;
        // What is left over is not linked to the target.
        let left = all.used.iter().zip(&all.parts).find(|(used, _)| !**used);
        if let Some((_, (part, mentions))) = left {
            let variable = self.name(mentions[0]);
            return Err(invalid(match part {
                Part::Not(_) => Invalid::NegationBindsNothing,
                _ if all
                    .parts
                    .iter()
                    .zip(&all.used)
                    .any(|((part, _), used)| !used && part.has_entity()) =>
                {
                    Invalid::TwoSinks(self.name(target), variable)
                }
                _ => Invalid::NoAnchor(variable),
            }));
        }
        Ok(query)
    }

    /// The intersection of what the parts that are left say about a variable.
    fn variable(&self, variable: usize, all: &mut Conjunction<'_>, depth: usize) -> Result<Query> {
        let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the question"))?;
        let mut sets: Vec<Query> = all.given.get(&variable).cloned().into_iter().collect();
        for at in 0..all.parts.len() {
            if all.used[at] || !all.parts[at].1.contains(&variable) {
                continue;
            }
            all.used[at] = true;
            sets.push(self.part(at, variable, all, depth)?);
        }
        match sets.is_empty() {
            true => Err(invalid(Invalid::NoAnchor(self.name(variable)))),
            false => Ok(one_or(sets, Query::And)),
        }
    }

    /// What one part says about a variable, with the other variables that hang on it.
    fn part(
        &self,
        at: usize,
        variable: usize,
        all: &mut Conjunction<'_>,
        depth: usize,
    ) -> Result<Query> {
        let part = all.parts[at].0;
        match part {
            Part::Equal(_, entity) => Ok(Query::Anchor(*entity)),
            Part::Atom(relation, from, to) => {
                let (relation, other) = match *to == End::Variable(variable) {
                    true => (*relation, *from),
                    false => (relation.inverse(), *to),
                };
                let set = match other {
                    End::Entity(entity) => Query::Anchor(entity),
                    End::Variable(other) => self.beyond(other, all, depth)?,
                };
                Ok(set.follow(relation))
            }
            Part::Not(inner) => {
                let outside = self.outside(at, variable, all, depth)?;
                if let (Some(other), Strictness::Standard) =
                    (outside.keys().find(|other| **other != variable), self.strictness)
                {
                    let [a, b] = [*other, variable].map(|at| self.name(at));
                    return Err(invalid(Invalid::NegationJoins(a, b)));
                }
                Ok(self.set(variable, &[inner], &outside, depth)?.not())
            }
            Part::Or(branches) => {
                let outside = self.outside(at, variable, all, depth)?;
                let sets = branches.iter().map(|branch| {
                    let mentions = branch.mentions();
                    let needed = outside.keys().chain(std::iter::once(&variable));
                    for other in needed {
                        if !mentions.contains(other) {
                            return Err(invalid(Invalid::SomeBranches(self.name(*other))));
                        }
                    }
                    self.set(variable, &[branch], &outside, depth)
                });
                Ok(Query::Or(sets.collect::<Result<_>>()?))
            }
            // Conjunctions were opened before.
            Part::And(_) => Err(invalid(Invalid::Ground)),
        }
    }

    /// The sets of those other variables of a part that the conjunction mentions elsewhere; the
    /// rest belong to the part alone.
    fn outside(
        &self,
        at: usize,
        variable: usize,
        all: &mut Conjunction<'_>,
        depth: usize,
    ) -> Result<HashMap<usize, Query>> {
        let mut sets = HashMap::new();
        for other in all.parts[at].1.clone() {
            let elsewhere = all.given.contains_key(&other)
                || (0..all.parts.len())
                    .any(|part| part != at && all.parts[part].1.contains(&other));
            if other != variable && elsewhere {
                sets.insert(other, self.beyond(other, all, depth)?);
            }
        }
        Ok(sets)
    }

    /// The set of a variable that is further from the target.
    fn beyond(&self, variable: usize, all: &mut Conjunction<'_>, depth: usize) -> Result<Query> {
        if all.reached.contains(&variable) {
            return Err(invalid(Invalid::Cycle(self.name(variable))));
        }
        all.reached.push(variable);
        self.variable(variable, all, depth)
    }

    fn name(&self, variable: usize) -> String {
        self.variables[variable].clone()
    }
}

fn flatten<'a>(part: &'a Part, open: &mut Vec<&'a Part>) {
    match part {
        Part::And(parts) => parts.iter().for_each(|part| flatten(part, open)),
        other => open.push(other),
    }
}

fn invalid(reason: Invalid) -> Error {
    Error::Invalid { reason, place: None }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::query::names::Numbers;
    use crate::query::text::{Style, print};

    fn set(text: &str) -> String {
        match parse(text, &Numbers) {
            Ok((_, query)) => print(&query, &Numbers, Style::Ascii),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_forms_of_the_paper() {
        for (formula, expected) in [
            ("∃?T. r0(e0, ?T)", "r0(e0)"),
            ("∃?V,?T. r0(e0,?V) ∧ r2(?V,?T)", "r2(r0(e0))"),
            ("∃?V,?T. [r0(e0,?V) ∧ r2(e1,?V)] ∧ r4(?V,?T)", "r4(r0(e0) & r2(e1))"),
            ("∃?V,?T. r0(e0,?V) ∧ ¬r2(?V,?T) ∧ r4(e1,?T)", "!r2(r0(e0)) & r4(e1)"),
            ("?T : exists ?V.r0(e0,?V) & r2(?V,?T) & !r4(e1,?T)", "r2(r0(e0)) & !r4(e1)"),
            ("?T: exists ?V. (r0(e0,?V) & !r2(e1,?V)) & r4(?V,?T)", "r4(r0(e0) & !r2(e1))"),
            ("?T : r0(e0,?T) | r2(e1,?T)", "r0(e0) | r2(e1)"),
            ("?T : exists ?V. (r0(e0,?V) | r2(e1,?V)) & r4(?V,?T)", "r4(r0(e0) | r2(e1))"),
            ("?T : !r0(e0,?T)", "!r0(e0)"),
        ] {
            assert_eq!(set(formula), expected, "{formula}");
        }
    }

    #[test]
    fn atoms_are_turned_and_variables_may_be_scoped() {
        assert_eq!(set("?T : exists ?V. r0(?T,?V) & r2(?V,e0)"), "^r0(^r2(e0))");
        let nested = "?T : r0(e0,?T) & !(exists ?V. r2(e1,?V) & r4(?V,?T))";
        assert_eq!(set(nested), "r0(e0) & !r4(r2(e1))");
        let twice = "?T : (exists ?V. r0(e0,?V) & r2(?V,?T)) & exists ?V. r4(e1,?V) & r6(?V,?T)";
        assert_eq!(set(twice), "r2(r0(e0)) & r6(r4(e1))");
        let shared = "?T : exists ?V. r0(e0,?V) & (r2(?V,?T) | r4(?V,?T))";
        assert_eq!(set(shared), "r2(r0(e0)) | r4(r0(e0))");
        assert_eq!(set("?T : ?T = e4 & r0(e1,?T)"), "e4 & r0(e1)");
    }

    #[test]
    fn what_is_not_valid_is_refused_with_the_reason() {
        for (formula, reason) in [
            ("?T : exists ?V. r0(e0,?V) & r2(?V,?T) & r4(?V,?T)", "cycle"),
            ("?T : exists ?V. r0(?V,?T) & r2(?T,?V) & r4(e0,?V)", "cycle"),
            ("?T : exists ?V,?W. r0(?V,?W) & r2(?W,?T) & r4(?V,?T) & r0(e1,?V)", "cycle"),
            ("?T : r0(?T,?T) & r2(e1,?T)", "cycle"),
            ("?T : exists ?V. r0(e0,?V) & r2(e1,?T)", "at 1:13: two sinks: ?V"),
            ("?T : exists ?V,?W. r0(e0,?T) & r2(?V,?W)", "no anchor"),
            ("?T : exists ?V. r0(?V,?T)", "?V has no anchor"),
            ("?T : exists ?V. r0(e0,?T) & r2(?T,?V)", "?V has no anchor"),
            ("?T : r0(e0,?T) & !r2(e0,e1)", "negation binds nothing"),
            ("?T : r0(e0,?T) & !(exists ?V. r2(e0,?V))", "negation binds nothing"),
            ("?T : r0(e0,?T) & r2(e0,e1)", "known entities only"),
            ("?T : exists ?V. r0(e0,?V)", "does not occur"),
            ("?T : r0(e0,?V) & r2(?V,?T)", "neither the target nor quantified"),
            ("?T : exists ?V. r0(e0,?V) & (r2(?V,?T) | r4(e1,?T))", "some branches"),
        ] {
            assert!(set(formula).contains(reason), "{formula}: {}", set(formula));
        }
    }
}
