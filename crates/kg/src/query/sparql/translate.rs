//! From SPARQL's algebra to a formula. What SPARQL scopes, the formula quantifies.

use std::collections::{BTreeSet, HashMap};

use spargebra::algebra::{Expression, GraphPattern, PropertyPathExpression};
use spargebra::term::{
    GroundTerm, NamedNode, NamedNodePattern, TermPattern, TriplePattern, Variable,
};

use super::BASE;
use super::parse::unsupported;
use crate::error::{Error, Place, Result};
use crate::id::{Entity, Relation};
use crate::query::Names;
use crate::query::formula::{Formula, Invalid, Term};

/// Variables that every solution of a pattern binds.
type Bound = BTreeSet<String>;

/// Translates the patterns of one question.
pub struct Translator<'a> {
    text: &'a str,
    names: &'a dyn Names,
    /// How often each variable is mentioned in the whole question.
    mentioned: HashMap<String, usize>,
    /// Variables made for the middles of paths.
    made: usize,
}

impl<'a> Translator<'a> {
    /// Prepares for the patterns of this question.
    pub fn new(text: &'a str, names: &'a dyn Names, whole: &GraphPattern) -> Self {
        Translator { text, names, mentioned: mentions(whole), made: 0 }
    }

    /// The formula that a pattern's solutions satisfy.
    pub fn pattern(&mut self, pattern: &GraphPattern) -> Result<(Formula, Bound)> {
        match pattern {
            GraphPattern::Bgp { patterns } => {
                let mut parts = Vec::new();
                for triple in patterns {
                    parts.push(self.triple(triple)?);
                }
                self.bound_by(Formula::And(parts))
            }
            GraphPattern::Path { subject, path, object } => {
                let (subject, object) = (self.term(subject)?, self.term(object)?);
                let formula = self.path(subject, path, object)?;
                self.bound_by(formula)
            }
            GraphPattern::Join { left, right } => {
                let (left, mut bound) = self.pattern(left)?;
                let (right, more) = self.pattern(right)?;
                bound.extend(more);
                Ok((Formula::And(vec![left, right]), bound))
            }
            GraphPattern::Union { left, right } => {
                let (left, bound) = self.pattern(left)?;
                let (right, other) = self.pattern(right)?;
                let both = bound.intersection(&other).cloned().collect();
                let mut branches = Vec::new();
                for branch in [left, right] {
                    match branch {
                        Formula::Or(inner) => branches.extend(inner),
                        other => branches.push(other),
                    }
                }
                Ok((Formula::Or(branches), both))
            }
            GraphPattern::Filter { expr, inner } => {
                let (formula, bound) = self.pattern(inner)?;
                let condition = self.condition(expr, &bound)?;
                Ok((Formula::And(vec![formula, condition]), bound))
            }
            GraphPattern::Minus { left, right } => {
                let (formula, bound) = self.pattern(left)?;
                let beside = mentions(left);
                let removed = self.inside(right, &bound, |name| beside.contains_key(name))?;
                Ok((Formula::And(vec![formula, Formula::Not(Box::new(removed))]), bound))
            }
            GraphPattern::Values { variables, bindings } => self.values(variables, bindings),
            other => Err(unsupported(name_of(other))),
        }
    }

    fn bound_by(&self, formula: Formula) -> Result<(Formula, Bound)> {
        let bound = formula.free().into_iter().collect();
        Ok((formula, bound))
    }

    fn condition(&mut self, condition: &Expression, bound: &Bound) -> Result<Formula> {
        match condition {
            Expression::And(left, right) => {
                Ok(Formula::And(vec![self.condition(left, bound)?, self.condition(right, bound)?]))
            }
            Expression::Exists(pattern) => {
                let inside = mentions(pattern);
                let outer = self.mentioned.clone();
                // Mentioned more often than in here alone: meant to be the same variable.
                let shared = |name: &str| outer.get(name) > inside.get(name);
                self.inside(pattern, bound, shared)
            }
            Expression::Not(inner) => Ok(Formula::Not(Box::new(self.condition(inner, bound)?))),
            Expression::Equal(left, right) | Expression::SameTerm(left, right) => {
                let ((Expression::Variable(variable), Expression::NamedNode(node))
                | (Expression::NamedNode(node), Expression::Variable(variable))) =
                    (&**left, &**right)
                else {
                    return Err(unsupported("FILTER with = other than variable = IRI"));
                };
                let name = variable.as_str().to_owned();
                self.must_bind(&name, bound)?;
                Ok(Formula::Equal(name, self.entity(node.as_str())?))
            }
            other => Err(unsupported(&format!("FILTER with {}", name_of_expression(other)))),
        }
    }

    /// A pattern inside a condition: its own variables are quantified there, those that it shares
    /// with the group around it must be bound by that group.
    fn inside(
        &mut self,
        pattern: &GraphPattern,
        bound: &Bound,
        shared: impl Fn(&str) -> bool,
    ) -> Result<Formula> {
        let (formula, _) = self.pattern(pattern)?;
        let (outer, own): (Vec<String>, Vec<String>) =
            formula.free().into_iter().partition(|name| shared(name));
        if outer.is_empty() {
            return Err(Error::Invalid { reason: Invalid::NegationBindsNothing, place: None });
        }
        outer.iter().try_for_each(|name| self.must_bind(name, bound))?;
        Ok(Formula::Exists(own, Box::new(formula)))
    }

    fn must_bind(&self, name: &str, bound: &Bound) -> Result<()> {
        match bound.contains(name) {
            true => Ok(()),
            false => Err(unsupported(&format!(
                "?{name} in a condition whose own group does not always bind it"
            ))),
        }
    }

    fn triple(&mut self, triple: &TriplePattern) -> Result<Formula> {
        let NamedNodePattern::NamedNode(predicate) = &triple.predicate else {
            return Err(unsupported("a variable as predicate"));
        };
        let relation = self.relation(predicate)?;
        Ok(Formula::Atom(relation, self.term(&triple.subject)?, self.term(&triple.object)?))
    }

    fn path(&mut self, from: Term, path: &PropertyPathExpression, to: Term) -> Result<Formula> {
        match path {
            PropertyPathExpression::NamedNode(node) => {
                Ok(Formula::Atom(self.relation(node)?, from, to))
            }
            PropertyPathExpression::Reverse(inner) => self.path(to, inner, from),
            PropertyPathExpression::Sequence(first, second) => {
                self.made += 1;
                let middle = format!("path{} ", self.made);
                let first = self.path(from, first, Term::Variable(middle.clone()))?;
                let second = self.path(Term::Variable(middle.clone()), second, to)?;
                Ok(Formula::Exists(vec![middle], Box::new(Formula::And(vec![first, second]))))
            }
            PropertyPathExpression::Alternative(first, second) => Ok(Formula::Or(vec![
                self.path(from.clone(), first, to.clone())?,
                self.path(from, second, to)?,
            ])),
            PropertyPathExpression::ZeroOrMore(_) => Err(unsupported("the property path *")),
            PropertyPathExpression::OneOrMore(_) => Err(unsupported("the property path +")),
            PropertyPathExpression::ZeroOrOne(_) => Err(unsupported("the property path ?")),
            PropertyPathExpression::NegatedPropertySet(_) => {
                Err(unsupported("the property path !"))
            }
        }
    }

    fn values(
        &mut self,
        variables: &[Variable],
        bindings: &[Vec<Option<GroundTerm>>],
    ) -> Result<(Formula, Bound)> {
        let [variable] = variables else {
            return Err(unsupported("VALUES for several variables"));
        };
        let name = variable.as_str().to_owned();
        let mut branches = Vec::new();
        for row in bindings {
            let entity = match row.first() {
                Some(Some(GroundTerm::NamedNode(node))) => self.entity(node.as_str())?,
                Some(Some(GroundTerm::Literal(literal))) => self.entity(&literal.to_string())?,
                _ => return Err(unsupported("UNDEF")),
            };
            branches.push(Formula::Equal(name.clone(), entity));
        }
        match branches.is_empty() {
            true => Err(unsupported("VALUES without a value")),
            false => Ok((Formula::Or(branches), Bound::from([name]))),
        }
    }

    fn term(&self, term: &TermPattern) -> Result<Term> {
        match term {
            TermPattern::NamedNode(node) => self.entity(node.as_str()).map(Term::Entity),
            TermPattern::Literal(literal) => self.entity(&literal.to_string()).map(Term::Entity),
            other => match variable_name(other) {
                Some(name) => Ok(Term::Variable(name)),
                None => Err(unsupported("a triple as a term")),
            },
        }
    }

    fn entity(&self, iri: &str) -> Result<Entity> {
        self.named(iri, |name| self.names.entity(name))
    }

    fn relation(&self, node: &NamedNode) -> Result<Relation> {
        self.named(node.as_str(), |name| self.names.relation(name))
    }

    /// Finds what an IRI names; a relative one is a name by itself.
    fn named<T>(&self, iri: &str, find: impl Fn(&str) -> Result<T>) -> Result<T> {
        let Some(relative) = iri.strip_prefix(BASE) else {
            return find(iri).map_err(|error| self.point(error, iri));
        };
        let name = decode(relative);
        find(&name).or_else(|error| match name.contains('_') {
            true => find(&name.replace('_', " ")).map_err(|_| self.point(error, relative)),
            false => Err(self.point(error, relative)),
        })
    }

    /// Points an error at where its name stands in the text, as far as that can be told.
    fn point(&self, error: Error, name: &str) -> Error {
        let local = name.rsplit(['/', '#']).next().unwrap_or(name);
        let alone = |word: &str| {
            let in_word = |sign: char| sign.is_alphanumeric() || sign == '_';
            let mut all = self.text.match_indices(word).map(|(at, _)| at);
            all.find(|&at| !word.is_empty() && !self.text[..at].ends_with(in_word))
        };
        match alone(name).or_else(|| alone(local)) {
            Some(at) => error.at(Place::of(self.text, at)),
            None => error,
        }
    }
}

/// `%20` and the like, undone.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let after = rest.as_slice();
        let hex =
            after.get(..2).filter(|_| byte == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn variable_name(term: &TermPattern) -> Option<String> {
    match term {
        TermPattern::Variable(variable) => Some(variable.as_str().to_owned()),
        TermPattern::BlankNode(node) => Some(format!("_:{}", node.as_str())),
        _ => None,
    }
}

/// How often each variable occurs in a pattern, conditions included.
fn mentions(pattern: &GraphPattern) -> HashMap<String, usize> {
    let mut all = HashMap::new();
    count(pattern, &mut all);
    all
}

fn count(pattern: &GraphPattern, all: &mut HashMap<String, usize>) {
    let mut add = |term: &TermPattern| {
        if let Some(name) = variable_name(term) {
            *all.entry(name).or_default() += 1;
        }
    };
    match pattern {
        GraphPattern::Bgp { patterns } => patterns.iter().for_each(|triple| {
            add(&triple.subject);
            add(&triple.object);
        }),
        GraphPattern::Path { subject, object, .. } => {
            add(subject);
            add(object);
        }
        GraphPattern::Join { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => {
            count(left, all);
            count(right, all);
        }
        GraphPattern::Filter { expr, inner } => {
            count(inner, all);
            count_expression(expr, all);
        }
        GraphPattern::Values { variables, .. } => {
            variables.iter().for_each(|variable| {
                *all.entry(variable.as_str().to_owned()).or_default() += 1;
            });
        }
        // Refused anyway.
        _ => {}
    }
}

fn count_expression(expression: &Expression, all: &mut HashMap<String, usize>) {
    match expression {
        Expression::Exists(pattern) => count(pattern, all),
        Expression::Not(inner) => count_expression(inner, all),
        Expression::And(left, right)
        | Expression::Equal(left, right)
        | Expression::SameTerm(left, right) => {
            count_expression(left, all);
            count_expression(right, all);
        }
        Expression::Variable(variable) => {
            *all.entry(variable.as_str().to_owned()).or_default() += 1;
        }
        _ => {}
    }
}

/// What people call a part of the algebra.
pub fn name_of(pattern: &GraphPattern) -> &'static str {
    match pattern {
        GraphPattern::LeftJoin { .. } => "OPTIONAL",
        GraphPattern::Graph { .. } => "GRAPH",
        GraphPattern::Extend { .. } => "BIND",
        GraphPattern::OrderBy { .. } => "ORDER BY",
        GraphPattern::Group { .. } => "GROUP BY",
        GraphPattern::Service { .. } => "SERVICE",
        GraphPattern::Project { .. }
        | GraphPattern::Distinct { .. }
        | GraphPattern::Reduced { .. }
        | GraphPattern::Slice { .. } => "a subquery",
        _ => "this pattern",
    }
}

fn name_of_expression(expression: &Expression) -> &'static str {
    match expression {
        Expression::Or(..) => "||",
        Expression::Greater(..) => ">",
        Expression::GreaterOrEqual(..) => ">=",
        Expression::Less(..) => "<",
        Expression::LessOrEqual(..) => "<=",
        Expression::In(..) => "IN",
        Expression::Add(..)
        | Expression::Subtract(..)
        | Expression::Multiply(..)
        | Expression::Divide(..)
        | Expression::UnaryPlus(_)
        | Expression::UnaryMinus(_) => "arithmetic",
        Expression::FunctionCall(..) => "a function",
        Expression::Bound(_) => "BOUND",
        Expression::If(..) => "IF",
        Expression::Coalesce(_) => "COALESCE",
        _ => "a bare value",
    }
}
