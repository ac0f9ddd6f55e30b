//! How sets look in a vector space, and how far an entity is from one.
//!
//! A model is one file: what a followed relation, an intersection and a complement are, how well an
//! entity fits a set, and the gradients of these. Batching, training, evaluation and saving are
//! [`crate::pass`], [`crate::train`] and [`crate::store`], and know no model.

pub mod logic;
mod weights;

use std::ops::Range;

use skolem_kg::rng::Rng;
use skolem_nn::kernel::l1::Weighted;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::dropout::Dropout;
use skolem_nn::{Real, rows};

use crate::program::Program;

pub use logic::Logic;
pub use weights::{Gradients, Tensor, Weights};

/// A way to embed sets of entities.
///
/// Rows of all levels of a program have numbers of their own: rows of `Follow`, and operand rows of
/// intersections. What a level computes is handed over for its rows only.
pub trait Model<F: Real>: Send + Sync {
    /// What backward needs of forward; kept between batches for its memory.
    type Tape: Default + Send + Sync;

    /// Numbers that a set, and an entity, has.
    fn width(&self) -> usize;
    /// Numbers that a relation has.
    fn relation_width(&self) -> usize;
    /// Fresh weights.
    fn weights(&self, entities: usize, relations: usize, rng: &mut Rng) -> Weights<F>;
    /// Puts an entity back into the space, after an update moved it.
    fn repair(&self, entity: &mut [F]);

    /// Before the first level of a program.
    fn begin(&self, weights: &Weights<F>, program: &Program, manner: Manner, tape: &mut Self::Tape);
    /// Follows relations from the sets `x`, all rows of which are there up to this level.
    fn follow(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Self::Tape);
    /// Intersects the operands `x`, all rows of which are there up to this level.
    fn intersect(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Self::Tape);
    /// The complement of a set, in place.
    fn complement(&self, set: &mut [F]);

    /// Before the last level's gradients.
    fn begin_backward(&self, weights: &Weights<F>, program: &Program, tape: &mut Self::Tape);
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
    fn complement_backward(&self, result: &[F], gradient: &mut [F]);
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

    /// How well an entity fits a set; more is better.
    fn score(&self, set: &[F], entity: &[F]) -> F;
    /// Adds to the gradient of a set what the gradients of its scores with some entities make of it.
    fn score_backward_set(&self, set: &[F], entities: Weighted<'_, F>, dset: &mut [F]);
    /// Adds to the gradient of an entity what the gradients of its scores with some sets make of it.
    fn score_backward_entity(&self, entity: &[F], sets: Weighted<'_, F>, dentity: &mut [F]);
    /// a and b, if scores are a + b · Σ |set − entity| and all numbers are in [0, 1]: then they can be found
    /// with rounded numbers, too ([`skolem_nn::coarse`]).
    fn coarse(&self) -> Option<[f32; 2]> {
        None
    }

    /// The measures of how unsure the model is of a set, by name; none where it cannot tell.
    fn measures(&self) -> &'static [&'static str] {
        &[]
    }
    /// A measure of a set: its parts, one a dimension, whose sum it is.
    fn uncertainty(&self, _measure: &str, _set: &[F]) -> Vec<F> {
        Vec::new()
    }

    /// The scores of every set against every entity: `out` is [sets, entities]. A score does not depend on
    /// what else is scored.
    fn scores(&self, sets: &[F], entities: &[F], out: &mut [F]) {
        let (width, columns) = (self.width(), entities.len() / self.width());
        rows::each(out, columns, |at, out| {
            let set = &sets[at * width..][..width];
            for (score, entity) in out.iter_mut().zip(entities.chunks_exact(width)) {
                *score = self.score(set, entity);
            }
        });
    }
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
