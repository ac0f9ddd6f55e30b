//! Exponentials of many scores.

use super::l1::{LANES, total};
use super::simd;
use crate::Real;

simd! {
    /// The largest of the numbers, those that are none left aside; −∞ of none.
    pub fn most<F: Real>(x: &[F]) -> F {
        let mut lanes = [F::neg_infinity(); LANES];
        let (chunks, rest) = x.as_chunks::<LANES>();
        for chunk in chunks {
            lanes = std::array::from_fn(|at| if chunk[at] > lanes[at] { chunk[at] } else { lanes[at] });
        }
        lanes.into_iter().chain(rest.iter().copied()).fold(F::neg_infinity(), |most, x| {
            if x > most { x } else { most }
        })
    }
}

simd! {
    /// x ← e^(x − most), where −∞ becomes 0; their sum.
    pub fn exponentials<F: Real>(x: &mut [F], most: F) -> F {
        let mut lanes = [F::zero(); LANES];
        let (chunks, rest) = x.as_chunks_mut::<LANES>();
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *x = exponential(*x, most);
                *lane += *x;
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *x = exponential(*x, most);
            *lane += *x;
        }
        total(&lanes)
    }
}

simd! {
    /// x ← a · x − b where x is not zero.
    pub fn scale_and_lower<F: Real>(x: &mut [F], a: F, b: F) {
        for x in x {
            *x = if *x == F::zero() { F::zero() } else { a * *x - b };
        }
    }
}

#[inline(always)]
fn exponential<F: Real>(x: F, most: F) -> F {
    if x == F::neg_infinity() { F::zero() } else { (x - most).exponential() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn levels_agree_to_the_bit() {
        for count in [0, 1, 16, 37, 1000] {
            let scores = numbers(count, 1);
            same_at_every_level(|| {
                let mut x = scores.clone();
                let most = most(&x);
                let sum = exponentials(&mut x, most);
                x.extend([most, sum]);
                x
            });
        }
    }

    #[test]
    fn what_is_left_out_is_zero_and_nan_is_seen() {
        let mut x = [0.5f64, f64::NEG_INFINITY, -0.5];
        assert_eq!(most(&x), 0.5);
        assert!((exponentials(&mut x, 0.5) - (1.0 + (-1f64).exp())).abs() < 1e-12);
        assert_eq!(x[1], 0.0);
        assert!(exponentials(&mut [0.1f32, f32::NAN], 0.1).is_nan());
    }
}
