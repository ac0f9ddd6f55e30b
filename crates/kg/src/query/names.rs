//! How notations find and write the names of entities and relations.

use crate::error::{Error, Kind, Result};
use crate::graph::Graph;
use crate::id::{Entity, Relation};
use crate::query::{Query, Shape};

/// Finds entities and relations by what people call them, and says what to call them.
pub trait Names: Sync {
    /// The entity that a text names.
    fn entity(&self, text: &str) -> Result<Entity>;
    /// The relation that a text names.
    fn relation(&self, text: &str) -> Result<Relation>;
    /// What to call an entity, such that [`Names::entity`] finds it again.
    fn entity_name(&self, entity: Entity) -> String;
    /// What to call a relation that is not an inverse.
    fn relation_name(&self, relation: Relation) -> String;
    /// The name as it is in the source, for SPARQL.
    fn entity_iri(&self, entity: Entity) -> String {
        self.entity_name(entity)
    }
    /// The name as it is in the source, for SPARQL.
    fn relation_iri(&self, relation: Relation) -> String {
        self.relation_name(relation)
    }
    /// Whether an entity or relation is found by this very text.
    fn is_taken(&self, text: &str) -> bool {
        self.entity(text).is_ok() || self.relation(text).is_ok()
    }
    /// IRI prefixes that SPARQL questions may use without saying so.
    fn prefixes(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

impl Names for Graph {
    fn entity(&self, text: &str) -> Result<Entity> {
        Graph::entity(self, text)
    }

    fn relation(&self, text: &str) -> Result<Relation> {
        Graph::relation(self, text)
    }

    fn entity_name(&self, entity: Entity) -> String {
        let known = self.entities().ok().filter(|all| entity.index() < all.len());
        known.map_or_else(|| format!("#{}", entity.0), |all| all.display(entity.0))
    }

    fn relation_name(&self, relation: Relation) -> String {
        let known = self.relations().ok().filter(|all| relation.index() < all.len());
        known.map_or_else(|| format!("#{}", relation.0), |all| all.display(relation.0))
    }

    fn entity_iri(&self, entity: Entity) -> String {
        self.entities().map_or(String::new(), |all| all.name(entity.0).to_owned())
    }

    fn relation_iri(&self, relation: Relation) -> String {
        self.relations().map_or(String::new(), |all| all.name(relation.0).to_owned())
    }

    fn is_taken(&self, text: &str) -> bool {
        let taken = |vocab: Result<crate::Vocab<'_>>| {
            vocab.is_ok_and(|vocab| {
                vocab.with_name(text).is_some() || !vocab.with_label(text).is_empty()
            })
        };
        taken(self.entities()) || taken(self.relations())
    }

    fn prefixes(&self) -> Vec<(String, String)> {
        let Ok(prefixes) = Graph::prefixes(self) else { return Vec::new() };
        prefixes.iter().map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned())).collect()
    }
}

/// Numbers as names (`e12`, `r3`), where there is no graph at hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers;

impl Names for Numbers {
    fn entity(&self, text: &str) -> Result<Entity> {
        number(text, 'e').map(Entity).ok_or_else(|| unknown(Kind::Entity, text))
    }

    fn relation(&self, text: &str) -> Result<Relation> {
        number(text, 'r').map(Relation).ok_or_else(|| unknown(Kind::Relation, text))
    }

    fn entity_name(&self, entity: Entity) -> String {
        format!("e{}", entity.0)
    }

    fn relation_name(&self, relation: Relation) -> String {
        format!("r{}", relation.0)
    }
}

/// The letters of the paper's tables: entities a, b, c, …, relations p, q, r, …
#[derive(Clone, Copy, Debug, Default)]
pub struct Letters;

impl Letters {
    /// A query of a shape, with its letters given from the anchors outwards.
    ///
    /// ```
    /// use skolem_kg::query::{names::Letters, text};
    /// let query = Letters::query(&"pni".parse()?);
    /// assert_eq!(text::print(&query, &Letters, text::Style::Ascii), "!q(p(a)) & r(b)");
    /// # Ok::<(), skolem_kg::Error>(())
    /// ```
    pub fn query(shape: &Shape) -> Query {
        fill(shape, &mut 0, &mut 0)
    }
}

fn fill(shape: &Shape, entities: &mut u32, relations: &mut u32) -> Query {
    match shape {
        Shape::Anchor => {
            *entities += 1;
            Query::Anchor(Entity(*entities - 1))
        }
        Shape::Follow(inner) => {
            let set = fill(inner, entities, relations);
            *relations += 1;
            set.follow(Relation(2 * (*relations - 1)))
        }
        Shape::And(parts) => {
            Query::And(parts.iter().map(|part| fill(part, entities, relations)).collect())
        }
        Shape::Or(parts) => {
            Query::Or(parts.iter().map(|part| fill(part, entities, relations)).collect())
        }
        Shape::Not(inner) => fill(inner, entities, relations).not(),
    }
}

impl Names for Letters {
    fn entity(&self, text: &str) -> Result<Entity> {
        letter(text, 'a').map(Entity).ok_or_else(|| unknown(Kind::Entity, text))
    }

    fn relation(&self, text: &str) -> Result<Relation> {
        let pair = letter(text, 'p').ok_or_else(|| unknown(Kind::Relation, text))?;
        Ok(Relation(pair * 2))
    }

    fn entity_name(&self, entity: Entity) -> String {
        char::from_u32('a' as u32 + entity.0).unwrap_or('?').to_string()
    }

    fn relation_name(&self, relation: Relation) -> String {
        char::from_u32('p' as u32 + relation.0 / 2).unwrap_or('?').to_string()
    }
}

fn letter(text: &str, first: char) -> Option<u32> {
    let mut letters = text.chars();
    let (only, None) = (letters.next()?, letters.next()) else { return None };
    (only as u32).checked_sub(first as u32).filter(|&at| at < 26)
}

fn number(text: &str, letter: char) -> Option<u32> {
    text.strip_prefix(letter)?.parse().ok()
}

fn unknown(kind: Kind, name: &str) -> Error {
    Error::Unknown { kind, name: name.to_owned(), place: None, suggestions: Vec::new() }
}
