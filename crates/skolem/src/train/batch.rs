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
    /// Negatives of all queries.
    pub shared: Shared,
    /// For each query the places in `shared` that it leaves out.
    pub left_out: Vec<Vec<u32>>,
    /// Every entity that a query of the batch names, once and in order.
    pub named: Vec<u32>,
    /// Places in the program's anchors, by entity.
    pub anchors: Vec<u32>,
}

/// Entities that all queries of a batch are scored against.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shared {
    /// These, in order.
    Listed(Vec<u32>),
    /// All there are.
    All,
}

impl Batch {
    /// Compiles a batch.
    pub fn new(items: &[Item], shared: Shared) -> Result<Batch> {
        let program = Program::compile(items.iter().map(|item| &item.query), Union::Disjuncts)?;
        let (mut own, mut own_starts) = (Vec::new(), vec![0]);
        for item in items {
            own.extend_from_slice(&item.positives);
            own.extend_from_slice(&item.negatives);
            own_starts.push(own.len() as u32);
        }
        let mut anchors: Vec<u32> = (0..program.anchors.len() as u32).collect();
        anchors.sort_by_key(|place| program.anchors[*place as usize]);
        let mut named: Vec<u32> = program.anchors.iter().map(|anchor| anchor.0).collect();
        named.extend_from_slice(&own);
        named.sort_unstable();
        named.dedup();
        Ok(Batch {
            program,
            weights: items.iter().map(|item| item.weight).collect(),
            own,
            own_starts,
            positives: items.iter().map(|item| item.positives.len() as u32).collect(),
            shared,
            left_out: items.iter().map(|item| item.left_out.clone()).collect(),
            named,
            anchors,
        })
    }
}
