//! Random numbers that stay the same for a seed, whatever the machine or the version.

/// SplitMix64: small, fast, and each seed an independent stream.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// A stream of its own for one part of a work, so that parts may run in any order.
    pub fn stream(seed: u64, part: u64, step: u64) -> Rng {
        let mut rng = Rng(seed ^ part.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let start = rng.next() ^ step.wrapping_mul(0xA076_1D64_78BD_642F);
        Rng(Rng(start).next())
    }

    /// The next 64 random bits.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `end`, all equally likely (bias under 2⁻³² for any `end` used here).
    /// Zero if `end` is zero.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// One of a list.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }

    /// Puts a list into random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_forever() {
        let mut rng = Rng::new(1);
        assert_eq!(rng.next(), 0x910A_2DEC_8902_5CC1);
        let mut list: Vec<u32> = (0..10).collect();
        Rng::new(7).shuffle(&mut list);
        let mut sorted = list.clone();
        sorted.sort();
        assert_eq!(sorted, (0..10).collect::<Vec<_>>());
        assert_ne!(Rng::stream(1, 2, 3).next(), Rng::stream(1, 3, 2).next());
    }

    #[test]
    fn numbers_below_stay_below_and_reach_all() {
        let mut rng = Rng::new(3);
        let mut seen = [0; 5];
        (0..1000).for_each(|_| seen[rng.below(5)] += 1);
        assert!(seen.iter().all(|&count| count > 150), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }
}
