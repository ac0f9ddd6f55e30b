//! Ranks from the scores of all entities, block after block.
//!
//! Where a model allows it ([`Model::coarse`]), entities are looked through as bytes. Such a score is off by a
//! bounded amount, so it tells on which side of a wanted entity's score most entities are; the scores of
//! the few that are too near are computed from the numbers.

use std::borrow::Borrow;
use std::ops::Range;

use rayon::prelude::*;
use skolem_nn::coarse::Coarse;
use skolem_nn::{Real, rows};

use super::near::Near;
use super::rank::{Ranking, Ranks};
use super::{Test, best_scores};
use crate::model::{Model, Weights, ready_entities, ready_sets};
use crate::program::Program;

/// Entities that are scored at once: scores of all of them would take memory that grows with the graph.
const BLOCK: usize = 4096;
/// Hard answers of a query whose rows are gathered at once.
const GATHERED: usize = 64;

/// The entities of a model, ready to be looked through.
pub struct Scan<'a, F: Real, M> {
    model: &'a M,
    weights: &'a Weights<F>,
    /// All entities ready to be scored, where they are not as they are.
    ready: Vec<F>,
    ready_sets: Vec<F>,
    entities: Coarse,
    /// The most that the rounding of an entity makes a distance differ.
    rounding: f64,
    sets: Coarse,
    rough: Vec<f32>,
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
        let rough = Vec::new();
        Scan { model, weights, ready, ready_sets, entities, rounding, sets, rough, exact }
    }

    /// Ranks the hard answers of each query of a program whose embeddings are `roots`.
    pub fn rank<T: Borrow<Test> + Sync>(
        &mut self,
        program: &Program,
        roots: &[F],
        tests: &[T],
    ) -> Vec<Ranks> {
        match self.model.coarse() {
            Some(line) => self.with_bytes(line, program, roots, tests),
            None => self.with_numbers(program, roots, tests),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<F, M> {
        let count = self.weights.entities.shape[0];
        (0..count).step_by(BLOCK).map(move |first| first..(first + BLOCK).min(count))
    }

    fn with_numbers<T: Borrow<Test> + Sync>(
        &mut self,
        program: &Program,
        roots: &[F],
        tests: &[T],
    ) -> Vec<Ranks> {
        let blocks = self.blocks();
        let Scan { model, weights, ready, ready_sets, exact, .. } = self;
        let entities = if ready.is_empty() { &weights.entities.data } else { &*ready };
        let roots = self::ready_sets(*model, roots, ready_sets);
        let width = model.ready_width().unwrap_or_else(|| model.width());
        let step = model.ready_width().unwrap_or_else(|| model.entity_width());
        let wanted = |query: usize, hard: &[u32]| {
            let here = program.roots_of(query);
            let mut rows = Vec::with_capacity(hard.len() * step);
            let row = |entity: &u32| &entities[*entity as usize * step..][..step];
            hard.iter().for_each(|entity| rows.extend_from_slice(row(entity)));
            let mut scores = vec![F::zero(); here.len() * hard.len()];
            model.scores(&roots[here.start * width..here.end * width], &rows, &mut scores);
            best_scores(&scores, hard.len()).into_owned()
        };
        let rankings = tests.par_iter().map(T::borrow).enumerate().map(|(query, test)| {
            let wanted = test.hard.chunks(GATHERED).flat_map(|hard| wanted(query, hard));
            Ranking::new(test, wanted.collect())
        });
        let mut all: Vec<_> = rankings.collect();
        for block in blocks {
            let scores = rows::reuse(exact, program.roots.len() * block.len());
            let entities = &entities[block.start * step..block.end * step];
            model.scores(roots, entities, scores);
            show(&mut all, program, scores, block, |_, ranking, entity, score| {
                if ranking.competes(entity) {
                    ranking.count(score);
                }
            });
        }
        all.iter().map(Ranking::ranks).collect()
    }

    fn with_bytes<T: Borrow<Test> + Sync>(
        &mut self,
        [offset, slope]: [f32; 2],
        program: &Program,
        roots: &[F],
        tests: &[T],
    ) -> Vec<Ranks> {
        let blocks = self.blocks();
        let Scan { model, weights, entities, rounding, sets, rough, .. } = self;
        let width = model.width();
        sets.fill(roots, width);
        let best_of = |query: usize, rows: &[u32]| {
            let mut scores = vec![F::zero(); program.roots_of(query).len() * rows.len()];
            for (root, scores) in program.roots_of(query).zip(scores.chunks_mut(rows.len().max(1)))
            {
                let set = &roots[root * width..][..width];
                model.scores_of(set, &weights.entities.data, rows, scores);
            }
            best_scores(&scores, rows.len()).into_owned()
        };
        let rankings = tests.par_iter().map(T::borrow).enumerate().map(|(query, test)| {
            let ranking = Ranking::new(test, best_of(query, &test.hard));
            let rounded = |root: usize| sets.rounding(root, &roots[root * width..][..width]);
            let most = *rounding + program.roots_of(query).map(rounded).fold(0.0, f64::max);
            // Sums of many numbers are rounded, too.
            let margin = slope.abs() * most as f32 + 1e-3;
            let wanted: Vec<f32> = ranking.wanted().iter().map(|of| of.wide() as f32).collect();
            let near = Near::new(offset, slope * width as f32, margin, &wanted);
            (ranking, near)
        });
        let mut all: Vec<_> = rankings.collect();
        for block in blocks {
            let count = block.len();
            let rough = rows::reuse(rough, program.roots.len() * count);
            entities.distances_of(block.clone(), sets, rough, [offset, slope]);
            let mut rest = rough;
            let mut parts = Vec::with_capacity(all.len());
            for query in 0..all.len() {
                let of_query = program.roots_of(query).len() * count;
                let (part, after) = std::mem::take(&mut rest).split_at_mut(of_query);
                parts.push(part);
                rest = after;
            }
            rows::each_two((&mut all, 1), (&mut parts, 1), |query, one, part| {
                let (ranking, near) = &mut one[0];
                let scores = into_best(part[0], count);
                // Answers do not compete.
                for answer in ranking.answers_in(&block) {
                    scores[answer as usize - block.start] = f32::NEG_INFINITY;
                }
                let mut unsure = Vec::new();
                for (entity, score) in block.clone().zip(&*scores) {
                    match near.below(*score) {
                        Some(below) => ranking.count_above(below),
                        None => unsure.push(entity as u32),
                    }
                }
                best_of(query, &unsure).into_iter().for_each(|score| ranking.count(score));
            });
        }
        all.iter().map(|(ranking, _)| ranking.ranks()).collect()
    }
}

/// The best of the scores that several roots give each of `count` entities, in place of those of the first.
fn into_best(rows: &mut [f32], count: usize) -> &mut [f32] {
    let (best, others) = rows.split_at_mut(count);
    for row in others.chunks_exact(count) {
        best.iter_mut().zip(row).for_each(|(best, score)| *best = best.max(*score));
    }
    best
}

/// Shows the entities of a block, with the best score that any root gives each, to what belongs to each query.
fn show<S: Real, T: Send>(
    all: &mut [T],
    program: &Program,
    scores: &[S],
    block: Range<usize>,
    see: impl Fn(usize, &mut T, u32, S) + Sync,
) {
    let count = block.len();
    rows::each(all, 1, |query, of_query| {
        let here = program.roots_of(query);
        let best = best_scores(&scores[here.start * count..here.end * count], count);
        for (entity, score) in block.clone().zip(&*best) {
            see(query, &mut of_query[0], entity as u32, *score);
        }
    });
}

#[cfg(test)]
mod tests {
    use skolem_kg::query::{names::Numbers, text::parse};
    use skolem_kg::rng::Rng;

    use super::super::rank::tests::{rank, test};
    use super::*;
    use crate::model::Logic;
    use crate::pass::Pass;
    use crate::program::Union;

    #[test]
    fn ranks_are_those_of_exact_scores() {
        let relations = 4;
        // Several blocks, the last of them small.
        for (entities, bounds, spread) in
            [(300, false, 1.0), (2 * BLOCK + 7, true, 1.0), (300, false, 0.02)]
        {
            // With little spread all scores are near each other.
            let model = Logic { dim: 10, hidden: 12, bounds, spread, ..Logic::default() };
            let weights: Weights<f32> = model.weights(entities, relations, &mut Rng::new(5));
            let texts = ["r1(e7)", "r0(e1) | r2(e5)", "r1(r3(e2) & !r0(e9))"];
            let names = Numbers;
            let queries: Vec<_> = texts.iter().map(|text| parse(text, &names).unwrap()).collect();
            let program = Program::compile(&queries, Union::Disjuncts).unwrap();
            let mut pass = Pass::default();
            pass.forward(&model, &weights, &program);
            let hard: Vec<u32> = (0..entities as u32).step_by(13).collect();
            let tests = [test(&[3], &hard), test(&[], &[299]), test(&[0, 1], &hard[..2])];
            let mut scan = Scan::new(&model, &weights);
            let bytes = scan.rank(&program, &pass.roots, &tests);
            let numbers = scan.with_numbers(&program, &pass.roots, &tests);
            let most = program.roots.len() * BLOCK;
            assert!(scan.rough.capacity() <= most && scan.exact.capacity() <= most, "all at once");
            for (query, test) in tests.iter().enumerate() {
                let width = 2 * model.dim;
                let scores = (0..entities as u32).map(|entity| {
                    let roots = program.roots_of(query).map(|root| {
                        let set = &pass.roots[root * width..][..width];
                        Model::<f32>::score(&model, set, weights.entity(entity))
                    });
                    roots.fold(f32::NEG_INFINITY, f32::max)
                });
                let exact = rank(&scores.collect::<Vec<_>>(), test);
                assert_eq!([bytes[query], numbers[query]], [exact; 2], "{query}");
            }
        }
    }
}
