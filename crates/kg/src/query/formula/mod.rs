//! First-order logic: `?T : exists ?V. winner(GoldenGlobe, ?V) & !winner(Oscar, ?V) & …`
//!
//! ```text
//! question = variable ':' formula | quantifier…     (without ':' the last quantified variable is
//! formula  = branch ('|' branch)*                    the target, as the paper writes it)
//! branch   = part ('&' part)*
//! part     = '!' part | 'exists' variable (',' variable)* '.' formula | '(' formula ')' | atom
//! atom     = relation '(' term ',' term ')' | variable '=' entity
//! term     = variable | entity
//! ```
//!
//! `∃ ∧ ∨ ¬` may be written for `exists & | !`, and `[…]` for `(…)`.

mod convert;
mod parse;
mod print;

pub use convert::{Invalid, Strictness, to_query};
pub use parse::parse;
pub use print::print;

use crate::id::{Entity, Relation};

/// A formula with its variables by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Formula {
    /// `r(x, y)`: the relation leads from `x` to `y`.
    Atom(Relation, Term, Term),
    /// `x = e`
    Equal(String, Entity),
    /// All of these hold.
    And(Vec<Formula>),
    /// At least one of these holds.
    Or(Vec<Formula>),
    /// This does not hold.
    Not(Box<Formula>),
    /// There are entities for these variables such that this holds.
    Exists(Vec<String>, Box<Formula>),
}

/// What an atom speaks about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Term {
    /// A variable, by name.
    Variable(String),
    /// An entity.
    Entity(Entity),
}

impl Formula {
    /// The names of variables that are not quantified inside, each once, in order of appearance.
    pub fn free(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut add = |name: &String| {
            if !all.contains(name) {
                all.push(name.clone());
            }
        };
        match self {
            Formula::Atom(_, from, to) => {
                for term in [from, to] {
                    if let Term::Variable(name) = term {
                        add(name);
                    }
                }
            }
            Formula::Equal(name, _) => add(name),
            Formula::And(parts) | Formula::Or(parts) => {
                parts.iter().flat_map(Formula::free).for_each(|name| add(&name));
            }
            Formula::Not(inner) => return inner.free(),
            Formula::Exists(bound, inner) => {
                let free = inner.free();
                free.iter().filter(|name| !bound.contains(name)).for_each(add);
            }
        }
        all
    }
}
