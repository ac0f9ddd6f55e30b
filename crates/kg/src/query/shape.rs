//! Shapes: queries with their anchors and relations erased.

use std::fmt;
use std::str::FromStr;

use super::lexer::{Lexer, Token};
use super::{MOST_DEPTH, Query, check_text, syntax, too_deep};
use crate::error::{Error, Result};

/// The names people know, and their patterns.
pub const NAMED: [(&str, &str); 14] = [
    ("1p", "p(e)"),
    ("2p", "p(p(e))"),
    ("3p", "p(p(p(e)))"),
    ("2i", "p(e) & p(e)"),
    ("3i", "p(e) & p(e) & p(e)"),
    ("pi", "p(p(e)) & p(e)"),
    ("ip", "p(p(e) & p(e))"),
    ("2in", "p(e) & !p(e)"),
    ("3in", "p(e) & p(e) & !p(e)"),
    ("inp", "p(p(e) & !p(e))"),
    ("pin", "p(p(e)) & !p(e)"),
    ("pni", "!p(p(e)) & p(e)"),
    ("2u", "p(e) | p(e)"),
    ("up", "p(p(e) | p(e))"),
];

/// What a query looks like without its anchors and relations. Operands are kept in order, since
/// the order is part of how a data set writes its queries; [`Shape::canonical`] forgets it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shape {
    /// An entity, `e`.
    Anchor,
    /// A followed relation, `p(…)`.
    Follow(Box<Shape>),
    /// An intersection, `… & …`.
    And(Vec<Shape>),
    /// A union, `… | …`.
    Or(Vec<Shape>),
    /// A complement, `!…`.
    Not(Box<Shape>),
}

impl Shape {
    /// The shape of a query.
    pub fn of(query: &Query) -> Shape {
        let all = |queries: &[Query]| queries.iter().map(Shape::of).collect();
        match query {
            Query::Anchor(_) => Shape::Anchor,
            Query::Follow(_, inner) => Shape::Follow(Box::new(Shape::of(inner))),
            Query::And(inner) => Shape::And(all(inner)),
            Query::Or(inner) => Shape::Or(all(inner)),
            Query::Not(inner) => Shape::Not(Box::new(Shape::of(inner))),
        }
    }

    /// The same shape with the operands of intersections and unions in a fixed order.
    pub fn canonical(&self) -> Shape {
        let sorted = |shapes: &[Shape]| {
            let mut shapes: Vec<Shape> = shapes.iter().map(Shape::canonical).collect();
            shapes.sort();
            shapes
        };
        match self {
            Shape::Anchor => Shape::Anchor,
            Shape::Follow(inner) => Shape::Follow(Box::new(inner.canonical())),
            Shape::And(inner) => Shape::And(sorted(inner)),
            Shape::Or(inner) => Shape::Or(sorted(inner)),
            Shape::Not(inner) => Shape::Not(Box::new(inner.canonical())),
        }
    }

    /// The name people know it by, if it has one; the order of operands does not matter.
    pub fn name(&self) -> Option<&'static str> {
        let wanted = self.canonical();
        let fits =
            |pattern: &str| pattern.parse::<Shape>().is_ok_and(|shape| shape.canonical() == wanted);
        NAMED.iter().find(|(_, pattern)| fits(pattern)).map(|(name, _)| *name)
    }

    /// The pattern, as in `p(p(e) & !p(e))`.
    pub fn pattern(&self) -> String {
        let join = |shapes: &[Shape], sign: &str| {
            let part = |shape: &Shape| match shape {
                Shape::And(_) | Shape::Or(_) => format!("({})", shape.pattern()),
                _ => shape.pattern(),
            };
            shapes.iter().map(part).collect::<Vec<_>>().join(sign)
        };
        match self {
            Shape::Anchor => "e".into(),
            Shape::Follow(inner) => format!("p({})", inner.pattern()),
            Shape::And(inner) => join(inner, " & "),
            Shape::Or(inner) => join(inner, " | "),
            Shape::Not(inner) => match **inner {
                Shape::And(_) | Shape::Or(_) => format!("!({})", inner.pattern()),
                _ => format!("!{}", inner.pattern()),
            },
        }
    }

    /// Whether there is a complement in it.
    pub fn has_negation(&self) -> bool {
        match self {
            Shape::Anchor => false,
            Shape::Not(_) => true,
            Shape::Follow(inner) => inner.has_negation(),
            Shape::And(inner) | Shape::Or(inner) => inner.iter().any(Shape::has_negation),
        }
    }
}

/// The name where there is one, else the canonical pattern.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => f.write_str(&self.canonical().pattern()),
        }
    }
}

/// Reads a name or a pattern.
///
/// ```
/// use skolem_kg::query::Shape;
/// let shape: Shape = "p(p(e) & !p(e))".parse()?;
/// assert_eq!(shape.to_string(), "inp");
/// # Ok::<(), skolem_kg::Error>(())
/// ```
impl FromStr for Shape {
    type Err = Error;

    fn from_str(text: &str) -> Result<Shape> {
        check_text(text)?;
        let named = NAMED.iter().find(|(name, _)| *name == text.trim());
        let pattern = named.map_or(text, |(_, pattern)| pattern);
        let mut lexer = Lexer::new(pattern)?;
        let shape = union(&mut lexer, MOST_DEPTH)?;
        lexer.end()?;
        Ok(shape)
    }
}

fn union(lexer: &mut Lexer<'_>, depth: usize) -> Result<Shape> {
    let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the shape"))?;
    let parts = lexer.separated(&Token::Or, |lexer| {
        let parts = lexer.separated(&Token::And, |lexer| term(lexer, depth))?;
        Ok(one_or(parts, Shape::And))
    })?;
    Ok(one_or(parts, Shape::Or))
}

fn term(lexer: &mut Lexer<'_>, depth: usize) -> Result<Shape> {
    let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the shape"))?;
    let start = lexer.offset();
    match lexer.next() {
        Some(Token::Not) => Ok(Shape::Not(Box::new(term(lexer, depth)?))),
        Some(Token::Open) => {
            let inner = union(lexer, depth)?;
            lexer.expect(Token::Close)?;
            Ok(inner)
        }
        Some(Token::Name(name)) if name == "p" && lexer.take(&Token::Open) => {
            let inner = union(lexer, depth)?;
            lexer.expect(Token::Close)?;
            Ok(Shape::Follow(Box::new(inner)))
        }
        Some(Token::Name(name)) if name == "e" => Ok(Shape::Anchor),
        _ => {
            let names = NAMED.map(|(name, _)| name).join(" ");
            let message = format!("expected one of {names}, or a pattern such as p(p(e) & !p(e))");
            Err(syntax(lexer.text(), start, message))
        }
    }
}

/// The only one of a list, or all of them joined.
pub(super) fn one_or<T>(mut parts: Vec<T>, join: impl FnOnce(Vec<T>) -> T) -> T {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_patterns_agree() {
        for (name, pattern) in NAMED {
            let shape: Shape = name.parse().unwrap();
            assert_eq!(shape.pattern(), pattern);
            assert_eq!(shape.to_string(), name);
        }
    }

    #[test]
    fn order_does_not_matter_for_the_name() {
        assert_eq!("p(e) & !p(p(e))".parse::<Shape>().unwrap().to_string(), "pni");
        assert_eq!("!p(e) & p(e)".parse::<Shape>().unwrap().to_string(), "2in");
    }

    #[test]
    fn other_shapes_are_described() {
        let shape: Shape = "!(p(e) | e) & p(p(p(p(e))))".parse().unwrap();
        assert_eq!(shape.to_string(), "p(p(p(p(e)))) & !(e | p(e))");
        assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape.canonical());
    }

    #[test]
    fn nonsense_is_refused_where_it_stands() {
        for text in ["", "4p", "p", "p(", "p(e", "p(e) &", "q(e)", "p(e) p(e)", "p(e))"] {
            assert!(matches!(text.parse::<Shape>(), Err(Error::Syntax { .. })), "{text}");
        }
        assert!("!".repeat(1000).parse::<Shape>().is_err());
        assert!("p(".repeat(5000).parse::<Shape>().is_err());
    }
}
