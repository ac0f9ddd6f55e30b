//! Filtered ranks: an answer competes with entities that are no answers.

use std::cmp::Ordering;
use std::ops::Range;

use skolem_nn::Real;

use super::{Figures, Test};

/// Sums over queries.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ranks {
    queries: usize,
    mrr: f64,
    hits: [f64; 3],
}

impl Ranks {
    /// Adds those of other queries.
    pub fn add(&mut self, other: &Ranks) {
        self.queries += other.queries;
        self.mrr += other.mrr;
        self.hits.iter_mut().zip(other.hits).for_each(|(sum, of)| *sum += of);
    }

    /// Means over the queries.
    pub fn figures(&self) -> Figures {
        let mean = |sum: f64| sum / self.queries.max(1) as f64;
        let [hits1, hits3, hits10] = self.hits.map(mean);
        Figures { queries: self.queries, mrr: mean(self.mrr), hits1, hits3, hits10 }
    }
}

/// Counts the entities that score above the hard answers of one query. All entities are shown to it once, in
/// order, but never a whole row of scores.
pub struct Ranking<'a, F> {
    /// Answers that are still to come.
    easy: &'a [u32],
    hard: &'a [u32],
    /// The scores of the hard answers, the lowest first.
    wanted: Vec<F>,
    /// How many non-answers score above all wanted before a place, and how many the same as one.
    above: Vec<u32>,
    equal: Vec<u32>,
}

impl<'a, F: Real> Ranking<'a, F> {
    /// For a query and the scores of its hard answers.
    pub fn new(test: &'a Test, mut wanted: Vec<F>) -> Self {
        wanted.iter_mut().for_each(|score| *score = or_worst(*score));
        wanted.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        let (above, equal) = (vec![0; wanted.len() + 1], vec![0; wanted.len()]);
        Ranking { easy: &test.easy, hard: &test.hard, wanted, above, equal }
    }

    /// Whether the next entity competes: it is no answer.
    pub fn competes(&mut self, entity: u32) -> bool {
        let [easy, hard] = [&mut self.easy, &mut self.hard].map(|list| take_if(list, entity));
        !easy && !hard
    }

    /// The scores of the hard answers, the lowest first.
    pub fn wanted(&self) -> &[F] {
        &self.wanted
    }

    /// The answers among some entities.
    pub fn answers_in(&self, entities: &Range<usize>) -> impl Iterator<Item = u32> + use<'a, F> {
        let [from, to] = [entities.start, entities.end].map(|end| end as u32);
        let within = |list: &'a [u32]| {
            let place = |end: u32| list.partition_point(|entity| *entity < end);
            list[place(from)..place(to)].iter().copied()
        };
        within(self.easy).chain(within(self.hard))
    }

    /// Counts one that scores above this many hard answers, and the same as none.
    pub fn count_above(&mut self, hard: usize) {
        self.above[hard] += 1;
    }

    /// Counts one that competes.
    pub fn count(&mut self, score: F) {
        let score = or_worst(score);
        if self.wanted.first().is_none_or(|least| score < *least) {
            return;
        }
        let below = self.wanted.partition_point(|wanted| *wanted < score);
        self.above[below] += 1;
        if self.wanted.get(below) == Some(&score) {
            self.equal[below] += 1;
        }
    }

    /// The figures of the query: means over its hard answers. The rank of a hard answer is one more than the
    /// number of entities that score above it and are no answers; among equals it is in the middle.
    pub fn ranks(&self) -> Ranks {
        let Ranking { wanted, above, equal, .. } = self;
        if wanted.is_empty() {
            return Ranks::default();
        }
        let mut ranks = Ranks { queries: 1, ..Ranks::default() };
        let each = 1.0 / wanted.len() as f64;
        let (mut higher, mut ties) = (0, 0);
        for place in (0..wanted.len()).rev() {
            higher += above[place + 1];
            if wanted.get(place + 1) != Some(&wanted[place]) {
                // The first of equal places holds their ties, and all that is above them is counted by then.
                ties = equal[wanted.partition_point(|other| *other < wanted[place])];
            }
            let rank = 1.0 + f64::from(higher) + f64::from(ties) / 2.0;
            ranks.mrr += each / rank;
            for (hits, most) in ranks.hits.iter_mut().zip([1.0, 3.0, 10.0]) {
                *hits += if rank <= most { each } else { 0.0 };
            }
        }
        ranks
    }
}

/// A score that is no number counts as the worst.
fn or_worst<F: Real>(score: F) -> F {
    if score.is_nan() { F::neg_infinity() } else { score }
}

/// Whether a sorted list begins with a number, which is then taken from it.
fn take_if(list: &mut &[u32], number: u32) -> bool {
    match list {
        [first, rest @ ..] if *first == number => {
            *list = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A query with these answers.
    pub fn test(easy: &[u32], hard: &[u32]) -> Test {
        let query = skolem_kg::Query::Anchor(skolem_kg::Entity(0));
        Test { shape: "e".into(), query, easy: easy.to_vec(), hard: hard.to_vec() }
    }

    /// The figures of one query from the scores of all entities.
    pub fn rank<F: Real>(scores: &[F], test: &Test) -> Ranks {
        let wanted = test.hard.iter().map(|entity| scores[*entity as usize]).collect();
        let mut ranking = Ranking::new(test, wanted);
        for (entity, score) in scores.iter().enumerate() {
            if ranking.competes(entity as u32) {
                ranking.count(*score);
            }
        }
        ranking.ranks()
    }

    /// The definition, word for word.
    fn plain(scores: &[f32], test: &Test) -> [f64; 4] {
        let Test { easy, hard, .. } = test;
        let mut figures = [0.0; 4];
        for answer in hard {
            let others =
                (0..scores.len() as u32).filter(|e| !easy.contains(e) && !hard.contains(e));
            let (mut above, mut equal) = (0.0, 0.0);
            for other in others {
                above += f64::from(u8::from(scores[other as usize] > scores[*answer as usize]));
                equal += f64::from(u8::from(scores[other as usize] == scores[*answer as usize]));
            }
            // The mean of the best and the worst rank.
            let rank = ((1.0 + above) + (1.0 + above + equal)) / 2.0;
            figures[0] += 1.0 / rank / hard.len() as f64;
            for (figure, most) in figures[1..].iter_mut().zip([1.0, 3.0, 10.0]) {
                *figure += f64::from(u8::from(rank <= most)) / hard.len() as f64;
            }
        }
        figures
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_the_definition(
            scores in proptest::collection::vec(0u8..8, 2..30),
            kinds in proptest::collection::vec(0u8..4, 30),
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let of = |kind| (0..scores.len() as u32).filter(|at| kinds[*at as usize] == kind).collect::<Vec<_>>();
            let test = test(&of(1), &of(2));
            let Figures { queries, mrr, hits1, hits3, hits10 } = rank(&scores, &test).figures();
            for (found, exact) in [mrr, hits1, hits3, hits10].into_iter().zip(plain(&scores, &test)) {
                prop_assert!((found - exact).abs() < 1e-12);
            }
            prop_assert_eq!(queries, usize::from(!test.hard.is_empty()));
        }
    }

    #[test]
    fn a_score_that_is_no_number_ranks_last() {
        let figures = rank(&[f32::NAN, 1.0, 2.0], &test(&[], &[0])).figures();
        assert!((figures.mrr - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_case_by_hand() {
        // Entity 3 is easy, 1 and 4 are hard: 4 is behind 0 only, 1 is level with 5, behind 0 and 2.
        let scores = [0.9f32, 0.3, 0.5, 1.0, 0.8, 0.3];
        let figures = rank(&scores, &test(&[3], &[1, 4])).figures();
        assert!((figures.mrr - (1.0 / 3.5 + 1.0 / 2.0) / 2.0).abs() < 1e-12);
        assert_eq!((figures.hits1, figures.hits3, figures.hits10), (0.0, 0.5, 1.0));
    }
}
