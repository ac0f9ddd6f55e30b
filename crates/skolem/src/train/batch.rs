//! What one update learns from: queries, and the entities they are scored against.

use skolem_kg::Query;

use crate::error::Result;
use crate::program::{Program, Union};

/// A query of a batch.
#[derive(Clone, Debug)]
pub struct Item {
    /// What is asked.
    pub query: Query,
    /// Its weight in the loss.
    pub weight: f32,
    /// Entities that should score high.
    pub positives: Vec<u32>,
    /// Entities that should score low, for this query alone.
    pub negatives: Vec<u32>,
    /// Places in [`Batch::shared`] of entities that answer this query and so are no negatives.
    pub left_out: Vec<u32>,
}

/// Queries compiled, with everything that an update needs to find its way.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The queries.
    pub program: Program,
    /// The weight of each query in the loss.
    pub weights: Vec<f32>,
    /// Entities of each query alone; its positives come first.
    pub own: Vec<u32>,
    /// Those of query i are `own[own_starts[i]..own_starts[i + 1]]`.
    pub own_starts: Vec<u32>,
    /// How many of them are positives.
    pub positives: Vec<u32>,
    /// Negatives of all queries: distinct.
    pub shared: Vec<u32>,
    /// For each query the places in `shared` that it leaves out.
    pub left_out: Vec<Vec<u32>>,
    /// The same by entity.
    pub touched: Touched,
}

/// Every entity of a batch once, in order, and where it is used.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// The entities.
    pub entities: Vec<u32>,
    /// The uses of entity i are `uses[starts[i]..starts[i + 1]]`.
    pub starts: Vec<u32>,
    /// The uses.
    pub uses: Vec<Use>,
}

/// Where an entity is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Use {
    /// As this anchor of the program.
    Anchor(u32),
    /// As this place of `own`.
    Own(u32),
    /// As this place of `shared`.
    Shared(u32),
}

impl Batch {
    /// Compiles a batch.
    pub fn new(items: &[Item], shared: Vec<u32>) -> Result<Batch> {
        let program = Program::compile(items.iter().map(|item| &item.query), Union::Disjuncts)?;
        let (mut own, mut own_starts) = (Vec::new(), vec![0]);
        for item in items {
            own.extend_from_slice(&item.positives);
            own.extend_from_slice(&item.negatives);
            own_starts.push(own.len() as u32);
        }
        let touched = Touched::new(&program, &own, &shared);
        Ok(Batch {
            program,
            weights: items.iter().map(|item| item.weight).collect(),
            own,
            own_starts,
            positives: items.iter().map(|item| item.positives.len() as u32).collect(),
            shared,
            left_out: items.iter().map(|item| item.left_out.clone()).collect(),
            touched,
        })
    }
}

impl Touched {
    fn new(program: &Program, own: &[u32], shared: &[u32]) -> Touched {
        let mut all = Vec::with_capacity(own.len() + shared.len() + program.anchors.len());
        for (at, anchor) in program.anchors.iter().enumerate() {
            all.push((anchor.0, Use::Anchor(at as u32)));
        }
        all.extend(own.iter().enumerate().map(|(at, entity)| (*entity, Use::Own(at as u32))));
        all.extend(shared.iter().enumerate().map(|(at, entity)| (*entity, Use::Shared(at as u32))));
        // The order of uses is fixed, so that sums over them are.
        all.sort_unstable();
        let mut touched = Touched::default();
        for (entity, used) in all {
            if touched.entities.last() != Some(&entity) {
                touched.entities.push(entity);
                touched.starts.push(touched.uses.len() as u32);
            }
            touched.uses.push(used);
        }
        touched.starts.push(touched.uses.len() as u32);
        touched
    }

    /// The uses of an entity, by its place in `entities`.
    pub fn uses_of(&self, place: usize) -> &[Use] {
        &self.uses[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}
