//! The graph: entities, relations and edges with their names; read-only once built.

mod builder;
mod edges;
mod holdout;
mod interner;
mod stats;

use std::path::Path;
use std::sync::OnceLock;

pub use builder::{Batch, Counted, GraphBuilder};
pub use edges::Edges;
pub use stats::{RelationStats, Stats};

use crate::error::{Error, Kind, Result};
use crate::id::{Entity, Relation};
use crate::split::Split;
use crate::store::Image;
use crate::vocab::{Prefixes, Strings, Vocab};

/// Sections of the graph file. A vocabulary has six numbers from its first, a layer of edges too.
mod section {
    pub const COUNTS: u32 = 1;
    pub const PREFIXES: u32 = 2;
    pub const ENTITIES: u32 = 10;
    pub const RELATIONS: u32 = 20;
    pub const EDGES: [u32; 3] = [30, 40, 50];
    pub const PARTS: u32 = 6;
}

/// What the first section holds, in this order, as `u64`.
const COUNTS: usize = 8;

/// A knowledge graph, in memory or mapped from its file.
///
/// Names and edges are checked when they are first asked for, which is why asking may fail; what
/// was handed out once is sound.
pub struct Graph {
    image: Image,
    entities: u32,
    relations: u32,
    edges: [u64; 3],
    /// Which stored layer holds each split: splits that add no edges share one.
    layer: [usize; 3],
    checked: [OnceLock<()>; 5],
}

impl Graph {
    /// Opens a graph file without reading it whole.
    pub fn open(path: impl AsRef<Path>) -> Result<Graph> {
        Graph::from_image(Image::open(path.as_ref())?)
    }

    /// Reads a graph file held in memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Graph> {
        Graph::from_image(Image::from_bytes(bytes, Path::new("(graph in memory)"))?)
    }

    pub(crate) fn from_image(image: Image) -> Result<Graph> {
        image.verify(section::COUNTS)?;
        let counts: &[u64] = image.section(section::COUNTS)?;
        let &[entities, relations, train, valid, test, a, b, c] = counts else {
            let what = format!("{} counts, should be {COUNTS}", counts.len());
            return Err(Error::corrupt(image.path(), what));
        };
        let sizes = (u32::try_from(entities), u32::try_from(relations));
        let layer = [a as usize, b as usize, c as usize];
        match sizes {
            (Ok(entities), Ok(relations))
                if relations % 2 == 0 && layer.iter().all(|&at| at < 3) =>
            {
                let checked = Default::default();
                Ok(Graph {
                    image,
                    entities,
                    relations,
                    edges: [train, valid, test],
                    layer,
                    checked,
                })
            }
            _ => Err(Error::corrupt(image.path(), "the counts make no sense")),
        }
    }

    /// Writes the graph's file; a reader sees all of it or none.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.image.write(path.as_ref())
    }

    /// The graph's file as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.image.as_bytes()
    }

    /// Number of entities.
    pub fn entity_count(&self) -> usize {
        self.entities as usize
    }

    /// Number of relations, inverses included.
    pub fn relation_count(&self) -> usize {
        self.relations as usize
    }

    /// Number of edges that a split adds to the smaller one (inverses not counted).
    pub fn edges_added_by(&self, split: Split) -> usize {
        self.edges[split.index()] as usize
    }

    /// Whether there are edges beyond the train split.
    pub fn is_split(&self) -> bool {
        self.edges[1] + self.edges[2] > 0
    }

    /// A number that two graphs share exactly when they are the same.
    pub fn fingerprint(&self) -> u64 {
        self.image.fingerprint()
    }

    /// Names and labels of the entities.
    pub fn entities(&self) -> Result<Vocab<'_>> {
        self.vocab(Kind::Entity, section::ENTITIES, self.entity_count(), 0)
    }

    /// Names and labels of the relations, inverses included.
    pub fn relations(&self) -> Result<Vocab<'_>> {
        self.vocab(Kind::Relation, section::RELATIONS, self.relation_count(), 1)
    }

    /// IRI prefixes.
    pub fn prefixes(&self) -> Result<Prefixes<'_>> {
        Ok(Prefixes { text: self.text(section::PREFIXES)? })
    }

    /// The edges that a split sees.
    pub fn edges(&self, split: Split) -> Result<Edges<'_>> {
        let layer = self.layer[split.index()];
        let first = section::EDGES[layer];
        let edges = Edges {
            entity_runs: self.image.section(first)?,
            run_relation: self.image.section(first + 1)?,
            run_targets: self.image.section(first + 2)?,
            targets: self.image.section(first + 3)?,
            relation_sources: self.image.section(first + 4)?,
            sources: self.image.section(first + 5)?,
        };
        self.check_once(2 + layer, first, || {
            edges.is_consistent(self.entity_count(), self.relation_count())
        })?;
        Ok(edges)
    }

    /// Checks everything there is to check: all checksums and all tables.
    pub fn verify(&self) -> Result<()> {
        self.entities()?;
        self.relations()?;
        Split::ALL.into_iter().try_for_each(|split| self.edges(split).map(drop))
    }

    /// Finds an entity by name, label or number.
    pub fn entity(&self, text: &str) -> Result<Entity> {
        self.entities()?.find(text).map(Entity)
    }

    /// Finds a relation by name, label or number; `^name` is the inverse.
    pub fn relation(&self, text: &str) -> Result<Relation> {
        let relations = self.relations()?;
        match relations.find(text) {
            Ok(number) => Ok(Relation(number)),
            Err(error) => match text.strip_prefix('^') {
                Some(base) => relations.find(base).map(|number| Relation(number).inverse()),
                None => Err(error),
            },
        }
    }

    fn vocab(&self, kind: Kind, first: u32, count: usize, slot: usize) -> Result<Vocab<'_>> {
        let strings = |text: u32| -> Result<Strings<'_>> {
            Ok(Strings { bytes: self.image.section(text)?, starts: self.image.section(text + 1)? })
        };
        let vocab = Vocab {
            kind,
            names: strings(first)?,
            by_name: self.image.section(first + 2)?,
            labels: strings(first + 3)?,
            by_label: self.image.section(first + 5)?,
            prefixes: self.prefixes()?,
        };
        self.check_once(slot, first, || {
            vocab.names.is_consistent(count)
                && vocab.labels.is_consistent(count)
                && vocab.by_name.len() == count
                && vocab.by_name.iter().chain(vocab.by_label).all(|&at| (at as usize) < count)
        })?;
        Ok(vocab)
    }

    /// Compares the checksums of the sections from `first` and a condition on them, once.
    fn check_once(&self, slot: usize, first: u32, sound: impl FnOnce() -> bool) -> Result<()> {
        if self.checked[slot].get().is_some() {
            return Ok(());
        }
        (first..first + section::PARTS).try_for_each(|kind| self.image.verify(kind))?;
        if !sound() {
            let what = format!("the numbers of section {first} do not fit together");
            return Err(Error::corrupt(self.image.path(), what));
        }
        self.checked[slot].get_or_init(|| ());
        Ok(())
    }

    fn text(&self, kind: u32) -> Result<&str> {
        self.image.verify(kind)?;
        std::str::from_utf8(self.image.section(kind)?)
            .map_err(|_| Error::corrupt(self.image.path(), format!("section {kind} is not UTF-8")))
    }
}
