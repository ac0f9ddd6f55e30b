//! Words and signs of the notations that are our own.

use super::{MOST_DEPTH, syntax, too_deep};
use crate::error::Result;

/// A word or a sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// A name, bare or in quotes.
    Name(String),
    /// A name in quotes, which is never a keyword.
    Quoted(String),
    /// `?V`, without its question mark.
    Variable(String),
    /// `(` or `[`
    Open,
    /// `)` or `]`
    Close,
    /// `&` or `∧`
    And,
    /// `|` or `∨`
    Or,
    /// `!` or `¬`
    Not,
    /// `^` before a relation, or `⁻¹` after it
    Inverse,
    /// `,`
    Comma,
    /// `.`, `:` or `=` after a variable, or `∃`
    Sign(char),
}

impl Token {
    fn describe(&self) -> String {
        match self {
            Token::Name(name) | Token::Quoted(name) => format!("'{name}'"),
            Token::Variable(name) => format!("'?{name}'"),
            Token::Open => "'('".into(),
            Token::Close => "')'".into(),
            Token::And => "'&'".into(),
            Token::Or => "'|'".into(),
            Token::Not => "'!'".into(),
            Token::Inverse => "'^'".into(),
            Token::Comma => "','".into(),
            Token::Sign(sign) => format!("'{sign}'"),
        }
    }
}

/// A text cut into tokens, and how far it is read.
pub struct Lexer<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Cuts a text into tokens; refuses brackets nested too deep.
    pub fn new(text: &'a str) -> Result<Lexer<'a>> {
        let mut tokens = Vec::new();
        let mut depth = 0usize;
        let mut rest = text.char_indices().peekable();
        while let Some((start, sign)) = rest.next() {
            let token = match sign {
                sign if sign.is_whitespace() => continue,
                '(' | '[' => Token::Open,
                ')' | ']' => Token::Close,
                '&' | '∧' => Token::And,
                '|' | '∨' => Token::Or,
                '!' | '¬' => Token::Not,
                '^' => Token::Inverse,
                ',' => Token::Comma,
                '∃' => Token::Sign('∃'),
                '⁻' => match rest.next() {
                    Some((_, '¹')) => Token::Inverse,
                    _ => return Err(syntax(text, start, "expected ⁻¹ (or write ^relation)")),
                },
                '"' | '\'' => Token::Quoted(quoted(text, start, sign, &mut rest)?),
                '<' => {
                    let close = text[start..].find('>');
                    let end =
                        start + close.ok_or_else(|| syntax(text, start, "'<' without its '>'"))?;
                    while rest.next_if(|&(at, _)| at <= end).is_some() {}
                    Token::Quoted(text[start + 1..end].to_owned())
                }
                '?' => {
                    let word = |sign: char| sign.is_alphanumeric() || sign == '_';
                    let mut name = String::new();
                    while let Some((_, sign)) = rest.next_if(|&(_, sign)| word(sign)) {
                        name.push(sign);
                    }
                    if name.is_empty() {
                        return Err(syntax(text, start, "expected a variable's name after '?'"));
                    }
                    Token::Variable(name)
                }
                // After a variable these are signs even where a name follows at once: `?V.p(a,?V)`.
                '.' | ':' | '=' if matches!(tokens.last(), Some((_, Token::Variable(_)))) => {
                    Token::Sign(sign)
                }
                sign if in_name(sign) => {
                    let mut name = String::from(sign);
                    while let Some((_, sign)) = rest.next_if(|&(_, sign)| in_name(sign)) {
                        name.push(sign);
                    }
                    Token::Name(name)
                }
                other => return Err(syntax(text, start, format!("unexpected '{other}'"))),
            };
            match token {
                Token::Open => depth += 1,
                Token::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MOST_DEPTH {
                return Err(too_deep("the brackets"));
            }
            tokens.push((start, token));
        }
        Ok(Lexer { text, tokens, at: 0 })
    }

    /// The text being read.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Where the next token starts; the end of the text if there is none.
    pub fn offset(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.trim_end().len(), |(start, _)| *start)
    }

    /// The next token, not taken.
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    /// The token after the next one.
    pub fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|(_, token)| token)
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Option<Token> {
        let (_, token) = self.tokens.get(self.at)?;
        self.at += 1;
        Some(token.clone())
    }

    /// Takes the next token if it is this one.
    pub fn take(&mut self, token: &Token) -> bool {
        let here = self.peek() == Some(token);
        self.at += usize::from(here);
        here
    }

    /// Takes this token or fails.
    pub fn expect(&mut self, token: Token) -> Result<()> {
        match self.take(&token) {
            true => Ok(()),
            false => Err(self.unexpected(&token.describe())),
        }
    }

    /// Fails unless everything is read.
    pub fn end(&self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("an operator or the end")),
        }
    }

    /// What stands here instead of what was expected.
    pub fn unexpected(&self, expected: &str) -> crate::Error {
        let found = self.peek().map_or("the end".to_owned(), Token::describe);
        let hint = match (self.at.checked_sub(1).map(|at| &self.tokens[at].1), self.peek()) {
            (Some(Token::Name(a)), Some(Token::Name(b))) => {
                format!(" (a name with spaces needs quotes: \"{a} {b}\")")
            }
            _ => String::new(),
        };
        syntax(self.text, self.offset(), format!("expected {expected}, found {found}{hint}"))
    }

    /// One or more parts with a sign between them.
    pub fn separated<T>(
        &mut self,
        sign: &Token,
        mut part: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut parts = vec![part(self)?];
        while self.take(sign) {
            parts.push(part(self)?);
        }
        Ok(parts)
    }
}

/// Whether a character may stand in a name without quotes.
fn in_name(sign: char) -> bool {
    !sign.is_whitespace() && !sign.is_control() && !"()[]&∧|∨!¬^⁻,∃\"'<>?".contains(sign)
}

/// Whether a name can stand without quotes.
pub fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(in_name)
}

/// A name as it can be read again.
pub fn quote(name: &str) -> String {
    match is_bare(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

fn quoted(
    text: &str,
    start: usize,
    quote: char,
    rest: &mut impl Iterator<Item = (usize, char)>,
) -> Result<String> {
    let mut name = String::new();
    while let Some((_, sign)) = rest.next() {
        match sign {
            '\\' => name.extend(rest.next().map(|(_, sign)| sign)),
            sign if sign == quote => return Ok(name),
            sign => name.push(sign),
        }
    }
    Err(syntax(text, start, "a quote without its end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_their_quotes() {
        for name in ["plain", "two words", "a\"b", "back\\slash", "d'Ivoire", "", "x(1)", "É"] {
            let quoted = quote(name);
            let mut lexer = Lexer::new(&quoted).unwrap();
            assert!(
                matches!(lexer.next(), Some(Token::Name(read) | Token::Quoted(read)) if read == name),
                "{quoted}"
            );
            lexer.end().unwrap();
        }
    }

    #[test]
    fn deep_brackets_are_refused_before_anything_recurses() {
        assert!(Lexer::new(&"(".repeat(64)).is_ok());
        assert!(Lexer::new(&"(".repeat(65)).is_err());
    }
}
