//! What can go wrong in this crate: what, where, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place in a text, counted from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset in a text.
    pub fn of(text: &str, offset: usize) -> Place {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What a name was meant to name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An entity.
    Entity,
    /// A relation.
    Relation,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Entity => "entity",
            Kind::Relation => "relation",
        })
    }
}

/// An error of this crate.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that people write has a line that makes no sense.
    #[error("{}:{place}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong and what to do.
        message: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{}: {message}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
    },
    /// A file that a program wrote is damaged.
    #[error("{}: damaged: {what} (restore the file or make it again)", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// A name that the graph does not have.
    #[error("unknown {kind} '{name}'{}{}", at(place), did_you_mean(suggestions))]
    Unknown {
        /// Entity or relation.
        kind: Kind,
        /// The name asked for.
        name: String,
        /// Where in the question, if it came from one.
        place: Option<Place>,
        /// The nearest names, best first.
        suggestions: Vec<String>,
    },
    /// A label that several things have.
    #[error(
        "'{label}'{} is the label of several {}: {}; use one of these names",
        at(place),
        plural(kind),
        quoted(candidates)
    )]
    Ambiguous {
        /// Entity or relation.
        kind: Kind,
        /// The label asked for.
        label: String,
        /// Where in the question, if it came from one.
        place: Option<Place>,
        /// Names of the things that have this label.
        candidates: Vec<String>,
    },
    /// A question that cannot be read.
    #[error("{place}: {message}")]
    Syntax {
        /// Where in the question.
        place: Place,
        /// What is wrong and what to do.
        message: String,
    },
    /// A question that can be read and has no meaning in set logic.
    #[error("not a valid question{}: {reason}", at(place))]
    Invalid {
        /// Why.
        reason: crate::query::Invalid,
        /// Where in the question, as far as that can be told.
        place: Option<Place>,
    },
    /// Something known, that is not supported here.
    #[error("{what} is not supported{}", at(place))]
    Unsupported {
        /// Its name.
        what: String,
        /// Where in the question, as far as that can be told.
        place: Option<Place>,
    },
    /// Something larger than what is accepted.
    #[error("{what} exceeds the limit of {limit}")]
    TooLarge {
        /// What.
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// An evaluation that used up its budget or was cancelled.
    #[error("{0}")]
    Stopped(crate::exact::Stop),
    /// A setting that makes no sense.
    #[error("{0}")]
    Setting(String),
}

impl Error {
    /// Wraps an I/O error with the path it happened on.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        move |source| Error::Io { path: path.as_ref().to_owned(), source }
    }

    /// A damaged file.
    pub fn corrupt(path: impl AsRef<Path>, what: impl Into<String>) -> Error {
        Error::Corrupt { path: path.as_ref().to_owned(), what: what.into() }
    }

    /// A file that as a whole is not what it should be.
    pub fn unusable(path: impl AsRef<Path>, message: impl Into<String>) -> Error {
        Error::Unusable { path: path.as_ref().to_owned(), message: message.into() }
    }

    /// The same error, pointing at a place in a question.
    pub fn at(mut self, here: Place) -> Error {
        if let Error::Unknown { place, .. }
        | Error::Ambiguous { place, .. }
        | Error::Invalid { place, .. }
        | Error::Unsupported { place, .. } = &mut self
        {
            *place = Some(here);
        }
        self
    }

    /// Where in a question this points.
    pub fn place(&self) -> Option<Place> {
        match self {
            Error::Syntax { place, .. } => Some(*place),
            Error::Unknown { place, .. }
            | Error::Ambiguous { place, .. }
            | Error::Invalid { place, .. }
            | Error::Unsupported { place, .. } => *place,
            _ => None,
        }
    }

    /// The same error, pointing at the variable of a text that it speaks of.
    pub(crate) fn at_its_variable(self, text: &str) -> Error {
        let Error::Invalid { reason, .. } = &self else { return self };
        let in_name = |sign: char| sign.is_alphanumeric() || sign == '_';
        let found = reason.variable().and_then(|name| {
            let mut all = text.match_indices(['?', '$']).map(|(at, _)| at).filter(|at| {
                let after = text[at + 1..].strip_prefix(name);
                after.is_some_and(|after| !after.starts_with(in_name))
            });
            // The way that closes a cycle is not the first one.
            if matches!(reason, crate::query::Invalid::Cycle(_)) {
                all.next_back()
            } else {
                all.next()
            }
        });
        match found {
            Some(offset) => self.at(Place::of(text, offset)),
            None => self,
        }
    }
}

fn at(place: &Option<Place>) -> String {
    place.map_or(String::new(), |place| format!(" at {place}"))
}

fn plural(kind: &Kind) -> &'static str {
    match kind {
        Kind::Entity => "entities",
        Kind::Relation => "relations",
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

fn did_you_mean(suggestions: &[String]) -> String {
    if suggestions.is_empty() {
        return String::new();
    }
    format!(" (did you mean {}?)", quoted(suggestions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_characters_and_lines() {
        assert_eq!(Place::of("ab\nçd", 5), Place { line: 2, column: 2 });
        assert_eq!(Place::of("ab", 99), Place { line: 1, column: 3 });
    }

    #[test]
    fn the_message_says_where_and_what_to_do() {
        let error = Error::Unknown {
            kind: Kind::Relation,
            name: "staring".into(),
            place: None,
            suggestions: vec!["starring".into()],
        };
        let error = error.at(Place { line: 1, column: 9 });
        assert_eq!(
            error.to_string(),
            "unknown relation 'staring' at 1:9 (did you mean 'starring'?)"
        );
    }
}
