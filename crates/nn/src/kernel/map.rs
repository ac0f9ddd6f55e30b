//! Loops over one or two rows.

use super::l1::{LANES, total};
use super::simd;
use crate::Real;

simd! {
    /// x = relu(x + a + b).
    pub fn add_two_relu<F: Real>(x: &mut [F], a: &[F], b: &[F]) {
        for ((x, a), b) in x.iter_mut().zip(a).zip(b) {
            let sum = *x + *a + *b;
            // Written so that NaN stays NaN, to be caught, instead of becoming 0.
            *x = if sum < F::zero() { F::zero() } else { sum };
        }
    }
}

simd! {
    /// x = relu(x + b).
    pub fn add_relu<F: Real>(x: &mut [F], b: &[F]) {
        for (x, b) in x.iter_mut().zip(b) {
            let sum = *x + *b;
            *x = if sum < F::zero() { F::zero() } else { sum };
        }
    }
}

simd! {
    /// x = σ(x + b).
    pub fn add_sigmoid<F: Real>(x: &mut [F], b: &[F]) {
        for (x, b) in x.iter_mut().zip(b) {
            *x = (*x + *b).sigmoid();
        }
    }
}

simd! {
    /// x += y.
    pub fn add<F: Real>(x: &mut [F], y: &[F]) {
        for (x, y) in x.iter_mut().zip(y) {
            *x += *y;
        }
    }
}

simd! {
    /// x += c · y.
    pub fn add_scaled<F: Real>(x: &mut [F], y: &[F], c: F) {
        for (x, y) in x.iter_mut().zip(y) {
            *x += *y * c;
        }
    }
}

simd! {
    /// Lets a gradient through, times `scale`, where relu's result was above zero.
    pub fn relu_backward<F: Real>(gradient: &mut [F], result: &[F], scale: F) {
        for (gradient, result) in gradient.iter_mut().zip(result) {
            *gradient = if *result > F::zero() { *gradient * scale } else { F::zero() };
        }
    }
}

simd! {
    /// Makes zero every number whose place hashes below `least`, and multiplies the others with `scale`.
    pub fn drop_some<F: Real>(x: &mut [F], key: u32, least: u32, scale: F) {
        for (at, x) in x.iter_mut().enumerate() {
            let mut hash = key ^ (at as u32).wrapping_mul(0x9e37_79b9);
            hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
            hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
            hash ^= hash >> 16;
            *x = if hash < least { F::zero() } else { *x * scale };
        }
    }
}

simd! {
    /// Turns the gradient of σ's result into that of its input.
    pub fn sigmoid_backward<F: Real>(gradient: &mut [F], result: &[F]) {
        for (gradient, result) in gradient.iter_mut().zip(result) {
            *gradient *= *result * (F::one() - *result);
        }
    }
}

simd! {
    /// Σ x², in a fixed order.
    pub fn sum_of_squares<F: Real>(x: &[F]) -> F {
        let mut lanes = [F::zero(); 16];
        let chunks = x.chunks_exact(16);
        let rest = chunks.remainder();
        for x in chunks {
            for at in 0..16 {
                lanes[at] += x[at] * x[at];
            }
        }
        for (at, x) in rest.iter().enumerate() {
            lanes[at] += *x * *x;
        }
        let mut sum = F::zero();
        for lane in lanes {
            sum += lane;
        }
        sum
    }
}

simd! {
    /// Σ |x|, in a fixed order.
    pub fn sum_of_sizes<F: Real>(x: &[F]) -> F {
        let mut lanes = [F::zero(); LANES];
        let (chunks, rest) = x.as_chunks::<LANES>();
        for x in chunks {
            lanes = std::array::from_fn(|at| lanes[at] + x[at].abs());
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            *lane += x.abs();
        }
        total(&lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn levels_agree_to_the_bit() {
        let (x, y) = (numbers(803, 1), numbers(803, 2));
        let centred: Vec<f32> = x.iter().map(|x| 20.0 * (x - 0.5)).collect();
        same_at_every_level(|| {
            let mut all = Vec::new();
            let mut run = |apply: &dyn Fn(&mut [f32])| {
                let mut out = centred.clone();
                apply(&mut out);
                all.extend(out);
            };
            run(&|out| add_two_relu(out, &y, &x));
            run(&|out| add_relu(out, &y));
            run(&|out| add_sigmoid(out, &y));
            run(&|out| add(out, &y));
            run(&|out| add_scaled(out, &y, 0.3));
            run(&|out| relu_backward(out, &centred, 1.25));
            run(&|out| drop_some(out, 7, 1 << 30, 1.5));
            run(&|out| sigmoid_backward(out, &y));
            all.extend([sum_of_squares(&centred), sum_of_sizes(&centred)]);
            all
        });
    }

    #[test]
    fn nan_is_not_hidden() {
        let mut x = [f32::NAN, -1.0, 2.0];
        add_relu(&mut x, &[0.0; 3]);
        assert!(x[0].is_nan());
        assert_eq!(x[1..], [0.0, 2.0]);
    }
}
