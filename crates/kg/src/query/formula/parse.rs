//! Reads first-order logic.

use super::{Formula, Strictness, Term, to_query};
use crate::error::{Place, Result};
use crate::query::lexer::{Lexer, Token};
use crate::query::shape::one_or;
use crate::query::{MOST_CALLS, Names, Query, check_text, text, too_deep};

/// Reads a formula and converts it to set logic; also gives the name of the target variable.
///
/// ```
/// use skolem_kg::query::{formula, names::Numbers, text};
/// let (target, query) = formula::parse("?T : exists ?V. r0(e1, ?V) & !r2(e2, ?V) & r4(?T, ?V)", &Numbers)?;
/// assert_eq!(target, "T");
/// assert_eq!(text::print(&query, &Numbers, text::Style::Ascii), "^r4(r0(e1) & !r2(e2))");
/// # Ok::<(), skolem_kg::Error>(())
/// ```
pub fn parse(text: &str, names: &dyn Names) -> Result<(String, Query)> {
    check_text(text)?;
    let mut parser = Parser { lexer: Lexer::new(text)?, names };
    let (target, formula) = parser.question()?;
    parser.lexer.end()?;
    let query = to_query(&formula, &target, Strictness::Paper)
        .map_err(|error| error.at_its_variable(text))?;
    Ok((target, query))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    names: &'a dyn Names,
}

impl Parser<'_> {
    fn question(&mut self) -> Result<(String, Formula)> {
        if let Some(Token::Variable(name)) = self.lexer.peek() {
            let name = name.clone();
            self.lexer.next();
            self.lexer.expect(Token::Sign(':'))?;
            return Ok((name, self.formula(MOST_CALLS)?));
        }
        if !self.quantifier() {
            return Err(self.lexer.unexpected("a target variable as in '?T : …'"));
        }
        let mut bound = self.variables()?;
        let target = bound.pop().unwrap_or_default();
        let formula = self.formula(MOST_CALLS)?;
        Ok((target, Formula::Exists(bound, Box::new(formula))))
    }

    fn formula(&mut self, depth: usize) -> Result<Formula> {
        let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the formula"))?;
        let mut branches = vec![self.branch(depth)?];
        while self.lexer.take(&Token::Or) {
            branches.push(self.branch(depth)?);
        }
        Ok(one_or(branches, Formula::Or))
    }

    fn branch(&mut self, depth: usize) -> Result<Formula> {
        let mut parts = vec![self.part(depth)?];
        while self.lexer.take(&Token::And) {
            parts.push(self.part(depth)?);
        }
        Ok(one_or(parts, Formula::And))
    }

    fn part(&mut self, depth: usize) -> Result<Formula> {
        let depth = depth.checked_sub(1).ok_or_else(|| too_deep("the formula"))?;
        if self.lexer.take(&Token::Not) {
            return Ok(Formula::Not(Box::new(self.part(depth)?)));
        }
        if self.quantifier() {
            let bound = self.variables()?;
            return Ok(Formula::Exists(bound, Box::new(self.formula(depth)?)));
        }
        if self.lexer.take(&Token::Open) {
            let inner = self.formula(depth)?;
            self.lexer.expect(Token::Close)?;
            return Ok(inner);
        }
        if let Some(Token::Variable(name)) = self.lexer.peek() {
            let name = name.clone();
            self.lexer.next();
            self.lexer.expect(Token::Sign('='))?;
            return match self.term()? {
                Term::Entity(entity) => Ok(Formula::Equal(name, entity)),
                Term::Variable(_) => Err(self.lexer.unexpected("an entity after '='")),
            };
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Formula> {
        let place = self.place();
        let Some((name, inverse)) = text::name(&mut self.lexer)? else {
            return Err(self.lexer.unexpected("a relation, 'exists' or '('"));
        };
        let relation = self.names.relation(&name).map_err(|error| error.at(place));
        // A missing bracket is the likelier mistake than a name that nobody has.
        self.lexer.expect(Token::Open)?;
        let relation = relation?;
        let from = self.term()?;
        self.lexer.expect(Token::Comma)?;
        let to = self.term()?;
        self.lexer.expect(Token::Close)?;
        Ok(Formula::Atom(if inverse { relation.inverse() } else { relation }, from, to))
    }

    fn term(&mut self) -> Result<Term> {
        let place = self.place();
        match self.lexer.peek() {
            Some(Token::Variable(name)) => {
                let name = name.clone();
                self.lexer.next();
                Ok(Term::Variable(name))
            }
            Some(Token::Name(name) | Token::Quoted(name)) => {
                let name = name.clone();
                self.lexer.next();
                self.names.entity(&name).map(Term::Entity).map_err(|error| error.at(place))
            }
            _ => Err(self.lexer.unexpected("a variable or an entity")),
        }
    }

    fn quantifier(&mut self) -> bool {
        // `exists(x, y)` is an atom of a relation that happens to be called so.
        let word = matches!(self.lexer.peek(), Some(Token::Name(word)) if word == "exists")
            && matches!(self.lexer.peek_second(), Some(Token::Variable(_)));
        if word {
            self.lexer.next();
        }
        word || self.lexer.take(&Token::Sign('∃'))
    }

    fn variables(&mut self) -> Result<Vec<String>> {
        let mut all = Vec::new();
        loop {
            match self.lexer.peek() {
                Some(Token::Variable(name)) => all.push(name.clone()),
                _ => return Err(self.lexer.unexpected("a variable")),
            }
            self.lexer.next();
            if !self.lexer.take(&Token::Comma) {
                break;
            }
        }
        self.lexer.expect(Token::Sign('.'))?;
        Ok(all)
    }

    fn place(&self) -> Place {
        Place::of(self.lexer.text(), self.lexer.offset())
    }
}
