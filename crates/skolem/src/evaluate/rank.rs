//! Filtered ranks: an answer competes with entities that are no answers.

use skolem_nn::Real;

use super::Figures;

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

/// The figures of one query: means over its hard answers. The rank of a hard answer is one more than the
/// number of entities that score above it and are no answers; among equals it is in the middle. `easy` and
/// `hard` are sorted.
pub fn rank<F: Real>(scores: &[F], easy: &[u32], hard: &[u32]) -> Ranks {
    if hard.is_empty() {
        return Ranks::default();
    }
    // A score that is no number counts as the worst.
    let score = |entity: u32| {
        let score = scores[entity as usize];
        if score.is_nan() { F::neg_infinity() } else { score }
    };
    let mut wanted: Vec<F> = hard.iter().map(|entity| score(*entity)).collect();
    wanted.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    // How many non-answers score above all wanted before a place, and how many the same as one.
    let mut above = vec![0usize; wanted.len() + 1];
    let mut equal = vec![0usize; wanted.len()];
    let least = wanted[0];
    let (mut easy_at, mut hard_at) = (0, 0);
    for entity in 0..scores.len() as u32 {
        let known = take_if(easy, &mut easy_at, entity) | take_if(hard, &mut hard_at, entity);
        let score = score(entity);
        if known || score < least {
            continue;
        }
        let below = wanted.partition_point(|wanted| *wanted < score);
        above[below] += 1;
        if wanted.get(below) == Some(&score) {
            equal[below] += 1;
        }
    }
    let mut ranks = Ranks { queries: 1, ..Ranks::default() };
    let each = 1.0 / wanted.len() as f64;
    let (mut higher, mut ties) = (0, 0);
    for place in (0..wanted.len()).rev() {
        higher += above[place + 1];
        // The first of equal places holds their ties, and all that is above them is counted by then.
        let first = wanted.partition_point(|other| *other < wanted[place]);
        ties = if wanted.get(place + 1) == Some(&wanted[place]) { ties } else { equal[first] };
        let rank = 1.0 + higher as f64 + ties as f64 / 2.0;
        ranks.mrr += each / rank;
        for (hits, most) in ranks.hits.iter_mut().zip([1.0, 3.0, 10.0]) {
            *hits += if rank <= most { each } else { 0.0 };
        }
    }
    ranks
}

/// Whether a sorted list holds the next number, going along it.
fn take_if(list: &[u32], at: &mut usize, number: u32) -> bool {
    let found = list.get(*at) == Some(&number);
    *at += usize::from(found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, word for word.
    fn plain(scores: &[f32], easy: &[u32], hard: &[u32]) -> (f64, f64) {
        let (mut mrr, mut hits3) = (0.0, 0.0);
        for answer in hard {
            let others =
                (0..scores.len() as u32).filter(|e| !easy.contains(e) && !hard.contains(e));
            let (mut above, mut equal) = (0.0, 0.0);
            for other in others {
                above += f64::from(u8::from(scores[other as usize] > scores[*answer as usize]));
                equal += f64::from(u8::from(scores[other as usize] == scores[*answer as usize]));
            }
            let rank = 1.0 + above + equal / 2.0;
            mrr += 1.0 / rank / hard.len() as f64;
            hits3 += f64::from(u8::from(rank <= 3.0)) / hard.len() as f64;
        }
        (mrr, hits3)
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_the_definition(
            scores in proptest::collection::vec(0u8..8, 2..30),
            kinds in proptest::collection::vec(0u8..4, 30),
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let of = |kind| (0..scores.len() as u32).filter(|at| kinds[*at as usize] == kind).collect::<Vec<_>>();
            let (easy, hard) = (of(1), of(2));
            let figures = rank(&scores, &easy, &hard).figures();
            let (mrr, hits3) = plain(&scores, &easy, &hard);
            prop_assert!((figures.mrr - mrr).abs() < 1e-12);
            prop_assert!((figures.hits3 - hits3).abs() < 1e-12);
            prop_assert_eq!(figures.queries, usize::from(!hard.is_empty()));
        }
    }

    #[test]
    fn a_score_that_is_no_number_ranks_last() {
        let figures = rank(&[f32::NAN, 1.0, 2.0], &[], &[0]).figures();
        assert!((figures.mrr - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_case_by_hand() {
        // Entity 3 is easy, 1 and 4 are hard: 4 is behind 0 only, 1 is level with 5, behind 0 and 2.
        let scores = [0.9f32, 0.3, 0.5, 1.0, 0.8, 0.3];
        let figures = rank(&scores, &[3], &[1, 4]).figures();
        assert!((figures.mrr - (1.0 / 3.5 + 1.0 / 2.0) / 2.0).abs() < 1e-12);
        assert_eq!((figures.hits1, figures.hits3, figures.hits10), (0.0, 0.5, 1.0));
    }
}
