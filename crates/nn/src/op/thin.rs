//! Few gradients that stand for many small ones.
//!
//! The negatives of a softmax over all entities have gradients that add up to one, most of them tiny. Each
//! below `least` is made `least`, or zero, by chance and in proportion: its mean stays what it was, and at
//! most about 1 / `least` of them are left. One draw does for all: going along, a gradient is kept whenever
//! the sum of what was passed over reaches `least` (systematic sampling), which varies less than a
//! draw for each.

use crate::Real;
use crate::kernel::map;

/// Tells the places and the gradients that are kept; `start` in [0, 1) is the draw. With `least` zero all
/// that are not zero are kept as they are.
pub fn thin<F: Real>(gradients: &[F], least: F, start: F, mut keep: impl FnMut(usize, F)) {
    const PART: usize = 64;
    let mut passed = start * least;
    for (part, gradients) in gradients.chunks(PART).enumerate() {
        // Most parts have nothing to keep, as their sum tells.
        let sum = map::sum_of_sizes(gradients);
        if passed + sum < least {
            passed += sum;
            continue;
        }
        for (at, &gradient) in gradients.iter().enumerate() {
            let size = gradient.abs();
            if size >= least {
                if gradient != F::zero() {
                    keep(part * PART + at, gradient);
                }
                continue;
            }
            passed += size;
            if passed >= least {
                passed -= least;
                keep(part * PART + at, least * gradient.signum());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::numbers;

    #[test]
    fn the_mean_of_every_gradient_stays_what_it_was() {
        let gradients: Vec<f64> =
            numbers(50, 3).into_iter().map(|x| f64::from(x - 0.3) * 0.2).collect();
        let (draws, least) = (1000, 0.1);
        let mut means = vec![0.0; gradients.len()];
        for draw in 0..draws {
            let mut kept = 0;
            thin(&gradients, least, f64::from(draw) / f64::from(draws), |at, gradient| {
                assert!(gradient.abs() >= least);
                means[at] += gradient / f64::from(draws);
                kept += 1;
            });
            let sum: f64 = gradients.iter().map(|gradient| gradient.abs()).sum();
            assert!(f64::from(kept) <= sum / least + 1.0);
        }
        for (mean, gradient) in means.iter().zip(&gradients) {
            assert!((mean - gradient).abs() <= 2.0 * least / f64::from(draws), "{mean} {gradient}");
        }
    }

    #[test]
    fn all_are_kept_as_they_are_where_none_is_too_small() {
        let mut kept = Vec::new();
        thin(&[0.5f32, 0.0, -1e-9], 0.0, 0.7, |at, gradient| kept.push((at, gradient)));
        assert_eq!(kept, [(0, 0.5), (2, -1e-9)]);
    }
}
