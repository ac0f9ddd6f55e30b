//! Questions: one [`Query`] and the notations that are read into it and written from it.
//!
//! | module | notation |
//! |---|---|
//! | [`text`] | set logic, our own compact form |
//! | [`formula`] | first-order logic |
//! | [`sparql`] | SPARQL 1.1, the part that set logic can say |
//! | [`mod@tuple`] | nested tuples, as in KGReasoning's files |
//! | [`shape`] | names and patterns of questions without their anchors and relations |
//! | [`skolem`] | the paper's three forms of a query, to read beside it |
//! | [`rewrite`] | laws: canonical form, De Morgan, disjunctive normal form |

pub mod formula;
mod lexer;
pub mod names;
pub mod rewrite;
pub mod shape;
pub mod skolem;
pub mod sparql;
pub mod text;
pub mod tuple;

pub use formula::Invalid;
pub use names::Names;
pub use shape::Shape;

use crate::error::{Error, Place, Result};
use crate::id::{Entity, Relation};

/// The longest question read, in bytes.
pub const MOST_TEXT: usize = 16 * 1024;
/// The deepest question read: brackets in its text, and steps from target to anchor.
pub const MOST_DEPTH: usize = 64;

/// How deep parsers recurse: a level of the question takes a few calls, and what comes out is held to
/// [`MOST_DEPTH`] in any case.
pub(crate) const MOST_CALLS: usize = 4 * MOST_DEPTH;

/// A question: a term of Skolem set logic, which stands for a set of entities.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Query {
    /// One entity.
    Anchor(Entity),
    /// What a relation leads to from a set: the maximal Skolem function of the paper.
    Follow(Relation, Box<Query>),
    /// What is in all of these sets.
    And(Vec<Query>),
    /// What is in at least one of these sets.
    Or(Vec<Query>),
    /// All entities that are not in a set.
    Not(Box<Query>),
}

impl Query {
    /// Follows a relation from this set.
    pub fn follow(self, relation: Relation) -> Query {
        Query::Follow(relation, Box::new(self))
    }

    /// The complement of this set.
    #[allow(clippy::should_implement_trait)]
    pub fn not(self) -> Query {
        Query::Not(Box::new(self))
    }

    /// The terms directly under this one.
    pub fn operands(&self) -> &[Query] {
        match self {
            Query::Anchor(_) => &[],
            Query::Follow(_, inner) | Query::Not(inner) => std::slice::from_ref(inner),
            Query::And(inner) | Query::Or(inner) => inner,
        }
    }

    /// This term and all below it.
    pub fn terms(&self) -> Vec<&Query> {
        let mut all = vec![self];
        let mut at = 0;
        while at < all.len() {
            all.extend(all[at].operands());
            at += 1;
        }
        all
    }

    /// Number of terms on the longest way from the target to an anchor.
    pub fn depth(&self) -> usize {
        1 + self.operands().iter().map(Query::depth).max().unwrap_or(0)
    }

    /// The entities it starts from, as written, from left to right.
    pub fn anchors(&self) -> Vec<Entity> {
        match self {
            Query::Anchor(entity) => vec![*entity],
            _ => self.operands().iter().flat_map(Query::anchors).collect(),
        }
    }

    /// How many bound variables it has: one for each relation followed from more than an entity.
    pub fn variable_count(&self) -> usize {
        let bound = |term: &&&Query| matches!(term, Query::Follow(_, inner) if !matches!(**inner, Query::Anchor(_)));
        self.terms().iter().filter(bound).count()
    }

    /// Whether there is a complement in it.
    pub fn has_negation(&self) -> bool {
        self.terms().iter().any(|term| matches!(term, Query::Not(_)))
    }

    /// Whether there is a union in it.
    pub fn has_union(&self) -> bool {
        self.terms().iter().any(|term| matches!(term, Query::Or(_)))
    }

    /// The shape: anchors and relations erased.
    pub fn shape(&self) -> Shape {
        Shape::of(self)
    }

    /// Reads a question in any notation: SPARQL starts with `SELECT`, `PREFIX` or `BASE`,
    /// first-order logic with a variable, everything else is set logic.
    pub fn parse(text: &str, names: &dyn Names) -> Result<Query> {
        Ok(Question::parse(text, names)?.query)
    }

    /// The same question if it is shallow enough for every reader and writer.
    pub(crate) fn limited(self) -> Result<Query> {
        // Depth is at most the number of terms, and no notation makes more than a few per byte.
        match self.depth() > MOST_DEPTH + 1 {
            true => Err(too_deep("the question")),
            false => Ok(self),
        }
    }
}

/// Names bound variables from the anchors outwards, as the paper does: V, W, X, …
#[derive(Default)]
pub(crate) struct Variables(usize);

impl Variables {
    /// The name of the variable that a set stands for; those inside the set come before it.
    pub fn before(&mut self, set: &Query) -> String {
        let at = self.0 + set.variable_count();
        match ["V", "W", "X", "Y", "Z"].get(at) {
            Some(letter) => (*letter).to_owned(),
            None => format!("V{at}"),
        }
    }

    /// The variable just named is in use.
    pub fn used(&mut self) {
        self.0 += 1;
    }
}

/// The three notations for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// `borders(France) & !member⁻¹(EU)`
    SetLogic,
    /// `?T : exists ?V. borders(France, ?V) & …`
    Formula,
    /// `SELECT ?T { … }`
    Sparql,
}

impl Notation {
    /// Which notation a text is in, by how it starts.
    pub fn of(text: &str) -> Notation {
        let mut rest = text.trim_start();
        // A SPARQL file may start with comments.
        while let Some(comment) = rest.strip_prefix("# ") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after).trim_start();
        }
        let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        let after = rest[word.len()..].chars().next();
        let keyword = ["SELECT", "PREFIX", "BASE", "ASK", "CONSTRUCT", "DESCRIBE"]
            .iter()
            .any(|keyword| word.eq_ignore_ascii_case(keyword));
        if keyword && after.is_some_and(|next| next.is_whitespace() || "{?*<".contains(next)) {
            Notation::Sparql
        } else if rest.starts_with(['?', '∃']) || (word == "exists" && after == Some(' ')) {
            Notation::Formula
        } else {
            Notation::SetLogic
        }
    }
}

/// A question as asked: the query, and how many answers were wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// What is asked.
    pub query: Query,
    /// `LIMIT` of a SPARQL question.
    pub limit: Option<usize>,
    /// The notation it was read from.
    pub notation: Notation,
    /// The name of the target variable, in notations that have one.
    pub target: Option<String>,
}

impl Question {
    /// Reads a question in any of the three notations (see [`Query::parse`]).
    pub fn parse(text: &str, names: &dyn Names) -> Result<Question> {
        Question::parse_as(Notation::of(text), text, names)
    }

    /// Reads a question in a notation.
    pub fn parse_as(notation: Notation, text: &str, names: &dyn Names) -> Result<Question> {
        check_text(text)?;
        match notation {
            Notation::SetLogic => {
                let query = text::parse(text, names)?;
                Ok(Question { query, limit: None, notation, target: None })
            }
            Notation::Formula => {
                let (target, query) = formula::parse(text, names)?;
                Ok(Question { query, limit: None, notation, target: Some(target) })
            }
            Notation::Sparql => sparql::parse(text, names),
        }
    }
}

/// Refuses a text that is too long.
pub(crate) fn check_text(text: &str) -> Result<()> {
    match text.len() > MOST_TEXT {
        true => Err(Error::TooLarge {
            what: format!("a question of {} bytes", text.len()),
            limit: format!("{MOST_TEXT} bytes"),
        }),
        false => Ok(()),
    }
}

pub(crate) fn too_deep(what: &str) -> Error {
    Error::TooLarge { what: format!("the depth of {what}"), limit: format!("{MOST_DEPTH} levels") }
}

/// A syntax error at a byte offset of a text.
pub(crate) fn syntax(text: &str, offset: usize, message: impl Into<String>) -> Error {
    Error::Syntax { place: Place::of(text, offset), message: message.into() }
}
