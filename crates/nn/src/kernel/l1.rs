//! Sums of absolute differences, and their gradients: the distance between a set and an entity.

use super::simd;
use crate::Real;

/// Partial sums kept apart, so that they fit any vector and the order of addition is always the same.
const LANES: usize = 16;

/// One number from the partial sums, added in a fixed order.
#[inline(always)]
fn total<F: Real>(mut lanes: [F; LANES]) -> F {
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] = lanes[at] + lanes[at + half];
        }
        half /= 2;
    }
    lanes[0]
}

simd! {
    /// Σ |a − b|.
    pub fn l1<F: Real>(a: &[F], b: &[F]) -> F {
        let mut lanes = [F::zero(); LANES];
        let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        let (rest_a, rest_b) = (a.remainder(), b.remainder());
        for (a, b) in a.zip(b) {
            for at in 0..LANES {
                lanes[at] = lanes[at] + (a[at] - b[at]).abs();
            }
        }
        for (at, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
            lanes[at] = lanes[at] + (*a - *b).abs();
        }
        total(lanes)
    }
}

simd! {
    /// Σ |a − b| of four rows of `a`, which start `width` apart, against one `b`.
    pub fn l1_four<F: Real>(a: &[F], width: usize, b: &[F]) -> [F; 4] {
        let b = &b[..width];
        let (a0, a1, a2, a3) = (&a[..width], &a[width..][..width], &a[2 * width..][..width], &a[3 * width..][..width]);
        let mut lanes = [[F::zero(); LANES]; 4];
        let mut at = 0;
        while at + LANES <= width {
            let b = &b[at..at + LANES];
            for (lanes, a) in lanes.iter_mut().zip([a0, a1, a2, a3]) {
                let a = &a[at..at + LANES];
                for lane in 0..LANES {
                    lanes[lane] = lanes[lane] + (a[lane] - b[lane]).abs();
                }
            }
            at += LANES;
        }
        for (lanes, a) in lanes.iter_mut().zip([a0, a1, a2, a3]) {
            for (lane, at) in (at..width).enumerate() {
                lanes[lane] = lanes[lane] + (a[at] - b[at]).abs();
            }
        }
        [total(lanes[0]), total(lanes[1]), total(lanes[2]), total(lanes[3])]
    }
}

simd! {
    /// out += c · sign(a − b), where the sign of zero is zero.
    pub fn add_signs<F: Real>(out: &mut [F], a: &[F], b: &[F], c: F) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            let up = if *a > *b { c } else { F::zero() };
            let down = if *a < *b { c } else { F::zero() };
            *out = *out + (up - down);
        }
    }
}

simd! {
    /// out += Σᵢ cᵢ · sign(a − bᵢ) over rows `bᵢ` that start `width` apart; rows with `cᵢ = 0` cost
    /// nothing.
    pub fn add_signs_rows<F: Real>(out: &mut [F], a: &[F], rows: &[F], width: usize, offset: usize, c: &[F]) {
        for (row, &c) in rows.chunks_exact(width).zip(c) {
            if c == F::zero() {
                continue;
            }
            let row = &row[offset..offset + out.len()];
            for ((out, a), b) in out.iter_mut().zip(a).zip(row) {
                let up = if *a > *b { c } else { F::zero() };
                let down = if *a < *b { c } else { F::zero() };
                *out = *out + (up - down);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn levels_agree_to_the_bit() {
        for width in [1, 7, 16, 50, 800, 803] {
            let (a, b) = (numbers(4 * width, 1), numbers(width, 2));
            same_at_every_level(|| {
                let mut out = vec![0.5; width];
                add_signs(&mut out, &a[..width], &b, 0.3);
                add_signs_rows(&mut out, &b, &a, width, 0, &[0.1, 0.0, 0.2, 0.7]);
                out.push(l1(&a[..width], &b));
                out.extend(l1_four(&a, width, &b));
                out
            });
        }
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        for width in [0, 1, 15, 16, 17, 800] {
            let (a, b) = (numbers(4 * width, 3), numbers(width, 4));
            let exact = |row: usize| -> f64 {
                let a = &a[row * width..][..width];
                a.iter().zip(&b).map(|(a, b)| f64::from((a - b).abs())).sum()
            };
            assert!((f64::from(l1(&a[..width], &b)) - exact(0)).abs() < 1e-4);
            let four = l1_four(&a, width, &b);
            (0..4).for_each(|row| assert!((f64::from(four[row]) - exact(row)).abs() < 1e-4));
            // The same bits, whichever of the two is used.
            assert_eq!(four[0], l1(&a[..width], &b));
        }
    }

    #[test]
    fn the_sign_of_zero_is_zero() {
        let mut out = [1.0f32; 3];
        add_signs(&mut out, &[0.5, 0.2, 0.9], &[0.5, 0.9, 0.2], 2.0);
        assert_eq!(out, [1.0, -1.0, 3.0]);
    }
}
