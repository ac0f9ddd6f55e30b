//! LogicE: a set is a vector of truth values, or of bounds [l ‖ u] on them; set operations are
//! real-valued logic on them; following a relation is a learnt Skolem function.
//!
//! As the paper's published program computes it, which differs from the paper in the 100 of the score.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use skolem_kg::rng::Rng;
use skolem_nn::kernel::l1::{self, Weighted};
use skolem_nn::kernel::map;
use skolem_nn::op::attention::{self, normalise, normalise_backward};
use skolem_nn::op::projection::{self, Network};
use skolem_nn::op::tnorm::{self, Rows, TNorm};
use skolem_nn::op::{bounds, distance};
use skolem_nn::{Real, rows};

use super::weights::{attend, attention_gradients, network, network_gradients, uniform};
use super::{Gradients, Layer, Level, Manner, Model, Settings, Tensor, Weights};
use crate::config::{TrainConfig, named, number, whole};
use crate::error::Result;
use crate::program::Program;

/// The settings of LogicE.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logic {
    /// Half the numbers of an entity: d in the paper.
    pub dim: usize,
    /// Width of the hidden layers of the Skolem function.
    pub hidden: usize,
    /// Number of these layers.
    pub depth: usize,
    /// The conjunction: `luk`, `prod` or `min`.
    #[serde(with = "named")]
    pub tnorm: TNorm,
    /// Whether a truth value has a lower and an upper bound.
    pub bounds: bool,
    /// Whether the operands of an intersection have learnt weights.
    pub attention: bool,
    /// Whether the Łukasiewicz clamp lets all gradients through.
    pub transparent: bool,
    /// The distance at which a score is zero.
    pub gamma: f64,
    /// What a distance of 1 costs.
    pub scale: f64,
    /// The first truth values of entities: `random`, or made from the `graph`, so that entities that have
    /// relations and neighbours in common start close to each other.
    #[serde(with = "named")]
    pub first: First,
    /// How far around ½ these are spread: 1 for all of [0, 1].
    pub spread: f64,
    /// The first numbers of relations are between this and its negative; 0 for the paper's (γ + 2)/d.
    pub relation_range: f64,
    /// What the first weights of the Skolem function on the numbers of a set are multiplied with; unless it
    /// is 1, a set whose numbers are all ½ adds nothing at first.
    pub input_gain: f64,
}

/// Where the first truth values of entities are from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// From chance.
    Random,
    /// From the graph.
    Graph,
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["random", "graph"][*self as usize])
    }
}

impl FromStr for First {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found =
            [First::Random, First::Graph].into_iter().find(|first| first.to_string() == text);
        found.ok_or_else(|| format!("unknown model.first '{text}' (one of random, graph)"))
    }
}

impl Default for Logic {
    fn default() -> Self {
        Logic {
            dim: 400,
            hidden: 1600,
            depth: 2,
            tnorm: TNorm::Lukasiewicz,
            bounds: false,
            attention: true,
            transparent: false,
            gamma: 0.375,
            scale: 100.0,
            first: First::Random,
            spread: 1.0,
            relation_range: 0.0,
            input_gain: 1.0,
        }
    }
}

/// What LogicE remembers of forward.
#[derive(Default)]
pub struct Tape<F> {
    projection: projection::Tape<F>,
    attention: attention::Tape<F>,
    /// The vectors of the relations that are followed.
    relations: Vec<F>,
    /// What σ gave, where bounds were made of it: it cannot be told from them when l is near 1.
    shares: Vec<F>,
    /// Results of intersections before they were clamped or repaired, and the minimum's totals.
    before: Vec<F>,
    totals: Vec<F>,
    /// The weights of operands without attention.
    ones: Vec<F>,
}

impl Logic {
    /// Numbers of attention's result.
    fn columns(&self) -> usize {
        if self.bounds { self.dim } else { 2 * self.dim }
    }

    /// The tensors of the Skolem function, and after them those of attention.
    fn split<'a, T>(&self, dense: &'a [T]) -> (&'a [T], &'a [T]) {
        dense.split_at(2 * (self.depth + 1))
    }

    fn network<'a, F: Real>(&self, weights: &'a Weights<F>) -> Network<'a, F> {
        network(self.split(&weights.dense).0, 2 * self.dim)
    }

    fn attend<'a, F: Real>(&self, weights: &'a Weights<F>) -> Option<attention::Weights<'a, F>> {
        self.attention.then(|| attend(self.split(&weights.dense).1))
    }

    /// The parts of a row that have weights of their own: all of it, or with bounds l and u, whose
    /// weights are the same.
    fn parts(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let columns = self.columns();
        (0..2 * self.dim).step_by(columns).map(move |from| from..from + columns)
    }

    /// Whether the product has no weights.
    fn plain_product(&self) -> bool {
        self.tnorm == TNorm::Product && !self.attention
    }

    /// One intersection of `k` operands.
    fn conjunction<F: Real>(
        &self,
        x: &[F],
        a: Rows<'_, F>,
        k: usize,
        out: &mut [F],
        totals: &mut [F],
    ) {
        let width = 2 * self.dim;
        for part in self.parts() {
            let x = Rows { data: &x[part.start..], step: width };
            let out = &mut out[part.clone()];
            match self.tnorm {
                TNorm::Lukasiewicz => tnorm::lukasiewicz(out, x, a, k),
                TNorm::Product if self.attention => tnorm::weighted_product(out, x, a, k),
                TNorm::Product => tnorm::product(out, x, k),
                TNorm::Minimum => tnorm::minimum(out, &mut totals[part], x, a, k),
            }
        }
    }

    /// After the conjunction: its clamp or its repair.
    fn settle<F: Real>(&self, out: &mut [F]) {
        match self.tnorm {
            TNorm::Lukasiewicz => bounds::clamp(out),
            TNorm::Minimum if self.bounds => bounds::repair(out),
            _ => {}
        }
    }

    fn settle_backward<F: Real>(&self, before: &[F], gradient: &mut [F]) {
        match self.tnorm {
            TNorm::Lukasiewicz if !self.transparent => {
                for (gradient, before) in gradient.iter_mut().zip(before) {
                    let inside = *before >= F::zero() && *before <= F::one();
                    *gradient = if inside { *gradient } else { F::zero() };
                }
            }
            TNorm::Minimum if self.bounds => bounds::repair_backward(gradient, before),
            _ => {}
        }
    }

    /// Per-dimension logarithm of the width of the bounds: the paper's entropy.
    pub fn entropies<F: Real>(&self, set: &[F]) -> Vec<F> {
        let (lower, upper) = set.split_at(self.dim);
        lower.iter().zip(upper).map(|(l, u)| (*u + F::of(1e-6) - *l).ln()).collect()
    }

    /// Per-dimension width of the bounds.
    pub fn intervals<F: Real>(&self, set: &[F]) -> Vec<F> {
        let (lower, upper) = set.split_at(self.dim);
        lower.iter().zip(upper).map(|(l, u)| *u - *l).collect()
    }
}

impl Settings for Logic {
    fn fast(_: &mut TrainConfig) -> Logic {
        Logic {
            dim: 200,
            hidden: 1000,
            gamma: 0.22,
            first: First::Graph,
            spread: 0.5,
            relation_range: 2.0,
            input_gain: 6.0,
            ..Logic::default()
        }
    }

    fn check(&self) -> Result<()> {
        whole("model.dim", self.dim, 1, 1 << 16)?;
        whole("model.hidden", self.hidden, 1, 1 << 16)?;
        whole("model.depth", self.depth, 1, 16)?;
        number("model.gamma", self.gamma, 0.0, 1e6)?;
        number("model.scale", self.scale, 1e-6, 1e6)?;
        number("model.relation_range", self.relation_range, 0.0, 100.0)?;
        number("model.input_gain", self.input_gain, 1e-3, 1e3)?;
        number("model.spread", self.spread, 0.0, 1.0)
    }

    fn card(&self) -> String {
        let kind = if self.bounds { "truth bounds" } else { "truth points" };
        let Logic { tnorm, dim, hidden, .. } = self;
        format!("{kind}, t-norm {tnorm}, d = {dim}, hidden width {hidden}")
    }

    fn width(&self) -> usize {
        2 * self.dim
    }

    fn relation_width(&self) -> usize {
        self.dim
    }

    fn layers(&self) -> Vec<Layer> {
        let mut layers = Layer::projection(self.width(), self.dim, self.hidden, self.depth);
        if self.attention {
            layers.extend(Layer::attention(self.width(), self.columns()));
        }
        layers
    }

    fn has_complement(&self) -> bool {
        true
    }

    fn spread_from_graph(&self) -> Option<f64> {
        (self.first == First::Graph).then_some(self.spread)
    }

    fn measures(&self) -> &'static [&'static str] {
        if self.bounds { &["entropy", "interval"] } else { &[] }
    }

    fn satisfiability(&self, score: f32) -> Option<f32> {
        // The score is scale · (γ − D).
        Some(1.0 - (self.gamma as f32 - score / self.scale as f32))
    }
}

impl<F: Real> Model<F> for Logic {
    type Tape = Tape<F>;

    fn weights(&self, entities: usize, relations: usize, rng: &mut Rng) -> Weights<F> {
        let d = self.dim;
        let mut table = Tensor::new("entities", &[entities, 2 * d], || uniform(rng, 0.0, 1.0));
        if self.bounds {
            // u = l + share·(1 − l)
            table.data.chunks_exact_mut(2 * d).for_each(bounds::widen);
        }
        if self.spread != 1.0 {
            let (half, spread) = (F::of(0.5), F::of(self.spread));
            table.data.iter_mut().for_each(|x| *x = half + spread * (*x - half));
        }
        let published = (self.gamma + 2.0) / d as f64;
        let range = if self.relation_range > 0.0 { self.relation_range } else { published };
        let vectors = Tensor::new("relations", &[relations, d], || uniform(rng, -range, range));
        let mut dense = Layer::tensors(&self.layers(), rng);
        if self.input_gain != 1.0 {
            let [weight, bias, ..] = &mut dense[..] else { unreachable!("three layers at least") };
            let (gain, half) = (F::of(self.input_gain), F::of(0.5));
            for (row, bias) in weight.data.chunks_exact_mut(3 * d).zip(&mut bias.data) {
                for weight in &mut row[..2 * d] {
                    *weight *= gain;
                    *bias -= half * *weight;
                }
            }
        }
        Weights { entities: table, relations: vectors, dense }
    }

    fn repair(&self, entity: &mut [F]) {
        bounds::clamp(entity);
        if self.bounds {
            bounds::repair(entity);
        }
    }

    fn begin(&self, weights: &Weights<F>, program: &Program, manner: Manner, tape: &mut Tape<F>) {
        let Manner { dropout, precision } = manner;
        weights.followed(program, &mut tape.relations);
        let followed = program.followed(&tape.relations);
        self.network(weights).begin(followed, dropout, precision, &mut tape.projection);
        if let Some(attention) = self.attend(weights) {
            attention.begin(program.operands.len(), precision, &mut tape.attention);
        }
        if self.bounds {
            rows::reuse(&mut tape.shares, program.inputs.len() * 2 * self.dim);
        }
        let groups = program.groups();
        rows::reuse(&mut tape.before, groups * 2 * self.dim);
        if self.tnorm == TNorm::Minimum {
            rows::reuse(&mut tape.totals, groups * 2 * self.dim);
        }
        tape.ones.resize(self.columns(), F::one());
    }

    fn follow(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let network = self.network(at.weights);
        let first = at.range.start;
        let relations = at.program.followed(&tape.relations);
        network.forward(out, at.range, x, relations, &mut tape.projection);
        let bias = network.layers[self.depth].bias;
        let width = 2 * self.dim;
        if !self.bounds {
            return rows::each(out, width, |_, row| map::add_sigmoid(row, bias));
        }
        let shares = &mut tape.shares[first * width..][..out.len()];
        rows::each_two((out, width), (shares, width), |_, row, shares| {
            map::add_sigmoid(row, bias);
            shares.copy_from_slice(row);
            bounds::widen(row);
        });
    }

    fn intersect(&self, at: Level<'_, F>, x: &[F], out: &mut [F], tape: &mut Tape<F>) {
        let (width, columns) = (2 * self.dim, self.columns());
        let first = at.range.start;
        let operands = at.program.operands_of_all(at.range.clone());
        let attention = self.attend(at.weights);
        if let Some(attention) = attention {
            attention.forward(operands.clone(), x, &mut tape.attention);
            // Groups differ in size, so they are found by their number.
            let a = &mut tape.attention.a[operands.start * columns..operands.end * columns];
            let sizes = at.range.clone().map(|group| at.program.operands_of(group).len());
            rows::each_group(a, columns, sizes, |_, a| {
                normalise(a, &mut vec![F::zero(); columns], a.len() / columns, columns);
            });
        }
        let Tape { attention: taped, before, totals, ones, .. } = tape;
        let here = first * width..at.range.end * width;
        let totals = if totals.is_empty() { &mut [][..] } else { &mut totals[here.clone()] };
        let totals_width = if totals.is_empty() { 0 } else { width };
        rows::each_two(
            (&mut before[here], width),
            (totals, totals_width),
            |row, before, totals| {
                let operands = at.program.operands_of(first + row);
                let x = &x[operands.start * width..operands.end * width];
                let a = match attention.is_some() {
                    true => Rows { data: &taped.a[operands.start * columns..], step: columns },
                    false => Rows { data: &ones[..], step: 0 },
                };
                self.conjunction(x, a, operands.len(), before, totals);
            },
        );
        let before = &before[first * width..];
        rows::each(out, width, |row, out| {
            out.copy_from_slice(&before[row * width..][..width]);
            self.settle(out);
        });
    }

    fn complement(&self, set: &mut [F]) {
        if self.bounds {
            let (lower, upper) = set.split_at_mut(self.dim);
            for (l, u) in lower.iter_mut().zip(upper) {
                (*l, *u) = (F::one() - *u, F::one() - *l);
            }
        } else {
            set.iter_mut().for_each(|x| *x = F::one() - *x);
        }
    }

    fn begin_backward(&self, weights: &Weights<F>, _: &Program, tape: &mut Tape<F>) {
        self.network(weights).begin_backward(&mut tape.projection);
        if let Some(attention) = self.attend(weights) {
            attention.begin_backward(&mut tape.attention);
        }
    }

    fn follow_backward(
        &self,
        at: Level<'_, F>,
        out: &[F],
        dout: &mut [F],
        dx: &mut [F],
        tape: &mut Tape<F>,
    ) {
        let width = 2 * self.dim;
        let here = at.range.start * width..at.range.end * width;
        let dy = &mut tape.projection.dy[here.clone()];
        let result = if self.bounds { &tape.shares[here] } else { out };
        rows::each_two((dy, width), (dout, width), |row, dy, dout| {
            let result = &result[row * width..][..width];
            if self.bounds {
                bounds::widen_backward(dout, result);
            }
            map::sigmoid_backward(dout, result);
            dy.copy_from_slice(dout);
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
        let (width, columns) = (2 * self.dim, self.columns());
        let first = at.range.start;
        let operands = at.program.operands_of_all(at.range.clone());
        let Tape { attention: taped, before, totals, ones, .. } = tape;
        rows::each(dout, width, |row, dout| {
            self.settle_backward(&before[(first + row) * width..][..width], dout);
        });
        let attention = self.attend(at.weights);
        let attention::Tape { a, dz, .. } = &mut *taped;
        let mut none = Vec::new();
        let dz = match attention.is_some() {
            true => &mut dz[operands.start * columns..operands.end * columns],
            false => rows::reuse(&mut none, operands.len() * columns),
        };
        let sizes: Vec<usize> =
            at.range.clone().map(|group| at.program.operands_of(group).len()).collect();
        rows::each_group_two((&mut *dx, width), (dz, columns), &sizes, |group, dx, da| {
            da.fill(F::zero());
            let rows = at.program.operands_of(first + group);
            let k = rows.len();
            let here = (first + group) * width;
            let (y, dy) = (&before[here..][..width], &dout[group * width..][..width]);
            let x = &x[rows.start * width..rows.end * width];
            let weights = match attention.is_some() {
                true => Rows { data: &a[rows.start * columns..rows.end * columns], step: columns },
                false => Rows { data: &ones[..], step: 0 },
            };
            for operand in 0..k {
                for part in self.parts() {
                    let dx = &mut dx[operand * width..][part.clone()];
                    let da = &mut da[operand * columns..][..columns];
                    let a = &weights.data[operand * weights.step..][..columns];
                    let own = &x[operand * width..][part.clone()];
                    let dy = &dy[part.clone()];
                    match self.tnorm {
                        TNorm::Lukasiewicz => tnorm::lukasiewicz_backward(dx, da, dy, own, a),
                        TNorm::Product if self.plain_product() => {
                            let x = Rows { data: &x[part.start..], step: width };
                            tnorm::product_backward(dx, dy, x, k, operand);
                        }
                        TNorm::Product => {
                            tnorm::weighted_product_backward(dx, da, dy, &y[part], own, a);
                        }
                        TNorm::Minimum => {
                            let totals = &totals[here..][part.clone()];
                            tnorm::minimum_backward(dx, da, dy, &y[part], totals, own, a);
                        }
                    }
                }
            }
            if attention.is_some() {
                normalise_backward(da, &mut vec![F::zero(); columns], weights, k, columns);
            }
        });
        if let Some(attention) = attention {
            attention.backward(operands, dx, taped);
        }
    }

    fn complement_backward(&self, _: &[F], gradient: &mut [F]) {
        if self.bounds {
            let (dl, du) = gradient.split_at_mut(self.dim);
            for (dl, du) in dl.iter_mut().zip(du) {
                (*dl, *du) = (-*du, -*dl);
            }
        } else {
            gradient.iter_mut().for_each(|x| *x = -*x);
        }
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
        let Gradients { relations: dvectors, dense } = gradients;
        let (projection, attention) = dense.split_at_mut(2 * (self.depth + 1));
        let relations = program.followed(&tape.relations);
        let layers = network_gradients(projection);
        self.network(weights).finish(layers, dvectors, inputs, relations, &mut tape.projection);
        if let Some(weights) = self.attend(weights) {
            weights.finish(attention_gradients(attention), operands, &tape.attention);
        }
    }

    fn score(&self, set: &[F], entity: &[F]) -> F {
        let distance = l1::l1(set, entity) / F::of(set.len() as f64);
        F::of(self.scale) * (F::of(self.gamma) - distance)
    }

    fn score_backward_set(&self, set: &[F], entities: Weighted<'_, F>, dset: &mut [F]) {
        l1::add_signs(dset, set, entities, F::of(-self.scale / set.len() as f64));
    }

    fn score_backward_entity(&self, entity: &[F], sets: Weighted<'_, F>, dentity: &mut [F]) {
        self.score_backward_set(entity, sets, dentity);
    }

    fn coarse(&self) -> Option<[f32; 2]> {
        let width = 2.0 * self.dim as f64;
        Some([self.scale * self.gamma, -self.scale / width].map(|number| number as f32))
    }

    fn uncertainty(&self, measure: &str, set: &[F]) -> Vec<F> {
        match measure {
            "entropy" => self.entropies(set),
            _ => self.intervals(set),
        }
    }

    fn scores_of(&self, set: &[F], table: &[F], rows: &[u32], out: &mut [F]) {
        l1::l1_listed(out, table, rows, set);
        let (scale, gamma, share) = (F::of(self.scale), F::of(self.gamma), F::of(set.len() as f64));
        out.iter_mut().for_each(|sum| *sum = scale * (gamma - *sum / share));
    }

    fn scores(&self, sets: &[F], entities: &[F], out: &mut [F]) {
        let width = 2 * self.dim;
        let (scale, gamma, share) = (F::of(self.scale), F::of(self.gamma), F::of(width as f64));
        distance::scores(sets, entities, width, out, |sum| scale * (gamma - sum / share));
    }
}
