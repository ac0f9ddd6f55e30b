//! One step of Adam on a row.

use super::simd;
use crate::Real;

simd! {
    /// Moves `x` by Adam: the moments take in the gradient, then x −= step · m / (√v · correct + ε).
    ///
    /// `rest` is 1 − β, which `f32` cannot tell from a β near 1; `step` is the learning rate over
    /// 1 − β₁ᵗ, `correct` is 1/√(1 − β₂ᵗ).
    pub fn adam<F: Real>(
        x: &mut [F], m: &mut [F], v: &mut [F], gradient: &[F],
        beta: [F; 2], rest: [F; 2], step: F, correct: F, epsilon: F,
    ) {
        for (((x, m), v), g) in x.iter_mut().zip(m).zip(v).zip(gradient) {
            *m = *m * beta[0] + *g * rest[0];
            *v = *v * beta[1] + *g * *g * rest[1];
            *x -= step * *m / (v.sqrt() * correct + epsilon);
        }
    }
}

simd! {
    /// What `adam` does over skipped steps without gradient, at once: the moments fade by `fade1` and
    /// `fade2`, and x −= drift · m / (√v · correct + ε).
    pub fn adam_skipped<F: Real>(
        x: &mut [F], m: &mut [F], v: &mut [F],
        fade1: F, fade2: F, drift: F, correct: F, epsilon: F,
    ) {
        for ((x, m), v) in x.iter_mut().zip(m).zip(v) {
            *x -= drift * *m / (v.sqrt() * correct + epsilon);
            *m *= fade1;
            *v *= fade2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn levels_agree_to_the_bit() {
        let g = numbers(100, 5);
        same_at_every_level(|| {
            let [mut x, mut m, mut v] = [1, 2, 3].map(|seed| numbers(100, seed));
            adam(&mut x, &mut m, &mut v, &g, [0.9, 0.999], [0.1, 0.001], 0.01, 1.5, 1e-8);
            adam_skipped(&mut x, &mut m, &mut v, 0.5, 0.9, 0.1, 1.2, 1e-8);
            [x, m, v].concat()
        });
    }
}
