//! How notations find and write the names of entities and relations.

use crate::error::{Error, Kind, Result};
use crate::graph::Graph;
use crate::id::{Entity, Relation};

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

fn number(text: &str, letter: char) -> Option<u32> {
    text.strip_prefix(letter)?.parse().ok()
}

fn unknown(kind: Kind, name: &str) -> Error {
    Error::Unknown { kind, name: name.to_owned(), place: None, suggestions: Vec::new() }
}
