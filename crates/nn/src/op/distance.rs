//! Scores by the distance Σ |set − entity|, of every set with every entity.

use crate::Real;
use crate::kernel::l1::l1_four;
use crate::rows;

/// Sets that look at an entity's row together.
const FOUR: usize = 4;

/// `out[i · n + j] = score(Σ |sets[i] − entities[j]|)` for every set and each of the `n` entities.
pub fn scores<F: Real>(
    sets: &[F],
    entities: &[F],
    width: usize,
    out: &mut [F],
    score: impl Fn(F) -> F + Sync,
) {
    let columns = entities.len() / width;
    rows::each_few(out, columns, FOUR, |first, out| {
        let count = out.len() / columns;
        let mut four = &sets[first * width..][..count * width];
        // The last few are filled up: a score must not depend on its neighbours.
        let mut filled = Vec::new();
        if count < FOUR {
            filled.extend_from_slice(four);
            filled.resize(FOUR * width, F::zero());
            four = &filled;
        }
        for (column, entity) in entities.chunks_exact(width).enumerate() {
            let sums = l1_four(four, width, entity);
            (0..count).for_each(|row| out[row * columns + column] = score(sums[row]));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::l1::l1;
    use crate::kernel::tests::numbers;

    #[test]
    fn they_are_those_of_single_pairs() {
        for (sets, entities, width) in [(1, 3, 5), (4, 2, 16), (7, 5, 33)] {
            let (a, b) = (numbers(sets * width, 1), numbers(entities * width, 2));
            let mut out = vec![0.0; sets * entities];
            scores(&a, &b, width, &mut out, |sum| 2.0 - sum);
            for (at, score) in out.iter().enumerate() {
                let [a, b] = [&a[at / entities * width..], &b[at % entities * width..]];
                assert!((score - (2.0 - l1(&a[..width], &b[..width]))).abs() < 1e-5);
            }
        }
    }
}
