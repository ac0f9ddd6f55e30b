//! Scores of all entities that rank some of them exactly.
//!
//! Where a model allows it ([`Model::coarse`]), entities are looked through as bytes. Such a score is off by a
//! bounded amount, so it tells on which side of a wanted entity's score most entities are; the scores of
//! the few that are too near are computed from the numbers.

use rayon::prelude::*;
use skolem_nn::coarse::Coarse;
use skolem_nn::{Real, rows};

use super::best_scores;
use crate::model::{Model, Weights, ready_entities, ready_sets};
use crate::program::Program;

/// The entities of a model, ready to be looked through.
pub struct Scan<'a, F: Real, M> {
    model: &'a M,
    weights: &'a Weights<F>,
    /// The entities ready to be scored, if they are not as they are.
    ready: Vec<F>,
    entities: Coarse,
    /// The most that the rounding of an entity makes a distance differ.
    rounding: f64,
    sets: Coarse,
    rough: Vec<f32>,
    ready_sets: Vec<F>,
    exact: Vec<F>,
}

impl<'a, F: Real, M: Model<F>> Scan<'a, F, M> {
    /// Of these weights.
    pub fn new(model: &'a M, weights: &'a Weights<F>) -> Self {
        let (mut entities, sets) = (Coarse::default(), Coarse::default());
        let mut rounding = 0.0;
        if model.coarse().is_some() {
            let (table, width) = (&weights.entities.data, model.width());
            entities.fill(table, width);
            let rows = table.par_chunks(width).enumerate();
            let most = rows.map(|(at, row)| entities.rounding(at, row)).reduce(|| 0.0, f64::max);
            rounding = most;
        }
        let [mut ready, ready_sets, exact] = [const { Vec::new() }; 3];
        ready_entities(model, &weights.entities.data, &mut ready);
        Scan {
            model,
            weights,
            ready,
            entities,
            rounding,
            sets,
            rough: Vec::new(),
            ready_sets,
            exact,
        }
    }

    /// Hands over, for each query of a program whose embeddings are `roots`, the scores of all entities. Those
    /// of the entities that `wanted` lists are exact, and the others compare with them as exact ones do.
    pub fn each<T: Send + Default + Clone>(
        &mut self,
        program: &Program,
        roots: &[F],
        wanted: impl Fn(usize) -> &'a [u32] + Sync,
        take: impl Fn(usize, &[F]) -> T + Sync,
    ) -> Vec<T> {
        let Scan { model, weights, ready, entities, rounding, sets, rough, ready_sets, exact } =
            self;
        let (count, width) = (weights.entities.shape[0], model.width());
        let mut taken = vec![T::default(); program.len()];
        let Some([offset, slope]) = model.coarse() else {
            let scores = rows::reuse(exact, program.roots.len() * count);
            let all = if ready.is_empty() { &weights.entities.data } else { &*ready };
            model.scores(self::ready_sets(*model, roots, ready_sets), all, scores);
            let scores = &*scores;
            rows::each(&mut taken, 1, |query, taken| {
                let here = program.roots_of(query);
                taken[0] =
                    take(query, &best_scores(&scores[here.start * count..here.end * count], count));
            });
            return taken;
        };
        sets.fill(roots, width);
        let rough = rows::reuse(rough, program.roots.len() * count);
        entities.distances(sets, rough, [offset, slope]);
        let (rough, sets) = (&*rough, &*sets);
        rows::each(&mut taken, 1, |query, taken| {
            let here = program.roots_of(query);
            let exact = |entity: usize| {
                let row = weights.entity(entity as u32);
                let score = |root: usize| model.score(&roots[root * width..][..width], row);
                here.clone().map(score).reduce(|a, b| if b > a || b.is_nan() { b } else { a })
            };
            let best = best_scores(&rough[here.start * count..here.end * count], count);
            let mut scores: Vec<F> = best.iter().map(|score| F::of(f64::from(*score))).collect();
            let rounded = |root: usize| sets.rounding(root, &roots[root * width..][..width]);
            let most = *rounding + here.clone().map(rounded).fold(0.0, f64::max);
            // Sums of many numbers are rounded, too.
            let margin = slope.abs() * most as f32 + 1e-3;
            let mut near = Near::new(offset, slope * width as f32, margin);
            for &entity in wanted(query) {
                near.mark(exact(entity as usize).unwrap_or_else(F::nan).wide() as f32);
            }
            for (entity, (score, rough)) in scores.iter_mut().zip(&*best).enumerate() {
                if near.has(*rough) {
                    *score = exact(entity).unwrap_or_else(F::nan);
                }
            }
            // Last, so that they are exact even where a score is no number.
            for &entity in wanted(query) {
                scores[entity as usize] = exact(entity as usize).unwrap_or_else(F::nan);
            }
            taken[0] = take(query, &scores);
        });
        taken
    }
}

/// Which scores are within a margin of a marked one: a table of bins, so that some a little further away
/// are taken for near, too.
struct Near {
    least: f32,
    margin: f32,
    bins: Vec<bool>,
}

impl Near {
    /// Bins to a margin.
    const BINS: f32 = 4.0;

    /// For scores between `offset` and `offset + range`, which may be negative.
    fn new(offset: f32, range: f32, margin: f32) -> Near {
        let least = offset.min(offset + range);
        let bins = vec![false; (Near::BINS * range.abs() / margin) as usize + 2];
        Near { least, margin, bins }
    }

    fn bin(&self, score: f32) -> usize {
        let place = (score - self.least) / self.margin * Near::BINS;
        (place as usize).min(self.bins.len() - 1)
    }

    fn mark(&mut self, score: f32) {
        let [first, last] = [-self.margin, self.margin].map(|by| self.bin(score + by));
        self.bins[first..=last].fill(true);
    }

    fn has(&self, score: f32) -> bool {
        self.bins[self.bin(score)]
    }
}

#[cfg(test)]
mod tests {
    use skolem_kg::query::{names::Numbers, text::parse};
    use skolem_kg::rng::Rng;

    use super::super::rank;
    use super::*;
    use crate::model::Logic;
    use crate::pass::Pass;
    use crate::program::Union;

    #[test]
    fn ranks_are_those_of_exact_scores() {
        let (entities, relations) = (300, 4);
        for (bounds, spread) in [(false, 1.0), (true, 1.0), (false, 0.02)] {
            // With little spread all scores are near each other.
            let model = Logic { dim: 10, hidden: 12, bounds, spread, ..Logic::default() };
            let weights: Weights<f32> = model.weights(entities, relations, &mut Rng::new(5));
            let texts = ["r1(e7)", "r0(e1) | r2(e5)", "r1(r3(e2) & !r0(e9))"];
            let names = Numbers;
            let queries: Vec<_> = texts.iter().map(|text| parse(text, &names).unwrap()).collect();
            let program = Program::compile(&queries, Union::Disjuncts).unwrap();
            let mut pass = Pass::default();
            pass.forward(&model, &weights, &program);
            let hard: Vec<u32> = (0..300).step_by(13).collect();
            let mut scan = Scan::new(&model, &weights);
            let found = scan.each(
                &program,
                &pass.roots,
                |_| &hard[..],
                |query, scores| {
                    let width = 2 * model.dim;
                    let exact: Vec<f32> = (0..entities as u32)
                        .map(|entity| {
                            let roots = program.roots_of(query).map(|root| {
                                let set = &pass.roots[root * width..][..width];
                                Model::<f32>::score(&model, set, weights.entity(entity))
                            });
                            roots.fold(f32::NEG_INFINITY, f32::max)
                        })
                        .collect();
                    for &entity in &hard {
                        assert_eq!(scores[entity as usize], exact[entity as usize]);
                    }
                    Some([rank(scores, &[3], &hard), rank(&exact, &[3], &hard)])
                },
            );
            for both in found {
                let [found, exact] = both.unwrap();
                assert_eq!(found, exact);
            }
        }
    }
}
