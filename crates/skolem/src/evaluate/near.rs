//! Which rounded scores tell where an entity ranks, and which are too near to a wanted one.

/// For every score, how many wanted ones are below it, or that this takes the exact score: a table of bins, so
/// that some a little further away are taken for near, too.
pub struct Near {
    least: f32,
    scale: f32,
    bins: Vec<u32>,
}

/// What a bin holds whose scores are near a wanted one.
const NEAR: u32 = u32::MAX;
/// Bins to a margin.
const BINS: f32 = 4.0;
/// The most margins that there are: scores have no more digits than to tell these apart, and every query has bins
/// of its own.
const MARGINS: f32 = 4096.0;

impl Near {
    /// For scores between `offset` and `offset + range`, which may be negative, that are off by at most `margin`, and
    /// wanted ones in order.
    pub fn new(offset: f32, range: f32, margin: f32, wanted: &[f32]) -> Near {
        let margin = margin.max(range.abs() / MARGINS);
        // Below that is the first bin, for what is to count nowhere.
        let least = offset.min(offset + range) - margin;
        let scale = BINS / margin;
        let count = ((range.abs() + 2.0 * margin) * scale) as usize + 3;
        let mut near = Near { least, scale, bins: vec![0; count] };
        let mut below = 0;
        for bin in 1..count {
            while wanted.get(below).is_some_and(|score| near.bin(*score) < bin) {
                below += 1;
            }
            near.bins[bin] = below as u32;
        }
        // A score that is no number was made the worst there is, below all bins.
        for score in wanted.iter().filter(|score| score.is_finite()) {
            let [first, last] = [-margin, margin].map(|by| near.bin(score + by).max(1));
            near.bins[first..=last].fill(NEAR);
        }
        near
    }

    fn bin(&self, score: f32) -> usize {
        let place = (score - self.least) * self.scale + 1.0;
        (place as usize).min(self.bins.len() - 1)
    }

    /// How many wanted scores are below this one; none if it is too near to one to tell. Of −∞ there are none.
    pub fn below(&self, score: f32) -> Option<usize> {
        match self.bins[self.bin(score)] {
            NEAR => None,
            below => Some(below as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_told_is_true_of_the_exact_score(
            mut wanted in proptest::collection::vec(-90f32..10.0, 0..20),
            scores in proptest::collection::vec((-90f32..10.0, -1f32..1.0), 1..40),
            margin in 0.001f32..2.0,
        ) {
            wanted.sort_by(f32::total_cmp);
            let near = Near::new(10.0, -100.0, margin, &wanted);
            for (exact, off) in scores {
                let Some(below) = near.below(exact + 0.99 * off * margin) else { continue };
                prop_assert_eq!(below, wanted.partition_point(|wanted| *wanted < exact));
                prop_assert!(!wanted.contains(&exact));
            }
        }
    }

    #[test]
    fn some_scores_are_told_and_others_are_not() {
        let near = Near::new(10.0, -100.0, 0.1, &[f32::NEG_INFINITY, -30.0, -20.0]);
        assert_eq!(near.below(f32::NEG_INFINITY), Some(0));
        assert_eq!(
            [-90.0, -31.0, -25.0, 10.0].map(|score| near.below(score)),
            [1, 1, 2, 3].map(Some)
        );
        assert_eq!([-30.05, -30.0, -19.91].map(|score| near.below(score)), [None; 3]);
    }
}
