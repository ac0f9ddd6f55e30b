//! The scores of a batch, what they cost, and which of them pull at which set and entity.
//!
//! Scores and their gradients are numbers; nothing of size queries × entities × width ever exists. Where
//! all entities are negatives they are looked through as bytes ([`Coarse`]), and of the many small
//! gradients a few are kept that stand for all ([`thin`]).

use skolem_nn::coarse::Coarse;
use skolem_nn::kernel::fetch;
use skolem_nn::kernel::l1::Weighted;
use skolem_nn::op::loss::Loss;
use skolem_nn::op::thin::thin;
use skolem_nn::{Real, rows};

use super::batch::{Batch, Shared};
use super::update::Rules;
use crate::model::{Model, Weights, ready_entities, ready_sets};

/// Rows of entities are asked for when this many others come first.
const AHEAD: usize = 2;

/// The buffers of scoring, kept between batches for their memory.
#[derive(Default)]
pub(super) struct Scores<F> {
    /// Of the pairs in `Batch::own`, and the root that each is best with.
    own: Vec<F>,
    own_root: Vec<u32>,
    /// Of every root with every shared entity.
    shared: Vec<F>,
    /// The rows of the shared entities, where they are listed.
    listed: Vec<F>,
    /// The roots, and the entities of the batch among all others, ready to be scored if they are not as they are.
    ready_sets: Vec<F>,
    ready_entities: Vec<F>,
    /// The shared entities and all roots as bytes, where those are looked through.
    entities: Coarse,
    roots: Coarse,
    distances: Vec<f32>,
    /// The loss of each query, and its pulls.
    found: Vec<(F, Vec<Pull<F>>)>,
    /// All pulls of the batch, by root and by entity.
    pub by_root: Pulls<F>,
    pub by_entity: Pulls<F>,
}

/// A pair whose score has a gradient.
#[derive(Clone, Copy, Debug)]
struct Pull<F> {
    root: u32,
    entity: u32,
    gradient: F,
}

/// Pairs by one of their sides: those of number i are in `starts[i]..starts[i + 1]`.
#[derive(Default)]
pub(super) struct Pulls<F> {
    starts: Vec<u32>,
    other: Vec<u32>,
    gradients: Vec<F>,
}

impl<F: Real> Pulls<F> {
    /// A counting sort, so that the order within a number is that of the pulls.
    fn fill<'a>(
        &mut self,
        count: usize,
        pulls: impl Iterator<Item = &'a Pull<F>> + Clone,
        sides: impl Fn(&Pull<F>) -> [u32; 2],
    ) {
        let starts = rows::zeros(&mut self.starts, count + 2);
        pulls.clone().for_each(|pull| starts[sides(pull)[0] as usize + 2] += 1);
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let total = starts[count + 1] as usize;
        let other = rows::reuse(&mut self.other, total);
        let gradients = rows::reuse(&mut self.gradients, total);
        for pull in pulls {
            let [one, two] = sides(pull);
            // The start of the next number, which moves on until it is its end.
            let place = &mut starts[one as usize + 1];
            (other[*place as usize], gradients[*place as usize]) = (two, pull.gradient);
            *place += 1;
        }
    }

    /// The pairs of a number, as rows of a table of the other side.
    pub fn of<'a>(&'a self, number: usize, table: &'a [F]) -> Weighted<'a, F> {
        let here = self.starts[number] as usize..self.starts[number + 1] as usize;
        Weighted { table, rows: &self.other[here.clone()], weights: &self.gradients[here] }
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(2)
    }

    /// Whether a number has pairs.
    pub fn has(&self, number: usize) -> bool {
        self.starts[number] < self.starts[number + 1]
    }
}

impl<F: Real> Scores<F> {
    /// Scores the pairs of a batch, given the embeddings of its queries.
    pub fn score<M: Model<F>>(
        &mut self,
        model: &M,
        weights: &Weights<F>,
        roots: &[F],
        batch: &Batch,
        coarse: bool,
    ) {
        self.make_ready(model, weights, roots, batch);
        let Scores { ready_sets, ready_entities, .. } = self;
        let sets = if ready_sets.is_empty() { roots } else { &ready_sets[..] };
        let all =
            if ready_entities.is_empty() { &weights.entities.data } else { &ready_entities[..] };
        let [width, entity_width] =
            [model.width(), model.entity_width()].map(|width| model.ready_width().unwrap_or(width));
        let entity_at = |entity: u32| &all[entity as usize * entity_width..][..entity_width];
        let sizes: Vec<usize> =
            batch.own_starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect();
        let own = rows::reuse(&mut self.own, batch.own.len());
        let own_root = rows::reuse(&mut self.own_root, batch.own.len());
        rows::each_group_two((own, 1), (own_root, 1), &sizes, |query, own, own_root| {
            let first = batch.own_starts[query] as usize;
            for (at, (score, best)) in own.iter_mut().zip(own_root).enumerate() {
                let entity = entity_at(batch.own[first + at]);
                if let Some(later) = batch.own.get(first + at + AHEAD) {
                    fetch(entity_at(*later));
                }
                let roots = batch.program.roots_of(query);
                // The first, should none be above −∞.
                (*score, *best) = (F::neg_infinity(), roots.start as u32);
                for root in roots {
                    let found = model.score(&sets[root * width..][..width], entity);
                    if found > *score || found.is_nan() {
                        (*score, *best) = (found, root as u32);
                    }
                }
            }
        });
        let count = shared_count(batch, weights);
        let shared = rows::reuse(&mut self.shared, batch.program.roots.len() * count);
        let table = match &batch.shared {
            Shared::All => all,
            Shared::Listed(entities) => {
                let listed = rows::reuse(&mut self.listed, count * entity_width);
                rows::each(listed, entity_width, |at, row| {
                    row.copy_from_slice(entity_at(entities[at]))
                });
                &*listed
            }
        };
        let Some(line) = model.coarse().filter(|_| coarse) else {
            return model.scores(sets, table, shared);
        };
        // All entities are kept as bytes from update to update.
        if batch.shared != Shared::All || self.entities.is_empty() {
            self.entities.fill(table, width);
        }
        self.roots.fill(roots, width);
        let distances = rows::reuse(&mut self.distances, shared.len());
        self.entities.distances(&self.roots, distances, line);
        let distances = &*distances;
        rows::each(shared, count, |root, row| {
            let found = &distances[root * count..][..count];
            row.iter_mut().zip(found).for_each(|(to, from)| *to = F::of(f64::from(*from)));
        });
    }

    /// Makes the roots and the entities of a batch ready. Rows of other entities are stale, and nobody looks at
    /// them: so that there is no second numbering.
    fn make_ready<M: Model<F>>(
        &mut self,
        model: &M,
        weights: &Weights<F>,
        roots: &[F],
        batch: &Batch,
    ) {
        let Some(width) = model.ready_width() else { return };
        ready_sets(model, roots, &mut self.ready_sets);
        let entities = &weights.entities;
        if batch.shared == Shared::All {
            ready_entities(model, &entities.data, &mut self.ready_entities);
            return;
        }
        let mut here = batch.named.clone();
        if let Shared::Listed(shared) = &batch.shared {
            here.extend_from_slice(shared);
        }
        here.sort_unstable();
        here.dedup();
        let ready = rows::reuse(&mut self.ready_entities, entities.shape[0] * width);
        rows::each_of(ready, width, &here, |entity, ready| {
            model.ready_entity(weights.entity(entity), ready);
        });
    }

    /// The entities as they were scored.
    pub fn entities<'a>(&'a self, weights: &'a Weights<F>) -> &'a [F] {
        if self.ready_entities.is_empty() { &weights.entities.data } else { &self.ready_entities }
    }

    /// The roots as they were scored.
    pub fn sets<'a>(&'a self, roots: &'a [F]) -> &'a [F] {
        if self.ready_sets.is_empty() { roots } else { &self.ready_sets }
    }

    /// Turns scores into pulls; the loss. Query i draws its chance from `draw(i)` in [0, 1).
    pub fn pulls(
        &mut self,
        batch: &Batch,
        entities: usize,
        rules: &Rules,
        draw: impl Fn(usize) -> f64 + Sync,
    ) -> f64 {
        let total: f64 = batch.weights.iter().map(|weight| f64::from(*weight)).sum();
        let queries = batch.program.len();
        let count = self.shared.len().checked_div(batch.program.roots.len()).unwrap_or(0);
        let listed = match &batch.shared {
            Shared::Listed(listed) => Some(&listed[..]),
            Shared::All => None,
        };
        // A few entities stand for all: their part of a softmax is as large as that of all would be.
        let shift = match rules.loss {
            Loss::Softmax if count > 0 => F::of((entities as f64 / count as f64).ln()),
            _ => F::zero(),
        };
        let (mut own, mut shared) = (&mut self.own[..], &mut self.shared[..]);
        let mut parts = Vec::with_capacity(queries);
        for query in 0..queries {
            let ends = &batch.own_starts[query..query + 2];
            let (mine, rest) = own.split_at_mut((ends[1] - ends[0]) as usize);
            let (rows, after) = shared.split_at_mut(batch.program.roots_of(query).len() * count);
            parts.push((mine, rows));
            (own, shared) = (rest, after);
        }
        self.found.resize_with(queries, Default::default);
        let own_root = &self.own_root;
        rows::each_two((&mut self.found, 1), (&mut parts, 1), |query, found, part| {
            let ((loss, pulls), (own, shared)) = (&mut found[0], &mut part[0]);
            pulls.clear();
            let roots = batch.program.roots_of(query);
            if roots.len() > 1 {
                keep_best(shared, count);
            }
            if shift != F::zero() {
                shared.iter_mut().for_each(|score| *score += shift);
            }
            for place in &batch.left_out[query] {
                shared.chunks_mut(count).for_each(|row| row[*place as usize] = F::neg_infinity());
            }
            let weight = F::of(f64::from(batch.weights[query]) / total);
            let (positive, negative) = own.split_at_mut(batch.positives[query] as usize);
            let smoothing = F::of(rules.smoothing);
            let negatives = [negative, &mut shared[..]];
            let threshold = F::of(rules.threshold);
            *loss = weight * rules.loss.apply(positive, negatives, smoothing, threshold);
            let first = batch.own_starts[query] as usize;
            for (at, gradient) in own.iter().enumerate().filter(|(_, own)| **own != F::zero()) {
                let (root, entity) = (own_root[first + at], batch.own[first + at]);
                pulls.push(Pull { root, entity, gradient: weight * *gradient });
            }
            thin(shared, F::of(rules.negligible), F::of(draw(query)), |at, gradient| {
                let (root, place) = ((roots.start + at / count) as u32, at % count);
                let entity = listed.map_or(place as u32, |listed| listed[place]);
                pulls.push(Pull { root, entity, gradient: weight * gradient });
            });
        });
        let pulls = self.found.iter().flat_map(|(_, pulls)| pulls);
        let roots = batch.program.roots.len();
        self.by_root.fill(roots, pulls.clone(), |pull| [pull.root, pull.entity]);
        self.by_entity.fill(entities, pulls, |pull| [pull.entity, pull.root]);
        self.found.iter().map(|(loss, _)| loss.wide()).sum()
    }

    /// What is kept of entities as bytes is that of these rows again; without rows it is made anew when it
    /// is next needed.
    pub fn refresh(&mut self, weights: &Weights<F>, rows: Option<&[u32]>) {
        match rows {
            Some(rows) if !self.entities.is_empty() => {
                self.entities.refresh(&weights.entities.data, rows)
            }
            Some(_) => {}
            None => self.entities = Coarse::default(),
        }
    }
}

fn shared_count<F: Real>(batch: &Batch, weights: &Weights<F>) -> usize {
    match &batch.shared {
        Shared::Listed(entities) => entities.len(),
        Shared::All => weights.entities.shape[0],
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
