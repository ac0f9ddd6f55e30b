//! One update: embed the queries, score the entities, and move all weights against the gradient.
//!
//! The gradient of an entity is made when its row is at hand, added up from all places that used it, and
//! taken by Adam at once.

use skolem_nn::Real;
use skolem_nn::kernel::map;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::dropout::Dropout;
use skolem_nn::op::loss::Loss;
use skolem_nn::optim::{Adam, State, Step};
use skolem_nn::rows::{self, Table};

use super::batch::{Batch, Shared};
use super::score::Scores;
use crate::error::{Error, Result};
use crate::model::{Gradients, Manner, Model, Weights};
use crate::pass::Pass;

/// How updates are made.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What chance depends on besides the number of the update.
    pub seed: u64,
    /// The loss.
    pub loss: Loss,
    /// Share of the weight that positives give to all negatives (softmax).
    pub smoothing: f64,
    /// Weight of the threshold that positives should be above and negatives below (softmax).
    pub threshold: f64,
    /// Share of the numbers of hidden layers that are dropped.
    pub dropout: f64,
    /// What the numbers of matrix products are rounded to.
    pub precision: Precision,
    /// Gradients of shared negatives' scores below this share of a query's weight are made this large or
    /// zero, by chance: few, with the same mean.
    pub negligible: f64,
    /// Whether shared negatives are looked through as bytes.
    pub coarse: bool,
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
    /// The gradients of all relations, those that a batch does not follow too.
    spread: Vec<F>,
}

impl<F: Real, M: Model<F>> Learner<F, M> {
    /// Starts with these weights.
    pub fn new(model: M, weights: Weights<F>, moments: Moments<F>, rules: Rules) -> Learner<F, M> {
        let (pass, gradients, scores) = (Pass::default(), Gradients::default(), Scores::default());
        Learner { model, weights, moments, rules, pass, gradients, scores, spread: Vec::new() }
    }

    /// Learns from a batch; its loss. When that is not sound nothing is changed, but that entities of
    /// the batch may no longer wait for their momentum: trying again does the same as trying once.
    pub fn update(&mut self, batch: &Batch, rate: f64, update: u64) -> Result<f64> {
        let step = Step { adam: self.rules.adam, number: self.moments.steps + 1, rate };
        let entity_step = Step { rate: rate * self.rules.entity_rate, ..step };
        if self.rules.lazy {
            self.catch_up(Some(&batch.named), entity_step);
            self.scores.refresh(&self.weights, Some(&batch.named));
            // Those that are looked through as bytes wait until something pulls at them.
            if let (Shared::Listed(shared), false) = (&batch.shared, self.rules.coarse) {
                self.catch_up(Some(shared), entity_step);
            }
        }
        let loss = self.gradients(batch);
        if let Err(error) = self.check(loss, update) {
            self.scores.refresh(&self.weights, None);
            return Err(error);
        }
        self.apply_dense(batch, step);
        self.apply_entities(batch, entity_step);
        self.moments.steps += 1;
        Ok(loss)
    }

    /// The loss of a batch, and all gradients but those of entities.
    pub fn gradients(&mut self, batch: &Batch) -> f64 {
        let Learner { model, weights, pass, scores, rules, .. } = self;
        // Odd, so that no two seeds have the same masks in the same order.
        let seed = self.moments.steps.wrapping_add(rules.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let dropout = Dropout { share: rules.dropout, seed };
        pass.manner = Manner { dropout, precision: rules.precision };
        pass.forward(model, weights, &batch.program);
        scores.score(model, weights, &pass.roots, batch, rules.coarse);
        // Multiples of the golden ratio fall evenly into [0, 1), whatever the batch.
        let first = self.moments.steps.wrapping_mul(batch.program.len() as u64);
        let draw = |query: usize| (first + query as u64) as f64 * 0.618_033_988_749_894_9 % 1.0;
        let loss = scores.pulls(batch, weights.entities.shape[0], rules, draw);
        let droots = rows::zeros(&mut pass.droots, pass.roots.len());
        let (roots, width) = (&pass.roots, model.width());
        rows::each(droots, width, |root, droot| {
            let entities = scores.by_root.of(root, scores.entities(weights));
            model.score_backward_set(&roots[root * width..][..width], entities, droot);
        });
        pass.backward(model, weights, &batch.program, &mut self.gradients);
        loss
    }

    /// The gradients of the last batch: of the relations it follows, and of the networks.
    pub fn last_gradients(&self) -> &Gradients<F> {
        &self.gradients
    }

    /// Does for entities what their momentum would have done meanwhile: for these, or for all.
    pub fn catch_up(&mut self, entities: Option<&[u32]>, step: Step) {
        let Learner { model, weights, moments, .. } = self;
        let width = model.entity_width();
        let table = Table {
            x: &mut weights.entities.data,
            m: &mut moments.m[0],
            v: &mut moments.v[0],
            row: &mut moments.seen,
        };
        let list = entities.unwrap_or(&[]);
        rows::each_listed(table, width, list, entities.is_none(), |_, row, ()| {
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
            self.scores.refresh(&self.weights, None);
        }
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

    /// The gradients of the entities that the batch which [`Learner::gradients`] was last given pulls at, row
    /// after row, and which they are.
    pub fn entity_gradients(&self, batch: &Batch) -> (Vec<F>, Vec<u32>) {
        let (parts, entities) = (self.parts(), self.parts().entities(batch));
        let width = self.model.entity_width();
        let mut all = vec![F::zero(); entities.len() * width];
        rows::each(&mut all, width, |at, gradient| {
            parts.entity_gradient(batch, entities[at], self.weights.entity(entities[at]), gradient);
        });
        (all, entities)
    }

    fn parts(&self) -> Parts<'_, F, M> {
        Parts { model: &self.model, pass: &self.pass, scores: &self.scores }
    }

    /// Adam on the entities.
    fn apply_entities(&mut self, batch: &Batch, step: Step) {
        let Learner { model, weights, moments, rules, pass, scores, .. } = self;
        let parts = Parts { model: &*model, pass: &*pass, scores: &*scores };
        let width = model.entity_width();
        let entities = parts.entities(batch);
        let table = Table {
            x: &mut weights.entities.data,
            m: &mut moments.m[0],
            v: &mut moments.v[0],
            row: &mut moments.seen,
        };
        rows::each_listed(
            table,
            width,
            &entities,
            !rules.lazy,
            |place, row, gradient: &mut Vec<F>| {
                let gradient = rows::zeros(gradient, width);
                if let Some(place) = place {
                    parts.entity_gradient(batch, entities[place], row.x, gradient);
                }
                if rules.lazy {
                    step.catch_up(State { x: row.x, m: row.m, v: row.v }, u64::from(row.row[0]));
                }
                step.apply(State { x: row.x, m: row.m, v: row.v }, gradient);
                model.repair(row.x);
                row.row[0] = step.number as u32;
            },
        );
        let kept = rules.lazy && batch.shared == Shared::All;
        scores.refresh(weights, kept.then_some(&entities[..]));
    }

    /// Adam on the networks and the relations.
    fn apply_dense(&mut self, batch: &Batch, step: Step) {
        let Learner { weights, moments, gradients, model, spread, .. } = self;
        let Moments { m, v, .. } = moments;
        let width = model.relation_width();
        rows::zeros(spread, weights.relations.data.len());
        for (at, relation) in batch.program.relations.iter().enumerate() {
            let row = &mut spread[relation.index() * width..][..width];
            row.copy_from_slice(&gradients.relations[at * width..][..width]);
        }
        let tensors = [&mut weights.relations].into_iter().chain(&mut weights.dense);
        let moments = m.iter_mut().zip(v).skip(1);
        let gradients = [&*spread].into_iter().chain(&gradients.dense);
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
    /// All entities that something pulls at, in order.
    fn entities(&self, batch: &Batch) -> Vec<u32> {
        let mut anchors = batch.anchors.iter().map(|at| batch.program.anchors[*at as usize].0);
        let mut next = anchors.next();
        let mut found = Vec::new();
        for entity in 0..self.scores.by_entity.len() as u32 {
            let mut pulled = self.scores.by_entity.has(entity as usize);
            while next == Some(entity) {
                (pulled, next) = (true, anchors.next());
            }
            found.extend(pulled.then_some(entity));
        }
        found
    }

    /// Adds up the gradient of an entity, given its row.
    fn entity_gradient(&self, batch: &Batch, entity: u32, row: &[F], gradient: &mut [F]) {
        let width = self.model.width();
        let Pass { roots, danchors, .. } = self.pass;
        let of = |at: &u32| batch.program.anchors[*at as usize].0;
        let first = batch.anchors.partition_point(|at| of(at) < entity);
        for at in batch.anchors[first..].iter().take_while(|at| of(at) == entity) {
            let dset = &danchors[*at as usize * width..][..width];
            self.model.anchor_backward(row, dset, gradient);
        }
        let sets = self.scores.by_entity.of(entity as usize, self.scores.sets(roots));
        self.model.score_backward_entity(row, sets, gradient);
    }
}
