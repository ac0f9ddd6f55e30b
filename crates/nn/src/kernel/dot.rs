//! Products of rows.

use super::l1::{LANES, Weighted, total};
use super::simd;
use crate::Real;

simd! {
    /// Σ a·b.
    pub fn dot<F: Real>(a: &[F], b: &[F]) -> F {
        let [mut even, mut odd] = [[F::zero(); LANES]; 2];
        let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let ((a, last_a), (b, last_b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
        for (a, b) in a.iter().zip(b) {
            even = std::array::from_fn(|at| even[at] + a[0][at] * b[0][at]);
            odd = std::array::from_fn(|at| odd[at] + a[1][at] * b[1][at]);
        }
        for (a, b) in last_a.iter().zip(last_b) {
            even = std::array::from_fn(|at| even[at] + a[at] * b[at]);
        }
        for (at, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
            odd[at] += *a * *b;
        }
        total(&even) + total(&odd)
    }
}

simd! {
    /// out += Σ weight · row, of the first numbers of rows that are `step` apart.
    pub fn add_rows<F: Real>(out: &mut [F], of: Weighted<'_, F>, step: usize) {
        for (row, weight) in of.rows.iter().zip(of.weights) {
            let row = &of.table[*row as usize * step..][..out.len()];
            for (out, x) in out.iter_mut().zip(row) {
                *out += *weight * *x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn they_are_those_of_the_definition() {
        for width in [0, 1, 16, 33, 800] {
            let (a, table) = (numbers(width, 1), numbers(3 * (width + 1), 2));
            let row = |at: usize| &table[at * (width + 1)..][..width];
            let exact = |b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            assert!((f64::from(dot(&a, row(0))) - exact(row(0))).abs() < 1e-4);
            let mut out = a.clone();
            let of = Weighted { table: &table, rows: &[2, 0], weights: &[0.5, -2.0] };
            add_rows(&mut out, of, width + 1);
            for at in 0..width {
                assert!((out[at] - (a[at] + 0.5 * row(2)[at] - 2.0 * row(0)[at])).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let (a, table) = (numbers(803, 1), numbers(3 * 804, 2));
        same_at_every_level(|| {
            let mut out = a.clone();
            let of = Weighted { table: &table, rows: &[2, 0], weights: &[0.5, -2.0] };
            add_rows(&mut out, of, 804);
            out.push(dot(&a, &table[..803]));
            out
        });
    }
}
