//! Query2Box: a set is a box [centre ‖ offset], an entity a point; following a relation moves the box and changes
//! its size; an intersection averages the centres and shrinks the least offset. There is no complement.
//!
//! As the program that BetaE was published with computes it: the score is γ less the distance outside the box and
//! a small part of that inside.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use skolem_kg::rng::Rng;
use skolem_nn::kernel::l1::Weighted;
use skolem_nn::kernel::{boxes, map};
use skolem_nn::op::{attention, average, shrink, translate};
use skolem_nn::{Real, rows};

use super::weights::{attend, attention_gradients, uniform};
use super::{Gradients, Layer, Level, Manner, Model, Settings, Tensor, Weights};
use crate::config::{TrainConfig, number, whole};
use crate::error::Result;
use crate::program::Program;

/// The settings of Query2Box.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query2Box {
    /// Numbers of an entity; a box has twice as many.
    pub dim: usize,
    /// The distance at which a score is zero.
    pub gamma: f64,
    /// What a distance inside the box costs, where one outside costs 1.
    pub inside: f64,
}

impl Default for Query2Box {
    fn default() -> Self {
        Query2Box { dim: 400, gamma: 24.0, inside: 0.02 }
    }
}

impl Settings for Query2Box {
    fn fast(train: &mut TrainConfig) -> Query2Box {
        (train.entity_rate, train.coarse, train.shared) = (4.0, false, 1024);
        Query2Box { dim: 200, ..Query2Box::default() }
    }

    fn check(&self) -> Result<()> {
        whole("model.dim", self.dim, 1, 1 << 16)?;
        number("model.gamma", self.gamma, 0.0, 1e6)?;
        number("model.inside", self.inside, 0.0, 1.0)
    }

    fn card(&self) -> String {
        format!("boxes (Query2Box), d = {}", self.dim)
    }

    fn width(&self) -> usize {
        2 * self.dim
    }

    fn entity_width(&self) -> usize {
        self.dim
    }

    fn measures(&self) -> &'static [&'static str] {
        &["size"]
    }

    fn relation_width(&self) -> usize {
        2 * self.dim
    }

    fn layers(&self) -> Vec<Layer> {
        let shrink =
            ["first", "last"].map(|at| Layer::new(format!("shrink.{at}"), self.dim, self.dim));
        Layer::attention(self.dim, self.dim).into_iter().chain(shrink).collect()
    }
}

/// What Query2Box remembers of forward.
#[derive(Default)]
pub struct Tape<F> {
    attention: attention::Tape<F>,
    shrink: shrink::Tape<F>,
    translate: translate::Tape<F>,
    /// The vectors of the relations that are followed.
    relations: Vec<F>,
    /// The operands of intersections, taken apart.
    centres: Vec<F>,
    offsets: Vec<F>,
}

impl Query2Box {
    /// Takes boxes apart.
    fn split<F: Real>(&self, boxes: &[F], centres: &mut [F], offsets: &mut [F]) {
        let d = self.dim;
        rows::each_two((centres, d), (offsets, d), |at, centre, offset| {
            let (from_centre, from_offset) = boxes[at * 2 * d..][..2 * d].split_at(d);
            centre.copy_from_slice(from_centre);
            offset.copy_from_slice(from_offset);
        });
    }

    /// Puts boxes together.
    fn join<F: Real>(&self, centres: &[F], offsets: &[F], boxes: &mut [F]) {
        let d = self.dim;
        rows::each(boxes, 2 * d, |at, row| {
            let (centre, offset) = row.split_at_mut(d);
            centre.copy_from_slice(&centres[at * d..][..d]);
            offset.copy_from_slice(&offsets[at * d..][..d]);
        });
    }

    /// Per-dimension size of a box: twice its offset, which counts as zero below it.
    pub fn sizes<F: Real>(&self, set: &[F]) -> Vec<F> {
        set[self.dim..].iter().map(|offset| F::of(2.0) * offset.max(F::zero())).collect()
    }
}

impl<F: Real> Model<F> for Query2Box {
    type Tape = Tape<F>;

    fn weights(&self, entities: usize, relations: usize, rng: &mut Rng) -> Weights<F> {
        let (d, range) = (self.dim, (self.gamma + 2.0) / self.dim as f64);
        let entities = Tensor::new("entities", &[entities, d], || uniform(rng, -range, range));
        let mut relations =
            Tensor::new("relations", &[relations, 2 * d], || uniform(rng, -range, range));
        // A relation makes a box larger at first.
        for row in relations.data.chunks_exact_mut(2 * d) {
            row[d..].iter_mut().for_each(|offset: &mut F| *offset = offset.abs());
        }
        Weights { entities, relations, dense: Layer::tensors(&self.layers(), rng) }
    }

    fn begin(&self, weights: &Weights<F>, program: &Program, manner: Manner, tape: &mut Tape<F>) {
        let (operands, groups) = (program.operands.len(), program.groups());
        weights.followed(program, &mut tape.relations);
        let (centre, offset) = weights.dense.split_at(4);
        attend(centre).begin(operands, manner.precision, &mut tape.attention);
        shrink::begin(attend(offset), operands, groups, manner.precision, &mut tape.shrink);
        rows::reuse(&mut tape.centres, operands * self.dim);
        rows::reuse(&mut tape.offsets, operands * self.dim);
    }

    fn anchor(&self, entity: &[F], set: &mut [F]) {
        let (centre, offset) = set.split_at_mut(self.dim);
        centre.copy_from_slice(entity);
        offset.fill(F::zero());
    }

    fn follow(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let followed = at.program.followed(&tape.relations);
        translate::forward(out, at.range, x, followed, 2 * self.dim);
    }

    fn intersect(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let Range { start, end } = at.program.operands_of_all(at.range.clone());
        let (d, of) = (self.dim, |group| at.program.operands_of(group));
        let Tape { attention, shrink, centres, offsets, .. } = tape;
        let here = start * d..end * d;
        let x = &x[start * 2 * d..end * 2 * d];
        self.split(x, &mut centres[here.clone()], &mut offsets[here]);
        let (centre, offset) = at.weights.dense.split_at(4);
        let [mut new_centres, mut new_offsets] =
            [(); 2].map(|()| vec![F::zero(); at.range.len() * d]);
        let range = at.range.clone();
        average::forward(attend(centre), &mut new_centres, range, of, centres, attention);
        shrink::forward(attend(offset), &mut new_offsets, at.range, of, offsets, shrink);
        self.join(&new_centres, &new_offsets, out);
    }

    fn begin_backward(&self, weights: &Weights<F>, program: &Program, tape: &mut Tape<F>) {
        attend(&weights.dense[..4]).begin_backward(&mut tape.attention);
        shrink::begin_backward(&mut tape.shrink);
        translate::begin_backward(program.inputs.len(), 2 * self.dim, &mut tape.translate);
    }

    fn anchor_backward(&self, _: &[F], dset: &[F], dentity: &mut [F]) {
        map::add(dentity, &dset[..self.dim]);
    }

    fn follow_backward(
        &self,
        at: Level<'_, F>,
        _: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        translate::backward(at.range, dout, dx, 2 * self.dim, &mut tape.translate);
    }

    fn intersect_backward(
        &self,
        at: Level<'_, F>,
        _: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        let of = |group| at.program.operands_of(group);
        let Tape { attention, shrink, centres, offsets, .. } = tape;
        let (centre, offset) = at.weights.dense.split_at(4);
        let [mut dcentres, mut doffsets] = [(); 2].map(|()| vec![F::zero(); dout.len() / 2]);
        self.split(dout, &mut dcentres, &mut doffsets);
        let [mut dx_centres, mut dx_offsets] = [(); 2].map(|()| vec![F::zero(); dx.len() / 2]);
        let (range, to) = (at.range.clone(), &mut dx_centres);
        average::backward(attend(centre), &dcentres, range, of, centres, to, attention);
        let (range, to) = (at.range, &mut dx_offsets);
        shrink::backward(attend(offset), &doffsets, range, of, offsets, to, shrink);
        self.join(&dx_centres, &dx_offsets, dx);
    }

    fn finish(
        &self,
        weights: &Weights<F>,
        program: &Program,
        _: &[F],
        _: &[F],
        gradients: &mut Gradients<F>,
        tape: &mut Tape<F>,
    ) {
        let Gradients { relations, dense } = gradients;
        let followed = program.followed(&tape.relations);
        translate::finish(relations, followed, 2 * self.dim, &tape.translate);
        let (centre, offset) = dense.split_at_mut(4);
        let attention = attend(&weights.dense[..4]);
        attention.finish(attention_gradients(centre), &tape.centres, &tape.attention);
        shrink::finish(attention_gradients(offset), &tape.offsets, &tape.shrink);
    }

    fn score(&self, set: &[F], entity: &[F]) -> F {
        F::of(self.gamma) - boxes::distance(set, entity, F::of(self.inside))
    }

    fn score_backward_set(&self, set: &[F], entities: Weighted<'_, F>, dset: &mut [F]) {
        boxes::add_to_box(dset, set, entities, F::of(self.inside), -F::one());
    }

    fn score_backward_entity(&self, entity: &[F], sets: Weighted<'_, F>, dentity: &mut [F]) {
        boxes::add_to_point(dentity, entity, sets, F::of(self.inside), -F::one());
    }

    fn uncertainty(&self, _: &str, set: &[F]) -> Vec<F> {
        self.sizes(set)
    }

    fn scores(&self, sets: &[F], entities: &[F], out: &mut [F]) {
        let d = self.dim;
        rows::each(out, entities.len() / d, |at, out| {
            let set = &sets[at * 2 * d..][..2 * d];
            let each = out.iter_mut().zip(entities.chunks_exact(d));
            each.for_each(|(score, entity)| *score = self.score(set, entity));
        });
    }
}
