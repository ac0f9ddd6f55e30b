//! BetaE: a set and an entity are Beta distributions, [α ‖ β] of each dimension; following a relation is a network;
//! an intersection is an average of parameters with learnt shares; a complement has the inverse parameters.
//!
//! As its published program computes it: the score is γ − Σ KL(entity ‖ set), and both the numbers of entities and
//! what the network gives are raised by 1 and clamped to [0.05, 10⁹].

use serde::{Deserialize, Serialize};
use skolem_kg::rng::Rng;
use skolem_nn::kernel::dot::{add_rows, dot};
use skolem_nn::kernel::l1::Weighted;
use skolem_nn::kernel::matmul::{Precision, View, matmul};
use skolem_nn::kernel::{beta, map};
use skolem_nn::op::positive::{self, positive};
use skolem_nn::op::{attention, average, projection};
use skolem_nn::{Real, rows};

use super::weights::{attend, attention_gradients, network, network_gradients, uniform};
use super::{Gradients, Layer, Level, Manner, Model, Settings, Tensor, Weights};
use crate::config::{TrainConfig, number, whole};
use crate::error::Result;
use crate::program::Program;

/// The settings of BetaE.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beta {
    /// Half the numbers of an entity: the distributions that it is.
    pub dim: usize,
    /// Width of the hidden layers of the network.
    pub hidden: usize,
    /// Number of these layers.
    pub depth: usize,
    /// The divergence at which a score is zero.
    pub gamma: f64,
}

impl Default for Beta {
    fn default() -> Self {
        Beta { dim: 400, hidden: 1600, depth: 2, gamma: 60.0 }
    }
}

impl Settings for Beta {
    fn fast(train: &mut TrainConfig) -> Beta {
        (train.entity_rate, train.coarse) = (8.0, false);
        Beta { dim: 200, hidden: 600, ..Beta::default() }
    }

    fn check(&self) -> Result<()> {
        whole("model.dim", self.dim, 1, 1 << 16)?;
        whole("model.hidden", self.hidden, 1, 1 << 16)?;
        whole("model.depth", self.depth, 1, 16)?;
        number("model.gamma", self.gamma, 0.0, 1e6)
    }

    fn card(&self) -> String {
        format!("Beta distributions (BetaE), d = {}, hidden width {}", self.dim, self.hidden)
    }

    fn width(&self) -> usize {
        2 * self.dim
    }

    fn measures(&self) -> &'static [&'static str] {
        &["entropy"]
    }

    fn relation_width(&self) -> usize {
        self.dim
    }

    fn layers(&self) -> Vec<Layer> {
        let mut layers = Layer::projection(self.width(), self.dim, self.hidden, self.depth);
        layers.extend(Layer::attention(self.width(), self.dim));
        layers
    }

    fn has_complement(&self) -> bool {
        true
    }
}

/// What BetaE remembers of forward.
#[derive(Default)]
pub struct Tape<F> {
    projection: projection::Tape<F>,
    attention: attention::Tape<F>,
    /// The vectors of the relations that are followed.
    relations: Vec<F>,
}

impl Beta {
    /// The tensors of the network come before those of attention.
    fn networks(&self) -> usize {
        2 * (self.depth + 1)
    }

    fn network<'a, F: Real>(&self, weights: &'a Weights<F>) -> projection::Network<'a, F> {
        network(&weights.dense[..self.networks()], self.width())
    }

    fn attend<'a, F: Real>(&self, weights: &'a Weights<F>) -> attention::Weights<'a, F> {
        attend(&weights.dense[self.networks()..])
    }

    /// Per-dimension differential entropy of a set.
    pub fn entropies<F: Real>(&self, set: &[F]) -> Vec<F> {
        let mut entropies = vec![F::zero(); self.dim];
        beta::entropies(&mut entropies, set);
        entropies
    }
}

impl<F: Real> Model<F> for Beta {
    type Tape = Tape<F>;

    fn weights(&self, entities: usize, relations: usize, rng: &mut Rng) -> Weights<F> {
        let range = (self.gamma + 2.0) / self.dim as f64;
        let mut table =
            |name, shape: [usize; 2]| Tensor::new(name, &shape, || uniform(rng, -range, range));
        let entities = table("entities", [entities, self.width()]);
        let relations = table("relations", [relations, self.dim]);
        Weights { entities, relations, dense: Layer::tensors(&self.layers(), rng) }
    }

    fn begin(&self, weights: &Weights<F>, program: &Program, manner: Manner, tape: &mut Tape<F>) {
        let Manner { dropout, precision } = manner;
        weights.followed(program, &mut tape.relations);
        let followed = program.followed(&tape.relations);
        self.network(weights).begin(followed, dropout, precision, &mut tape.projection);
        self.attend(weights).begin(program.operands.len(), precision, &mut tape.attention);
    }

    fn anchor(&self, entity: &[F], set: &mut [F]) {
        set.iter_mut().zip(entity).for_each(|(set, entity)| *set = positive(*entity));
    }

    fn follow(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let network = self.network(at.weights);
        let followed = at.program.followed(&tape.relations);
        network.forward(out, at.range, x, followed, &mut tape.projection);
        let bias = network.layers[self.depth].bias;
        rows::each(out, self.width(), |_, row| positive::forward(row, bias));
    }

    fn intersect(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let (attention, of) = (self.attend(at.weights), |group| at.program.operands_of(group));
        average::forward(attention, out, at.range, of, x, &mut tape.attention);
    }

    fn complement(&self, set: &mut [F]) {
        set.iter_mut().for_each(|x| *x = F::one() / *x);
    }

    fn begin_backward(&self, weights: &Weights<F>, _: &Program, tape: &mut Tape<F>) {
        self.network(weights).begin_backward(&mut tape.projection);
        self.attend(weights).begin_backward(&mut tape.attention);
    }

    fn anchor_backward(&self, entity: &[F], dset: &[F], dentity: &mut [F]) {
        let mut set = vec![F::zero(); entity.len()];
        self.anchor(entity, &mut set);
        let mut gradient = dset.to_vec();
        positive::backward(&mut gradient, &set);
        map::add(dentity, &gradient);
    }

    fn follow_backward(
        &self,
        at: Level<'_, F>,
        out: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        let width = self.width();
        let dy = &mut tape.projection.dy[at.range.start * width..at.range.end * width];
        rows::each(dy, width, |row, dy| {
            let here = row * width..(row + 1) * width;
            dy.copy_from_slice(&dout[here.clone()]);
            positive::backward(dy, &out[here]);
        });
        self.network(at.weights).backward(at.range, dx, &mut tape.projection);
    }

    fn intersect_backward(
        &self,
        at: Level<'_, F>,
        x: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        let (attention, of) = (self.attend(at.weights), |group| at.program.operands_of(group));
        average::backward(attention, dout, at.range, of, x, dx, &mut tape.attention);
    }

    fn complement_backward(&self, result: &[F], gradient: &mut [F]) {
        let each = gradient.iter_mut().zip(result);
        each.for_each(|(gradient, y)| *gradient *= -(*y * *y));
    }

    fn finish(
        &self,
        weights: &Weights<F>,
        program: &Program,
        inputs: &[F],
        operands: &[F],
        gradients: &mut Gradients<F>,
        tape: &mut Tape<F>,
    ) {
        let Gradients { relations, dense } = gradients;
        let (networks, attention) = dense.split_at_mut(self.networks());
        let (layers, followed) = (network_gradients(networks), program.followed(&tape.relations));
        let network = self.network(weights);
        network.finish(layers, relations, inputs, followed, &mut tape.projection);
        self.attend(weights).finish(attention_gradients(attention), operands, &tape.attention);
    }

    /// What `kernel::beta` calls [α ‖ β] and C of a set, [u ‖ v] and K of an entity.
    fn ready_width(&self) -> Option<usize> {
        Some(self.width() + 1)
    }

    fn ready_set(&self, set: &[F], ready: &mut [F]) {
        let (parameters, c) = ready.split_at_mut(self.width());
        c[0] = beta::features(parameters, set);
        parameters.copy_from_slice(set);
    }

    fn ready_entity(&self, entity: &[F], ready: &mut [F]) {
        let mut set = vec![F::zero(); self.width()];
        self.anchor(entity, &mut set);
        let (features, k) = ready.split_at_mut(self.width());
        let log_beta = beta::features(features, &set);
        k[0] = dot(features, &set) - log_beta;
    }

    fn score(&self, set: &[F], entity: &[F]) -> F {
        let (parameters, c) = set.split_at(self.width());
        let (features, k) = entity.split_at(self.width());
        F::of(self.gamma) - c[0] - k[0] + dot(parameters, features)
    }

    fn score_backward_set(&self, set: &[F], entities: Weighted<'_, F>, dset: &mut [F]) {
        // C has the set's own features as its gradient.
        let mut own = vec![F::zero(); self.width()];
        beta::features(&mut own, set);
        let all = entities.weights.iter().copied().sum::<F>();
        add_rows(dset, entities, self.width() + 1);
        map::add_scaled(dset, &own, -all);
    }

    fn score_backward_entity(&self, entity: &[F], sets: Weighted<'_, F>, dentity: &mut [F]) {
        let width = self.width();
        let [mut own, mut apart, mut gradient] = [(); 3].map(|()| vec![F::zero(); width]);
        self.anchor(entity, &mut own);
        let all = sets.weights.iter().copied().sum::<F>();
        add_rows(&mut apart, sets, width + 1);
        map::add_scaled(&mut apart, &own, -all);
        beta::add_features_backward(&mut gradient, &apart, &own);
        positive::backward(&mut gradient, &own);
        map::add(dentity, &gradient);
    }

    fn uncertainty(&self, _: &str, set: &[F]) -> Vec<F> {
        self.entropies(set)
    }

    fn scores(&self, sets: &[F], entities: &[F], out: &mut [F]) {
        let (width, step) = (self.width(), self.width() + 1);
        let columns = entities.len() / step;
        let [of_sets, of_entities] =
            [sets, entities].map(|rows| View::new(rows, step).columns(0, width));
        matmul(Precision::F32, out, columns, of_sets, of_entities.transposed(), false);
        let k: Vec<F> = entities.chunks_exact(step).map(|entity| entity[width]).collect();
        rows::each(out, columns, |at, out| {
            let own = F::of(self.gamma) - sets[at * step + width];
            out.iter_mut().zip(&k).for_each(|(score, k)| *score += own - *k);
        });
    }
}
