//! Numbers of any sign as parameters of distributions: y = clamp(x + 1) to [0.05, 10⁹].

use crate::Real;

/// The least parameter.
const LEAST: f64 = 0.05;
/// The largest.
const MOST: f64 = 1e9;

/// y of some x, to which biases are added first.
pub fn forward<F: Real>(y: &mut [F], bias: &[F]) {
    y.iter_mut().zip(bias).for_each(|(y, bias)| *y = positive(*y + *bias));
}

/// y of one x.
pub fn positive<F: Real>(x: F) -> F {
    let x = x + F::one();
    // Written so that NaN stays NaN.
    let low = if x < F::of(LEAST) { F::of(LEAST) } else { x };
    if low > F::of(MOST) { F::of(MOST) } else { low }
}

/// Lets a gradient through where y is not at an end.
pub fn backward<F: Real>(gradient: &mut [F], y: &[F]) {
    for (gradient, y) in gradient.iter_mut().zip(y) {
        let inside = *y > F::of(LEAST) && *y < F::of(MOST);
        *gradient = if inside { *gradient } else { F::zero() };
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;

    #[test]
    fn gradients() {
        let (x, bias) = (between(-3.0, 3.0, 20, 1), between(-0.5, 0.5, 20, 2));
        let dy = between(-1.0, 1.0, 20, 3);
        let run = |x: &[f64]| {
            let mut y = x.to_vec();
            forward(&mut y, &bias);
            y
        };
        let mut dx = dy.clone();
        backward(&mut dx, &run(&x));
        assert!(dx.contains(&0.0) && dx.iter().any(|dx| *dx != 0.0));
        gradient(&x, &dx, |x| dot(&dy, &run(x)));
    }

    #[test]
    fn a_nan_stays_visible() {
        assert!(positive(f32::NAN).is_nan());
        assert_eq!([positive(-9.0), positive(1.0), positive(1e12)], [0.05, 2.0, 1e9]);
    }
}
