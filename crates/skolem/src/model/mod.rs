//! How sets look in a vector space, and how far an entity is from one.
//!
//! A model is one file: its settings, what a followed relation, an intersection and a complement are, how well
//! an entity fits a set, and the gradients of these. Batching, training, evaluation and saving are
//! [`crate::pass`], [`crate::train`] and [`crate::store`], and know no model.

pub mod beta;
pub mod gqe;
mod kind;
pub mod logic;
pub mod query2box;
mod weights;

use std::fmt::Debug;
use std::ops::Range;

use skolem_kg::rng::Rng;
use skolem_nn::kernel::l1::Weighted;
use skolem_nn::kernel::map;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::dropout::Dropout;
use skolem_nn::{Real, rows};

use crate::config::TrainConfig;
use crate::error::Result;
use crate::program::Program;

pub use beta::Beta;
pub use gqe::Gqe;
pub use kind::{Kind, with_model};
pub use logic::Logic;
pub use query2box::Query2Box;
pub use weights::{Gradients, Layer, Tensor, Weights};

/// The settings of a model: its section of the config. Those of `Default` are as published.
pub trait Settings: Debug + Send + Sync {
    /// Those of the recipe `fast`, and what learning with them needs to be different.
    fn fast(train: &mut TrainConfig) -> Self
    where
        Self: Sized;
    /// Refuses values that make no sense.
    fn check(&self) -> Result<()>;
    /// The model in a few words, for its card.
    fn card(&self) -> String;

    /// Numbers that a set has.
    fn width(&self) -> usize;
    /// Numbers that an entity has.
    fn entity_width(&self) -> usize {
        self.width()
    }
    /// Numbers that a relation has.
    fn relation_width(&self) -> usize;
    /// The layers of its networks.
    fn layers(&self) -> Vec<Layer>;
    /// Whether sets have complements. Without them, questions with a negation are refused.
    fn has_complement(&self) -> bool {
        false
    }
    /// How far around ½ the first numbers of entities are spread, if these are made from the graph
    /// ([`crate::train::first`]).
    fn spread_from_graph(&self) -> Option<f64> {
        None
    }
    /// The measures of how unsure the model is of a set, by name; none where it cannot tell.
    fn measures(&self) -> &'static [&'static str] {
        &[]
    }
    /// How true a score says it is that an entity belongs to a set, if the model has truth values.
    fn satisfiability(&self, _score: f32) -> Option<f32> {
        None
    }
}

/// A way to embed sets of entities.
///
/// Rows of all levels of a program have numbers of their own: rows of `Follow`, and operand rows of
/// intersections. What a level computes is handed over for its rows only.
pub trait Model<F: Real>: Settings + Clone {
    /// What backward needs of forward; kept between batches for its memory.
    type Tape: Default + Send + Sync;

    /// Fresh weights.
    fn weights(&self, entities: usize, relations: usize, rng: &mut Rng) -> Weights<F>;
    /// Puts an entity back into the space, after an update moved it.
    fn repair(&self, _entity: &mut [F]) {}

    /// Before the first level of a program.
    fn begin(&self, weights: &Weights<F>, program: &Program, manner: Manner, tape: &mut Self::Tape);
    /// The set of one entity.
    fn anchor(&self, entity: &[F], set: &mut [F]) {
        set.copy_from_slice(entity);
    }
    /// Follows relations from the sets `x`, all rows of which are there up to this level.
    fn follow(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Self::Tape);
    /// Intersects the operands `x`, all rows of which are there up to this level.
    fn intersect(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Self::Tape);
    /// The complement of a set, in place; only asked for if [`Settings::has_complement`].
    fn complement(&self, _set: &mut [F]) {}

    /// Before the last level's gradients.
    fn begin_backward(&self, weights: &Weights<F>, program: &Program, tape: &mut Self::Tape);
    /// Adds to the gradient of an entity what the gradient of its set makes of it.
    fn anchor_backward(&self, _entity: &[F], dset: &[F], dentity: &mut [F]) {
        map::add(dentity, dset);
    }
    /// From the gradient of the results of `follow`, which may be overwritten, to that of these rows of
    /// its input.
    fn follow_backward(
        &self,
        at: Level<'_, F>,
        out: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Self::Tape,
    );
    /// The same for `intersect`.
    fn intersect_backward(
        &self,
        at: Level<'_, F>,
        x: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Self::Tape,
    );
    /// The same for `complement`, in place, given its result.
    fn complement_backward(&self, _result: &[F], _gradient: &mut [F]) {}
    /// The gradients of the weights, after the gradients of all levels.
    fn finish(
        &self,
        weights: &Weights<F>,
        program: &Program,
        inputs: &[F],
        operands: &[F],
        gradients: &mut Gradients<F>,
        tape: &mut Self::Tape,
    );

    /// Numbers of a set, and of an entity, that is ready to be scored: where a score has parts that depend on
    /// one of the two alone, they are computed once. `None` if they are ready as they are.
    fn ready_width(&self) -> Option<usize> {
        None
    }
    /// Makes a set ready.
    fn ready_set(&self, _set: &[F], _ready: &mut [F]) {}
    /// Makes an entity ready.
    fn ready_entity(&self, _entity: &[F], _ready: &mut [F]) {}

    /// How well an entity fits a set, both ready; more is better.
    fn score(&self, set: &[F], entity: &[F]) -> F;
    /// Adds to the gradient of a set what the gradients of its scores with some entities, which are ready,
    /// make of it.
    fn score_backward_set(&self, set: &[F], entities: Weighted<'_, F>, dset: &mut [F]);
    /// Adds to the gradient of an entity what the gradients of its scores with some sets, which are ready,
    /// make of it.
    fn score_backward_entity(&self, entity: &[F], sets: Weighted<'_, F>, dentity: &mut [F]);
    /// a and b, if scores are a + b · Σ |set − entity| and all numbers are in [0, 1]: then they can be found
    /// with rounded numbers, too ([`skolem_nn::coarse`]).
    fn coarse(&self) -> Option<[f32; 2]> {
        None
    }
    /// A measure of how unsure the model is of a set ([`Settings::measures`]): its parts, one a dimension,
    /// whose sum it is.
    fn uncertainty(&self, _measure: &str, _set: &[F]) -> Vec<F> {
        Vec::new()
    }
    /// The scores of a set against some rows of a table of entities, for models with [`Model::coarse`] scores: to
    /// the bit as `scores` finds them.
    fn scores_of(&self, set: &[F], table: &[F], rows: &[u32], out: &mut [F]) {
        for (out, row) in out.iter_mut().zip(rows) {
            *out = self.score(set, &table[*row as usize * set.len()..][..set.len()]);
        }
    }
    /// The scores of every set against every entity, all ready: `out` is [sets, entities]. A score does not
    /// depend on what else is scored.
    fn scores(&self, sets: &[F], entities: &[F], out: &mut [F]);
}

/// Sets that are ready to be scored, in this buffer if they were not.
pub(crate) fn ready_sets<'a, F: Real, M: Model<F>>(
    model: &M,
    sets: &'a [F],
    buffer: &'a mut Vec<F>,
) -> &'a [F] {
    let Some(width) = model.ready_width() else { return sets };
    let step = model.width();
    let ready = rows::reuse(buffer, sets.len() / step * width);
    rows::each(ready, width, |at, ready| model.ready_set(&sets[at * step..][..step], ready));
    ready
}

/// Entities that are ready to be scored, in this buffer if they were not.
pub(crate) fn ready_entities<'a, F: Real, M: Model<F>>(
    model: &M,
    entities: &'a [F],
    buffer: &'a mut Vec<F>,
) -> &'a [F] {
    let Some(width) = model.ready_width() else { return entities };
    let step = model.entity_width();
    let ready = rows::reuse(buffer, entities.len() / step * width);
    rows::each(ready, width, |at, ready| model.ready_entity(&entities[at * step..][..step], ready));
    ready
}

/// How a program is run. The default is for answers: nothing is dropped, and products are of `f32`.
#[derive(Clone, Copy, Default, Debug)]
pub struct Manner {
    /// What is dropped of hidden layers.
    pub dropout: Dropout,
    /// What the numbers of products are rounded to.
    pub precision: Precision,
}

/// Part of a program that is being run.
#[derive(Clone)]
pub struct Level<'a, F> {
    /// The weights.
    pub weights: &'a Weights<F>,
    /// The program.
    pub program: &'a Program,
    /// Rows of `Follow`, or groups of intersections.
    pub range: Range<usize>,
}
