//! Sets of entities as sorted lists, or as what they leave out.

use crate::id::Entity;

/// A set of entities; lists are sorted and distinct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntitySet {
    /// These.
    In(Vec<Entity>),
    /// All but these.
    NotIn(Vec<Entity>),
}

use EntitySet::{In, NotIn};

impl EntitySet {
    /// All entities that are not in this set.
    pub fn complement(self) -> EntitySet {
        match self {
            In(list) => NotIn(list),
            NotIn(list) => In(list),
        }
    }

    /// What is in both sets.
    pub fn intersection(self, other: EntitySet) -> EntitySet {
        match (self, other) {
            (In(a), In(b)) => In(common(a, b)),
            (In(a), NotIn(b)) | (NotIn(b), In(a)) => In(without(a, &b)),
            (NotIn(a), NotIn(b)) => NotIn(merged(&a, &b)),
        }
    }

    /// What is in at least one of the sets.
    pub fn union(self, other: EntitySet) -> EntitySet {
        self.complement().intersection(other.complement()).complement()
    }

    /// Whether an entity is in the set.
    pub fn contains(&self, entity: Entity) -> bool {
        match self {
            In(list) => list.binary_search(&entity).is_ok(),
            NotIn(list) => list.binary_search(&entity).is_err(),
        }
    }

    /// How many entities of a graph of this many are in the set.
    pub fn len(&self, entities: usize) -> usize {
        match self {
            In(list) => list.len(),
            NotIn(list) => entities - list.len(),
        }
    }

    /// How many entities are held in memory.
    pub fn stored(&self) -> usize {
        let (In(list) | NotIn(list)) = self;
        list.len()
    }

    /// The entities of the set in a graph of this many, sorted.
    pub fn into_sorted(self, entities: usize) -> Vec<Entity> {
        match self {
            In(list) => list,
            NotIn(list) => without((0..entities as u32).map(Entity).collect(), &list),
        }
    }

    /// How many entities are in this set and not in another, in a graph of this many.
    pub fn count_without(&self, other: &EntitySet, entities: usize) -> usize {
        self.clone().intersection(other.clone().complement()).len(entities)
    }
}

/// A list this many times shorter than another is looked up in it, not walked along it.
const MUCH_SHORTER: usize = 16;

fn common(a: Vec<Entity>, b: Vec<Entity>) -> Vec<Entity> {
    let (mut short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut finder = Finder::new(&long, short.len());
    short.retain(|entity| finder.has(*entity));
    short
}

fn without(mut list: Vec<Entity>, left_out: &[Entity]) -> Vec<Entity> {
    let mut finder = Finder::new(left_out, list.len());
    list.retain(|entity| !finder.has(*entity));
    list
}

fn merged(a: &[Entity], b: &[Entity]) -> Vec<Entity> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(&&x), Some(&&y)) = (a.peek(), b.peek()) {
        all.push(x.min(y));
        a.next_if(|entity| **entity <= y);
        b.next_if(|entity| **entity <= x);
    }
    all.extend(a.chain(b));
    all
}

/// Looks up rising entities in a sorted list.
struct Finder<'a> {
    rest: &'a [Entity],
    walk: bool,
}

impl<'a> Finder<'a> {
    fn new(list: &'a [Entity], lookups: usize) -> Self {
        Finder { rest: list, walk: list.len() < lookups * MUCH_SHORTER }
    }

    fn has(&mut self, entity: Entity) -> bool {
        let at = match self.walk {
            true => self.rest.iter().take_while(|other| **other < entity).count(),
            false => self.rest.partition_point(|other| *other < entity),
        };
        self.rest = &self.rest[at..];
        self.rest.first() == Some(&entity)
    }
}
