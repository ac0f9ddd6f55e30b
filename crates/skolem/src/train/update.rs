//! One update: embed the queries, score the entities, and move all weights against the gradient.
//!
//! Scores and their gradients are numbers; nothing of size queries × entities × width ever exists. The
//! gradient of an entity is made when its row is at hand, added up from all places that used it, and
//! taken by Adam at once.

use skolem_nn::Real;
use skolem_nn::kernel::map;
use skolem_nn::op::loss::Loss;
use skolem_nn::optim::{Adam, State, Step};
use skolem_nn::rows::{self, Table};

use super::batch::{Batch, Use};
use crate::error::{Error, Result};
use crate::model::{Gradients, Model, Weights};
use crate::pass::Pass;

/// How updates are made.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The loss.
    pub loss: Loss,
    /// Share of the weight that positives give to all negatives (softmax).
    pub smoothing: f64,
    /// Gradients of scores below this share of a query's weight count as zero.
    pub negligible: f64,
    /// How many times faster entities learn than networks and relations.
    pub entity_rate: f64,
    /// The optimiser.
    pub adam: Adam,
    /// Whether entities that a batch does not touch wait for their momentum until they are touched.
    pub lazy: bool,
    /// A loss above this counts as diverged.
    pub most_loss: f64,
}

/// Adam's moments.
#[derive(Clone, PartialEq, Debug)]
pub struct Moments<F> {
    /// Running means of the gradients, tensor by tensor in the order of [`Weights::all`].
    pub m: Vec<Vec<F>>,
    /// Running means of their squares.
    pub v: Vec<Vec<F>>,
    /// The step that each entity's moments are from.
    pub seen: Vec<u32>,
    /// Steps since the moments were zero.
    pub steps: u64,
}

impl<F: Real> Moments<F> {
    /// No moments yet.
    pub fn new(weights: &Weights<F>) -> Moments<F> {
        let zeros = || weights.all().map(|tensor| vec![F::zero(); tensor.data.len()]).collect();
        Moments { m: zeros(), v: zeros(), seen: vec![0; weights.entities.shape[0]], steps: 0 }
    }
}

/// A model that is being learnt.
pub struct Learner<F: Real, M: Model<F>> {
    /// The model.
    pub model: M,
    /// What it has learnt.
    pub weights: Weights<F>,
    /// The optimiser's state.
    pub moments: Moments<F>,
    /// How updates are made.
    pub rules: Rules,
    pass: Pass<F, M>,
    gradients: Gradients<F>,
    scores: Scores<F>,
}

/// Scores of a batch, which become their gradients.
#[derive(Default)]
struct Scores<F> {
    /// Of the pairs in `Batch::own`, and the root that each is best with.
    own: Vec<F>,
    own_root: Vec<u32>,
    /// Of every root with every shared entity, and the other way round.
    shared: Vec<F>,
    by_entity: Vec<F>,
    /// The rows of the shared entities.
    rows: Vec<F>,
    /// The loss of each query.
    loss: Vec<F>,
}

/// Roots that share a look at a block of entities, and entities in a block.
const FEW: usize = 8;
const BLOCK: usize = 64;

impl<F: Real, M: Model<F>> Learner<F, M> {
    /// Starts with these weights.
    pub fn new(model: M, weights: Weights<F>, moments: Moments<F>, rules: Rules) -> Learner<F, M> {
        let (pass, gradients, scores) = (Pass::default(), Gradients::default(), Scores::default());
        Learner { model, weights, moments, rules, pass, gradients, scores }
    }

    /// Learns from a batch; its loss. When that is not sound nothing is changed, but that entities of
    /// the batch may no longer wait for their momentum: trying again does the same as trying once.
    pub fn update(&mut self, batch: &Batch, rate: f64, update: u64) -> Result<f64> {
        let step = Step { adam: self.rules.adam, number: self.moments.steps + 1, rate };
        let entity_step = Step { rate: rate * self.rules.entity_rate, ..step };
        if self.rules.lazy {
            self.catch_up(Some(&batch.touched.entities), entity_step);
        }
        let loss = self.gradients(batch);
        self.check(loss, update)?;
        self.apply_dense(batch, step);
        self.apply_entities(batch, entity_step);
        self.moments.steps += 1;
        Ok(loss)
    }

    /// The loss of a batch, and all gradients but those of entities.
    pub fn gradients(&mut self, batch: &Batch) -> f64 {
        self.pass.forward(&self.model, &self.weights, &batch.program);
        self.score(batch);
        let loss = self.loss(batch);
        self.root_gradients(batch);
        self.pass.backward(&self.model, &self.weights, &batch.program, &mut self.gradients);
        loss
    }

    /// The gradients of the last batch: of the relations it follows, and of the networks.
    pub fn last_gradients(&self) -> &Gradients<F> {
        &self.gradients
    }

    /// Does for entities what their momentum would have done meanwhile: for these, or for all.
    pub fn catch_up(&mut self, entities: Option<&[u32]>, step: Step) {
        let Learner { model, weights, moments, .. } = self;
        let width = model.width();
        let table = Table {
            x: &mut weights.entities.data,
            m: &mut moments.m[0],
            v: &mut moments.v[0],
            row: &mut moments.seen,
        };
        let list = entities.unwrap_or(&[]);
        rows::each_listed(table, width, list, entities.is_none(), |_, row| {
            let seen = u64::from(row.row[0]);
            if seen == 0 || seen + 1 >= step.number {
                return;
            }
            step.catch_up(State { x: &mut *row.x, m: row.m, v: row.v }, seen);
            model.repair(row.x);
            row.row[0] = (step.number - 1) as u32;
        });
    }

    /// All entities as they are after the last update, whether they wait for their momentum or not.
    pub fn settle(&mut self, rate: f64) {
        if self.rules.lazy {
            let (adam, rate) = (self.rules.adam, rate * self.rules.entity_rate);
            self.catch_up(None, Step { adam, number: self.moments.steps + 1, rate });
        }
    }

    fn score(&mut self, batch: &Batch) {
        let Learner { model, weights, pass, scores, .. } = self;
        let width = model.width();
        let Scores { own, own_root, shared, rows: entities, .. } = scores;
        rows::reuse(own, batch.own.len());
        rows::reuse(own_root, batch.own.len());
        let sizes: Vec<usize> =
            batch.own_starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect();
        let roots = &pass.roots;
        rows::each_group_two((own, 1), (own_root, 1), &sizes, |query, own, own_root| {
            let first = batch.own_starts[query] as usize;
            for (at, (score, best)) in own.iter_mut().zip(own_root).enumerate() {
                let entity = weights.entity(batch.own[first + at]);
                let all = batch.program.roots_of(query);
                // The first, should none be above −∞.
                (*score, *best) = (F::neg_infinity(), all.start as u32);
                for root in all {
                    let found = model.score(&roots[root * width..][..width], entity);
                    if found > *score || found.is_nan() {
                        (*score, *best) = (found, root as u32);
                    }
                }
            }
        });
        if batch.shared.is_empty() {
            shared.clear();
            return;
        }
        let count = batch.shared.len();
        let entities = rows::reuse(entities, count * width);
        rows::each(entities, width, |at, row| {
            row.copy_from_slice(weights.entity(batch.shared[at]))
        });
        let shared = rows::reuse(shared, batch.program.roots.len() * count);
        model.scores(roots, entities, shared);
        for query in 0..batch.program.len() {
            let roots = batch.program.roots_of(query);
            let rows = &mut shared[roots.start * count..roots.end * count];
            if roots.len() > 1 {
                keep_best(rows, count);
            }
            for place in &batch.left_out[query] {
                rows.chunks_mut(count).for_each(|row| row[*place as usize] = F::neg_infinity());
            }
        }
    }

    /// Turns scores into their gradients.
    fn loss(&mut self, batch: &Batch) -> f64 {
        let Learner { scores, rules, .. } = self;
        let Scores { own, shared, loss, .. } = scores;
        let count = batch.shared.len();
        let total: f64 = batch.weights.iter().map(|weight| f64::from(*weight)).sum();
        let mut parts = Vec::with_capacity(batch.program.len());
        let (mut own, mut shared) = (&mut own[..], &mut shared[..]);
        for query in 0..batch.program.len() {
            let ends = &batch.own_starts[query..query + 2];
            let (mine, rest) = own.split_at_mut((ends[1] - ends[0]) as usize);
            let (rows, after) = shared.split_at_mut(batch.program.roots_of(query).len() * count);
            parts.push((mine, rows));
            (own, shared) = (rest, after);
        }
        let loss = rows::reuse(loss, parts.len());
        let smoothing = F::of(rules.smoothing);
        rows::each_two((loss, 1), (&mut parts, 1), |query, loss, part| {
            let (own, shared) = &mut part[0];
            let (positive, negative) = own.split_at_mut(batch.positives[query] as usize);
            let weight = F::of(f64::from(batch.weights[query]) / total);
            loss[0] = weight * rules.loss.apply(positive, [negative, shared], smoothing);
            let least = F::of(rules.negligible);
            for gradient in own.iter_mut().chain(shared.iter_mut()) {
                let kept = if gradient.abs() < least { F::zero() } else { *gradient };
                *gradient = kept * weight;
            }
        });
        loss.iter().map(|loss| loss.wide()).sum()
    }

    /// From the gradients of scores to those of the roots.
    fn root_gradients(&mut self, batch: &Batch) {
        let Learner { model, weights, pass, scores, .. } = self;
        let (width, count) = (model.width(), batch.shared.len());
        let Scores { own, own_root, shared, by_entity, rows: entities, .. } = scores;
        let Pass { roots, droots, .. } = pass;
        let droots = rows::zeros(droots, roots.len());
        rows::each_few(droots, width, FEW, |first, droots| {
            // A block of entities stays in the cache while a few roots look at it.
            for from in (0..count).step_by(BLOCK) {
                for (at, droot) in droots.chunks_exact_mut(width).enumerate() {
                    let root = &roots[(first + at) * width..][..width];
                    let gradients =
                        &shared[(first + at) * count..][from..(from + BLOCK).min(count)];
                    for (place, &gradient) in gradients.iter().enumerate() {
                        if gradient != F::zero() {
                            let entity = &entities[(from + place) * width..][..width];
                            model.score_backward_set(root, entity, gradient, droot);
                        }
                    }
                }
            }
        });
        let sizes: Vec<usize> =
            (0..batch.program.len()).map(|query| batch.program.roots_of(query).len()).collect();
        rows::each_group(droots, width, sizes.into_iter(), |query, droots| {
            let first = batch.program.roots_of(query).start;
            for at in batch.own_starts[query] as usize..batch.own_starts[query + 1] as usize {
                if own[at] != F::zero() {
                    let root = own_root[at] as usize;
                    let set = &roots[root * width..][..width];
                    let droot = &mut droots[(root - first) * width..][..width];
                    model.score_backward_set(set, weights.entity(batch.own[at]), own[at], droot);
                }
            }
        });
        let rooms = shared.len().checked_div(count).unwrap_or(0);
        let by_entity = rows::reuse(by_entity, shared.len());
        rows::each(by_entity, rooms, |place, row| {
            row.iter_mut().enumerate().for_each(|(root, to)| *to = shared[root * count + place]);
        });
    }

    /// Refuses a loss or a gradient that is no number, or far too large.
    fn check(&self, loss: f64, update: u64) -> Result<()> {
        let diverged = |what: String| Err(Error::Diverged { update, what });
        if loss.is_finite() && loss > self.rules.most_loss {
            return diverged(format!("the loss is {loss:.3e}, above train.most_loss"));
        }
        if !loss.is_finite() {
            return diverged(match self.weights.broken() {
                Some(name) => format!("the loss is {loss}, from tensor '{name}'"),
                None => format!("the loss is {loss}, though all weights are numbers"),
            });
        }
        let finite = |numbers: &[F]| map::sum_of_squares(numbers).is_finite();
        let dense = self.weights.dense.iter().zip(&self.gradients.dense);
        let broken =
            dense.filter(|(_, gradient)| !finite(gradient)).map(|(tensor, _)| &tensor.name[..]);
        let relations = (!finite(&self.gradients.relations)).then_some("relations");
        let entities = (!finite(&self.pass.danchors)).then_some("entities");
        match broken.chain(relations).chain(entities).next() {
            Some(name) => diverged(format!("the gradient of tensor '{name}' is no number")),
            None => Ok(()),
        }
    }

    /// The gradients of the entities of the batch that [`Learner::gradients`] was last given, row after
    /// row, and which they are.
    pub fn entity_gradients(&self, batch: &Batch) -> (Vec<F>, Vec<u32>) {
        let entities = batch.touched.entities.clone();
        let of = |(place, entity): (usize, &u32)| {
            self.parts().entity_gradient(batch, place, self.weights.entity(*entity))
        };
        (entities.iter().enumerate().flat_map(of).collect(), entities)
    }

    fn parts(&self) -> Parts<'_, F, M> {
        Parts { model: &self.model, pass: &self.pass, scores: &self.scores }
    }

    /// Adam on the entities.
    fn apply_entities(&mut self, batch: &Batch, step: Step) {
        let Learner { model, weights, moments, rules, pass, scores, .. } = self;
        let parts = Parts { model: &*model, pass: &*pass, scores: &*scores };
        let width = model.width();
        let table = Table {
            x: &mut weights.entities.data,
            m: &mut moments.m[0],
            v: &mut moments.v[0],
            row: &mut moments.seen,
        };
        let zero = vec![F::zero(); width];
        rows::each_listed(table, width, &batch.touched.entities, !rules.lazy, |place, row| {
            let gradient = place.map(|place| parts.entity_gradient(batch, place, row.x));
            let state = State { x: &mut *row.x, m: row.m, v: row.v };
            step.apply(state, gradient.as_ref().unwrap_or(&zero));
            model.repair(row.x);
            row.row[0] = step.number as u32;
        });
    }

    /// Adam on the networks and the relations.
    fn apply_dense(&mut self, batch: &Batch, step: Step) {
        let Learner { weights, moments, gradients, model, .. } = self;
        let Moments { m, v, .. } = moments;
        let width = model.relation_width();
        let mut spread = vec![F::zero(); weights.relations.data.len()];
        for (at, relation) in batch.program.relations.iter().enumerate() {
            let row = &mut spread[relation.index() * width..][..width];
            row.copy_from_slice(&gradients.relations[at * width..][..width]);
        }
        let tensors = [&mut weights.relations].into_iter().chain(&mut weights.dense);
        let moments = m.iter_mut().zip(v).skip(1);
        let gradients = [&spread].into_iter().chain(&gradients.dense);
        for ((tensor, (m, v)), gradient) in tensors.zip(moments).zip(gradients) {
            const PART: usize = 1 << 14;
            rows::each_part([&mut tensor.data, m, v], PART, |at, [x, m, v]| {
                let gradient = &gradient[at * PART..][..x.len()];
                step.apply(State { x, m, v }, gradient);
            });
        }
    }
}

/// What the gradient of an entity is made from.
struct Parts<'a, F: Real, M: Model<F>> {
    model: &'a M,
    pass: &'a Pass<F, M>,
    scores: &'a Scores<F>,
}

impl<F: Real, M: Model<F>> Parts<'_, F, M> {
    /// The gradient of an entity, given its place in the batch and its row.
    fn entity_gradient(&self, batch: &Batch, place: usize, entity: &[F]) -> Vec<F> {
        let (width, count) = (self.model.width(), batch.program.roots.len());
        let Pass { roots, danchors, .. } = self.pass;
        let mut gradient = vec![F::zero(); width];
        let add = |root: usize, dscore: F, gradient: &mut [F]| {
            if dscore != F::zero() {
                let set = &roots[root * width..][..width];
                self.model.score_backward_entity(set, entity, dscore, gradient);
            }
        };
        for used in batch.touched.uses_of(place) {
            match *used {
                Use::Anchor(at) => {
                    map::add(&mut gradient, &danchors[at as usize * width..][..width])
                }
                Use::Own(at) => {
                    let at = at as usize;
                    add(self.scores.own_root[at] as usize, self.scores.own[at], &mut gradient);
                }
                Use::Shared(at) => {
                    let dscores = &self.scores.by_entity[at as usize * count..][..count];
                    dscores.iter().enumerate().for_each(|(root, c)| add(root, *c, &mut gradient));
                }
            }
        }
        gradient
    }
}

/// Of the scores that the roots of one query give an entity, keeps the best and makes the others −∞.
fn keep_best<F: Real>(rows: &mut [F], count: usize) {
    for place in 0..count {
        let mut best = place;
        for at in (place..rows.len()).step_by(count) {
            // A NaN counts as best, so that it is seen.
            if rows[at] > rows[best] || rows[at].is_nan() {
                best = at;
            }
        }
        for at in (place..rows.len()).step_by(count).filter(|at| *at != best) {
            rows[at] = F::neg_infinity();
        }
    }
}
