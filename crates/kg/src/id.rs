//! Numbers that stand for entities and relations.

use bytemuck::{Pod, Zeroable};

/// An entity of a graph, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Entity(pub u32);

/// A relation of a graph, by its number; a relation and its inverse have adjacent numbers, the even
/// one first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Relation(pub u32);

impl Entity {
    /// The number as an index into a table of entities.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Relation {
    /// The number as an index into a table of relations.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The same relation read from tail to head.
    ///
    /// ```
    /// use skolem_kg::Relation;
    /// assert_eq!(Relation(6).inverse(), Relation(7));
    /// assert_eq!(Relation(7).inverse(), Relation(6));
    /// ```
    pub fn inverse(self) -> Relation {
        Relation(self.0 ^ 1)
    }

    /// Whether this is the second one of its pair.
    pub fn is_inverse(self) -> bool {
        self.0 & 1 == 1
    }
}
