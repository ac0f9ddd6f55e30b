//! The distance of a point from a box [centre ‖ offset], and its gradients: with δ = |point − centre|,
//! Σ (δ − offset)₊ outside the box and `inside` · Σ |min(δ, offset)| within it.
//!
//! Nothing keeps an offset above zero: below, a point is outside however near it is, as published.

use super::l1::{LANES, Weighted, total};
use super::simd;
use crate::Real;

simd! {
    /// The distance.
    pub fn distance<F: Real>(set: &[F], point: &[F], inside: F) -> F {
        let (centre, offset) = set.split_at(set.len() / 2);
        let mut sums = [F::zero(); LANES];
        let (points, rest) = point.as_chunks::<LANES>();
        let ((centres, rest_centre), (offsets, rest_offset)) =
            (centre.as_chunks::<LANES>(), offset.as_chunks::<LANES>());
        for ((point, centre), offset) in points.iter().zip(centres).zip(offsets) {
            sums = std::array::from_fn(|at| sums[at] + apart(point[at], centre[at], offset[at], inside));
        }
        for (at, ((point, centre), offset)) in rest.iter().zip(rest_centre).zip(rest_offset).enumerate() {
            sums[at] += apart(*point, *centre, *offset, inside);
        }
        total(&sums)
    }
}

/// One number's part of the distance.
#[inline(always)]
fn apart<F: Real>(point: F, centre: F, offset: F, inside: F) -> F {
    let far = (point - centre).abs();
    let out = far - offset;
    let within = if out > F::zero() { offset } else { far };
    (if out > F::zero() { out } else { F::zero() }) + inside * within.abs()
}

/// `by` · ∂distance/∂centre, given centre − point.
#[inline(always)]
fn pull<F: Real>(apart: F, offset: F, inside: F, by: F) -> F {
    let slope = if apart.abs() > offset { by } else { by * inside };
    let up = if apart > F::zero() { slope } else { F::zero() };
    let down = if apart < F::zero() { slope } else { F::zero() };
    up - down
}

simd! {
    /// Adds to the gradient of a box what the gradients of its distances from some points make of it, times `by`.
    pub fn add_to_box<F: Real>(dset: &mut [F], set: &[F], points: Weighted<'_, F>, inside: F, by: F) {
        let half = set.len() / 2;
        let (centre, offset) = set.split_at(half);
        let (dcentre, doffset) = dset.split_at_mut(half);
        let (offset, doffset) = (&offset[..half], &mut doffset[..half]);
        for (row, weight) in points.rows.iter().zip(points.weights) {
            let point = &points.table[*row as usize * half..][..half];
            let by = *weight * by;
            for at in 0..half {
                let apart = centre[at] - point[at];
                dcentre[at] += pull(apart, offset[at], inside, by);
                let size = if offset[at] > F::zero() { inside } else { -inside };
                let shrunk = by * (size - F::one());
                doffset[at] += if apart.abs() > offset[at] { shrunk } else { F::zero() };
            }
        }
    }
}

simd! {
    /// Adds to the gradient of a point what the gradients of its distances from some boxes make of it, times `by`.
    pub fn add_to_point<F: Real>(dpoint: &mut [F], point: &[F], sets: Weighted<'_, F>, inside: F, by: F) {
        let half = point.len();
        let dpoint = &mut dpoint[..half];
        for (row, weight) in sets.rows.iter().zip(sets.weights) {
            let (centre, offset) = sets.table[*row as usize * 2 * half..][..2 * half].split_at(half);
            let (offset, by) = (&offset[..half], *weight * by);
            for at in 0..half {
                dpoint[at] += pull(point[at] - centre[at], offset[at], inside, by);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::{numbers, same_at_every_level};
    use crate::op::check::{between, gradient};

    const HALF: usize = 19;

    #[test]
    fn a_case_by_hand() {
        // Outside by 3 − 1 with 1 within; inside at 0.5; a box turned inside out, 0.1 away.
        let found = distance(&[0.0f64, 0.0, 0.0, 1.0, 2.0, -0.1], &[3.0, -0.5, 0.0], 0.1);
        assert!((found - (2.0 + 0.1 + 0.1 * (1.0 + 0.5 + 0.1))).abs() < 1e-12);
    }

    #[test]
    fn gradients() {
        let mut set = between(-1.0, 1.0, 2 * HALF, 1);
        // Two offsets are below zero.
        set[HALF + 2..].iter_mut().for_each(|offset| *offset = offset.abs());
        set[HALF..HALF + 2].iter_mut().for_each(|offset| *offset = -offset.abs());
        let table = between(-1.0, 1.0, 6 * HALF, 2);
        let (rows, weights) = ([2u32, 0], [0.7, -0.4]);
        let of = |set: &[f64]| -> f64 {
            let point = |row: u32| &table[row as usize * HALF..][..HALF];
            let each = rows.iter().zip(weights);
            each.map(|(row, weight)| weight * -distance(set, point(*row), 0.02)).sum()
        };
        let mut dset = vec![0.0; 2 * HALF];
        let points = Weighted { table: &table, rows: &rows, weights: &weights };
        add_to_box(&mut dset, &set, points, 0.02, -1.0);
        gradient(&set, &dset, of);

        let point = between(-1.0, 1.0, HALF, 3);
        let of = |point: &[f64]| -> f64 {
            let set = |row: u32| &table[row as usize * 2 * HALF..][..2 * HALF];
            let each = rows.iter().zip(weights);
            each.map(|(row, weight)| weight * distance(set(*row), point, 0.02)).sum()
        };
        let mut dpoint = vec![0.0; HALF];
        let sets = Weighted { table: &table, rows: &rows, weights: &weights };
        add_to_point(&mut dpoint, &point, sets, 0.02, 1.0);
        gradient(&point, &dpoint, of);
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let (set, table) = (numbers(2 * HALF, 1), numbers(4 * HALF, 2));
        same_at_every_level(|| {
            let mut out = vec![distance(&set, &table[..HALF], 0.02)];
            let of = || Weighted { table: &table, rows: &[1, 0], weights: &[0.3, 0.9] };
            let mut gradient = vec![0.0; 2 * HALF];
            add_to_box(&mut gradient, &set, of(), 0.02, -1.0);
            add_to_point(&mut gradient, &set[..HALF], of(), 0.02, -1.0);
            out.extend(gradient);
            out
        });
    }
}
