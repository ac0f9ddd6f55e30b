//! Set logic, our own compact notation.
//!
//! ```text
//! set      = branch ('|' branch)*                    also ∨
//! branch   = term ('&' term)*                        also ∧
//! term     = '!' term | '(' set ')' | relation '(' set ')' | entity       also ¬
//! relation = '^'? name | name '⁻¹'                   ^r and r⁻¹ are the inverse of r
//! name     = bare word | "in quotes" | <in angle brackets>
//! ```

use super::lexer::{Lexer, Token, quote};
use super::shape::one_or;
use super::{MOST_CALLS, Names, Query, check_text, too_deep};
use crate::error::{Place, Result};
use crate::id::Relation;

/// Which signs to write with; both can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// `& | ! ^r`
    #[default]
    Ascii,
    /// `∧ ∨ ¬ r⁻¹`
    Unicode,
}

impl Style {
    pub(super) fn and(self) -> &'static str {
        if self == Style::Ascii { " & " } else { " ∧ " }
    }

    pub(super) fn or(self) -> &'static str {
        if self == Style::Ascii { " | " } else { " ∨ " }
    }

    pub(super) fn not(self) -> &'static str {
        if self == Style::Ascii { "!" } else { "¬" }
    }

    /// A relation by name, with the sign of an inverse.
    pub(super) fn relation(self, relation: Relation, names: &dyn Names) -> String {
        if !relation.is_inverse() {
            return quote(&names.relation_name(relation));
        }
        let name = quote(&names.relation_name(relation.inverse()));
        if self == Style::Ascii { format!("^{name}") } else { format!("{name}⁻¹") }
    }
}

/// Reads set logic.
///
/// ```
/// use skolem_kg::query::{names::Numbers, text};
/// let query = text::parse("r0(r2⁻¹(e5)) & !^r2(e7)", &Numbers)?;
/// assert_eq!(query.shape().to_string(), "pin");
/// assert_eq!(text::print(&query, &Numbers, text::Style::Ascii), "r0(^r2(e5)) & !^r2(e7)");
/// # Ok::<(), skolem_kg::Error>(())
/// ```
pub fn parse(text: &str, names: &dyn Names) -> Result<Query> {
    check_text(text)?;
    let mut parser = Parser { lexer: Lexer::new(text)?, names };
    let query = parser.set(MOST_CALLS)?;
    parser.lexer.end()?;
    query.limited()
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    names: &'a dyn Names,
}

impl Parser<'_> {
    fn set(&mut self, depth: usize) -> Result<Query> {
        let mut branches = vec![self.branch(depth)?];
        while self.lexer.take(&Token::Or) {
            branches.push(self.branch(depth)?);
        }
        Ok(one_or(branches, Query::Or))
    }

    fn branch(&mut self, depth: usize) -> Result<Query> {
        let mut terms = vec![self.term(depth)?];
        while self.lexer.take(&Token::And) {
            terms.push(self.term(depth)?);
        }
        Ok(one_or(terms, Query::And))
    }

    fn term(&mut self, depth: usize) -> Result<Query> {
        let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the question"))?;
        if self.lexer.take(&Token::Not) {
            return Ok(self.term(depth)?.not());
        }
        if self.lexer.take(&Token::Open) {
            return self.closed(depth);
        }
        let start = self.lexer.offset();
        let Some((name, inverse)) = name(&mut self.lexer)? else {
            return Err(self.lexer.unexpected("an entity, a relation or '('"));
        };
        let place = Place::of(self.lexer.text(), start);
        if self.lexer.take(&Token::Open) {
            let relation = self.names.relation(&name).map_err(|error| error.at(place))?;
            let set = self.closed(depth)?;
            return Ok(set.follow(if inverse { relation.inverse() } else { relation }));
        }
        if inverse {
            return Err(self.lexer.unexpected("'(' after a relation"));
        }
        let entity = self.names.entity(&name).map_err(|error| match self.lexer.peek() {
            // The likelier mistake: half of a name that has a space in it.
            Some(Token::Name(_)) => self.lexer.unexpected("an operator or ')'"),
            _ => error.at(place),
        })?;
        Ok(Query::Anchor(entity))
    }

    fn closed(&mut self, depth: usize) -> Result<Query> {
        let set = self.set(depth)?;
        self.lexer.expect(Token::Close)?;
        Ok(set)
    }
}

/// A name with its signs of inversion, if one stands here.
pub(super) fn name(lexer: &mut Lexer<'_>) -> Result<Option<(String, bool)>> {
    let mut inverse = false;
    while lexer.take(&Token::Inverse) {
        inverse = !inverse;
    }
    let name = match lexer.peek() {
        Some(Token::Name(name) | Token::Quoted(name)) => name.clone(),
        _ if inverse => return Err(lexer.unexpected("a relation after '^'")),
        _ => return Ok(None),
    };
    lexer.next();
    while lexer.take(&Token::Inverse) {
        // `r^-1` is what people type for r⁻¹.
        lexer.take(&Token::Name("-1".into()));
        inverse = !inverse;
    }
    Ok(Some((name, inverse)))
}

/// Writes set logic.
pub fn print(query: &Query, names: &dyn Names, style: Style) -> String {
    let join = |parts: &[Query], sign: &str| {
        let part = |query: &Query| match query {
            Query::And(_) | Query::Or(_) => format!("({})", print(query, names, style)),
            _ => print(query, names, style),
        };
        parts.iter().map(part).collect::<Vec<_>>().join(sign)
    };
    match query {
        Query::Anchor(entity) => quote(&names.entity_name(*entity)),
        Query::Follow(relation, inner) => {
            let relation = style.relation(*relation, names);
            format!("{relation}({})", print(inner, names, style))
        }
        Query::And(parts) => join(parts, style.and()),
        Query::Or(parts) => join(parts, style.or()),
        Query::Not(inner) => {
            let inside = print(inner, names, style);
            match **inner {
                Query::And(_) | Query::Or(_) => format!("{}({inside})", style.not()),
                _ => format!("{}{inside}", style.not()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::names::Numbers;

    fn error(text: &str) -> String {
        parse(text, &Numbers).unwrap_err().to_string()
    }

    #[test]
    fn all_spellings_read_alike() {
        let query = parse("r0(^r2(e1)) & !(r4(e2) | e3)", &Numbers).unwrap();
        for text in [
            "r0(r2⁻¹(e1)) ∧ ¬(r4(e2) ∨ e3)",
            "r0(r2^-1(e1)) & ! ( r4 ( \"e2\" ) | 'e3' )",
            "(r0(^^^r2(<e1>))) & (!(r4(e2) | (e3)))",
        ] {
            assert_eq!(parse(text, &Numbers).unwrap(), query, "{text}");
        }
        assert_eq!(print(&query, &Numbers, Style::Unicode), "r0(r2⁻¹(e1)) ∧ ¬(r4(e2) ∨ e3)");
    }

    #[test]
    fn errors_point_at_the_place() {
        assert_eq!(error("r0(e1"), "1:6: expected ')', found the end");
        assert_eq!(error("r0(x1)"), "unknown entity 'x1' at 1:4");
        assert_eq!(error("r0(e1) &\n  q(e2)"), "unknown relation 'q' at 2:3");
        assert_eq!(
            error("r0(New York)"),
            "1:8: expected an operator or ')', found 'York' \
             (a name with spaces needs quotes: \"New York\")"
        );
        assert_eq!(
            error("r0(e1 e2)"),
            "1:7: expected ')', found 'e2' (a name with spaces needs quotes: \"e1 e2\")"
        );
        assert_eq!(error("^e1"), "1:4: expected '(' after a relation, found the end");
        assert_eq!(error("r0(e1))"), "1:7: expected an operator or the end, found ')'");
        assert_eq!(error(""), "1:1: expected an entity, a relation or '(', found the end");
    }

    #[test]
    fn long_and_deep_texts_are_refused() {
        assert!(error(&"!".repeat(16 * 1024 + 1)).contains("16384 bytes"));
        assert!(error(&("!".repeat(5000) + "e1")).contains("64 levels"));
        assert!(error(&("r0(".repeat(65) + "e1")).contains("64 levels"));
        assert!(parse(&("r0(".repeat(60) + "e1" + &")".repeat(60)), &Numbers).is_ok());
    }
}
