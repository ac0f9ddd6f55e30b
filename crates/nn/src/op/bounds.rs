//! Truth bounds [l ‖ u] with l ≤ u: made from a network's output, complemented, and repaired.

use crate::Real;

/// In place, y = [l ‖ s] becomes [l ‖ u] with u = l + s·(1 − l).
pub fn widen<F: Real>(y: &mut [F]) {
    let (lower, upper) = y.split_at_mut(y.len() / 2);
    for (l, u) in lower.iter().zip(upper) {
        *u = *l + *u * (F::one() - *l);
    }
}

/// Turns the gradient of [l ‖ u] into that of [l ‖ s], given [l ‖ s].
pub fn widen_backward<F: Real>(gradient: &mut [F], y: &[F]) {
    let (dl, du) = gradient.split_at_mut(y.len() / 2);
    let (lower, shares) = y.split_at(y.len() / 2);
    for (((dl, du), l), s) in dl.iter_mut().zip(du).zip(lower).zip(shares) {
        *dl += *du * (F::one() - *s);
        *du *= F::one() - *l;
    }
}

/// Where l > u, both become their mean.
pub fn repair<F: Real>(row: &mut [F]) {
    let (lower, upper) = row.split_at_mut(row.len() / 2);
    let half = F::of(0.5);
    for (l, u) in lower.iter_mut().zip(upper) {
        let mean = (*l + *u) * half;
        let crossed = *l > *u;
        *l = if crossed { mean } else { *l };
        *u = if crossed { mean } else { *u };
    }
}

/// Turns the gradient after [`repair`] into that before it, given the row before it.
pub fn repair_backward<F: Real>(gradient: &mut [F], before: &[F]) {
    let d = before.len() / 2;
    let (dl, du) = gradient.split_at_mut(d);
    let half = F::of(0.5);
    for ((dl, du), (l, u)) in dl.iter_mut().zip(du).zip(before[..d].iter().zip(&before[d..])) {
        let mean = (*dl + *du) * half;
        let crossed = *l > *u;
        *dl = if crossed { mean } else { *dl };
        *du = if crossed { mean } else { *du };
    }
}

/// Puts a row of truth values back into [0, 1]; a NaN stays one.
pub fn clamp<F: Real>(row: &mut [F]) {
    for x in row {
        let low = if *x < F::zero() { F::zero() } else { *x };
        *x = if low > F::one() { F::one() } else { low };
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;

    #[test]
    fn gradients() {
        let y = between(0.05, 0.95, 12, 1);
        let weights = between(-1.0, 1.0, 12, 2);
        let run = |y: &[f64]| {
            let mut y = y.to_vec();
            widen(&mut y);
            y
        };
        let mut dy = weights.clone();
        widen_backward(&mut dy, &y);
        gradient(&y, &dy, |y| dot(&weights, &run(y)));
        let mut dy = weights.clone();
        repair_backward(&mut dy, &y);
        gradient(&y, &dy, |y| {
            let mut y = y.to_vec();
            repair(&mut y);
            dot(&weights, &y)
        });
    }

    #[test]
    fn results_are_bounds() {
        let mut row = [1.5f32, -0.5, 0.7, f32::NAN, 0.2, 0.9, 0.1, 0.0];
        clamp(&mut row);
        repair(&mut row);
        assert_eq!(row[..3], [0.6, 0.0, 0.4]);
        assert_eq!(row[4..7], [0.6, 0.9, 0.4]);
        assert!(row[3].is_nan(), "a NaN must stay visible");
    }
}
