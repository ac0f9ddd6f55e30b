//! GQE: a set and an entity are points; following a relation moves by its vector; an intersection is an average
//! with learnt shares. There is no complement.
//!
//! As the program that BetaE was published with computes it: the score is γ − Σ |set − entity|.

use serde::{Deserialize, Serialize};
use skolem_kg::rng::Rng;
use skolem_nn::Real;
use skolem_nn::kernel::l1::{self, Weighted};
use skolem_nn::op::{attention, average, distance, translate};

use super::weights::{attend, attention_gradients, uniform};
use super::{Gradients, Layer, Level, Manner, Model, Settings, Tensor, Weights};
use crate::config::{TrainConfig, number, whole};
use crate::error::Result;
use crate::program::Program;

/// The settings of GQE.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gqe {
    /// Numbers of an entity.
    pub dim: usize,
    /// The distance at which a score is zero.
    pub gamma: f64,
}

impl Default for Gqe {
    fn default() -> Self {
        Gqe { dim: 800, gamma: 24.0 }
    }
}

impl Settings for Gqe {
    fn fast(train: &mut TrainConfig) -> Gqe {
        (train.entity_rate, train.coarse, train.shared) = (4.0, false, 1024);
        Gqe { dim: 400, ..Gqe::default() }
    }

    fn check(&self) -> Result<()> {
        whole("model.dim", self.dim, 1, 1 << 16)?;
        number("model.gamma", self.gamma, 0.0, 1e6)
    }

    fn card(&self) -> String {
        format!("points (GQE), d = {}", self.dim)
    }

    fn width(&self) -> usize {
        self.dim
    }

    fn relation_width(&self) -> usize {
        self.dim
    }

    fn layers(&self) -> Vec<Layer> {
        Layer::attention(self.dim, self.dim).into()
    }
}

/// What GQE remembers of forward.
#[derive(Default)]
pub struct Tape<F> {
    attention: attention::Tape<F>,
    translate: translate::Tape<F>,
    /// The vectors of the relations that are followed.
    relations: Vec<F>,
}

impl<F: Real> Model<F> for Gqe {
    type Tape = Tape<F>;

    fn weights(&self, entities: usize, relations: usize, rng: &mut Rng) -> Weights<F> {
        let range = (self.gamma + 2.0) / self.dim as f64;
        let [entities, relations] =
            [("entities", entities), ("relations", relations)].map(|(name, count)| {
                Tensor::new(name, &[count, self.dim], || uniform(rng, -range, range))
            });
        Weights { entities, relations, dense: Layer::tensors(&self.layers(), rng) }
    }

    fn begin(&self, weights: &Weights<F>, program: &Program, manner: Manner, tape: &mut Tape<F>) {
        weights.followed(program, &mut tape.relations);
        attend(&weights.dense).begin(program.operands.len(), manner.precision, &mut tape.attention);
    }

    fn follow(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let followed = at.program.followed(&tape.relations);
        translate::forward(out, at.range, x, followed, self.dim);
    }

    fn intersect(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let (attention, of) = (attend(&at.weights.dense), |group| at.program.operands_of(group));
        average::forward(attention, out, at.range, of, x, &mut tape.attention);
    }

    fn begin_backward(&self, weights: &Weights<F>, program: &Program, tape: &mut Tape<F>) {
        attend(&weights.dense).begin_backward(&mut tape.attention);
        translate::begin_backward(program.inputs.len(), self.dim, &mut tape.translate);
    }

    fn follow_backward(
        &self,
        at: Level<'_, F>,
        _: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        translate::backward(at.range, dout, dx, self.dim, &mut tape.translate);
    }

    fn intersect_backward(
        &self,
        at: Level<'_, F>,
        x: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        let (attention, of) = (attend(&at.weights.dense), |group| at.program.operands_of(group));
        average::backward(attention, dout, at.range, of, x, dx, &mut tape.attention);
    }

    fn finish(
        &self,
        weights: &Weights<F>,
        program: &Program,
        _: &[F],
        operands: &[F],
        gradients: &mut Gradients<F>,
        tape: &mut Tape<F>,
    ) {
        let Gradients { relations, dense } = gradients;
        let followed = program.followed(&tape.relations);
        translate::finish(relations, followed, self.dim, &tape.translate);
        attend(&weights.dense).finish(attention_gradients(dense), operands, &tape.attention);
    }

    fn score(&self, set: &[F], entity: &[F]) -> F {
        F::of(self.gamma) - l1::l1(set, entity)
    }

    fn score_backward_set(&self, set: &[F], entities: Weighted<'_, F>, dset: &mut [F]) {
        l1::add_signs(dset, set, entities, -F::one());
    }

    fn score_backward_entity(&self, entity: &[F], sets: Weighted<'_, F>, dentity: &mut [F]) {
        l1::add_signs(dentity, entity, sets, -F::one());
    }

    fn scores(&self, sets: &[F], entities: &[F], out: &mut [F]) {
        let gamma = F::of(self.gamma);
        distance::scores(sets, entities, self.dim, out, |sum| gamma - sum);
    }
}
