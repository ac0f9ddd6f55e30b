//! Sums of absolute differences, and their gradients: the distance between a set and an entity.

use super::{fetch, simd};
use crate::Real;

/// Partial sums kept apart, so that they fit any vector and the order of addition is always the same.
pub(super) const LANES: usize = 16;

/// One number from the partial sums, added in a fixed order.
///
/// Never inlined: seeing this order, the compiler would arrange the lanes of the loops before it to suit
/// these few additions, and the loops would be four times slower.
#[inline(never)]
pub(super) fn total<F: Real>(lanes: &[F; LANES]) -> F {
    let mut lanes = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] += lanes[at + half];
        }
        half /= 2;
    }
    lanes[0]
}

simd! {
    /// Σ |a − b|.
    pub fn l1<F: Real>(a: &[F], b: &[F]) -> F {
        // Two sets of lanes: one alone would wait for its own additions.
        let [mut even, mut odd] = [[F::zero(); LANES]; 2];
        let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let ((a, last_a), (b, last_b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
        for (a, b) in a.iter().zip(b) {
            even = added(even, a[0], b[0]);
            odd = added(odd, a[1], b[1]);
        }
        for (a, b) in last_a.iter().zip(last_b) {
            even = added(even, *a, *b);
        }
        for (at, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
            odd[at] += (*a - *b).abs();
        }
        total(&even) + total(&odd)
    }
}

simd! {
    /// Σ |a − b| of four rows of `a`, which start `width` apart, against one `b`.
    pub fn l1_four<F: Real>(a: &[F], width: usize, b: &[F]) -> [F; 4] {
        let row = |row: usize| &a[row * width..][..width];
        four(row(0), row(1), row(2), row(3), &b[..width])
    }
}

simd! {
    /// Σ |a − b| of four rows against one `b`, all equally long.
    pub fn l1_rows<F: Real>(a0: &[F], a1: &[F], a2: &[F], a3: &[F], b: &[F]) -> [F; 4] {
        four(a0, a1, a2, a3, b)
    }
}

/// The loop of both.
#[inline(always)]
fn four<F: Real>(a0: &[F], a1: &[F], a2: &[F], a3: &[F], b: &[F]) -> [F; 4] {
    let (rows, rest_rows) = {
        let all = [a0, a1, a2, a3].map(|row| row[..b.len()].as_chunks::<LANES>());
        (all.map(|(chunks, _)| chunks), all.map(|(_, rest)| rest))
    };
    let (b, rest_b) = b.as_chunks::<LANES>();
    let count = b.len();
    let [a0, a1, a2, a3] = rows.map(|row| &row[..count]);
    let [mut s0, mut s1, mut s2, mut s3] = [[F::zero(); LANES]; 4];
    for at in 0..count {
        let b = b[at];
        s0 = added(s0, a0[at], b);
        s1 = added(s1, a1[at], b);
        s2 = added(s2, a2[at], b);
        s3 = added(s3, a3[at], b);
    }
    let mut sums = [s0, s1, s2, s3];
    for (lanes, rest) in sums.iter_mut().zip(rest_rows) {
        for (at, (a, b)) in rest.iter().zip(rest_b).enumerate() {
            lanes[at] += (*a - *b).abs();
        }
    }
    [total(&sums[0]), total(&sums[1]), total(&sums[2]), total(&sums[3])]
}

/// `out[i]` = Σ |row `listed[i]` of `table` − b|, to the bit as [`l1_four`] finds it.
pub fn l1_listed<F: Real>(out: &mut [F], table: &[F], listed: &[u32], b: &[F]) {
    let row = |at: usize| &table[listed[at] as usize * b.len()..][..b.len()];
    for first in (0..listed.len()).step_by(4) {
        // The last few are filled up to four.
        let places: [usize; 4] = std::array::from_fn(|at| (first + at).min(listed.len() - 1));
        (first + 4..listed.len().min(first + 8)).for_each(|next| fetch(row(next)));
        let [a0, a1, a2, a3] = places.map(row);
        let found = l1_rows(a0, a1, a2, a3, b);
        out[first..].iter_mut().zip(found).take(4).for_each(|(out, found)| *out = found);
    }
}

/// sum + |a − b|, in every lane. Whole arrays by value are what the compiler keeps in registers.
#[inline(always)]
fn added<F: Real>(sum: [F; LANES], a: [F; LANES], b: [F; LANES]) -> [F; LANES] {
    std::array::from_fn(|at| sum[at] + (a[at] - b[at]).abs())
}

/// Rows of a table, each with a weight.
#[derive(Clone, Copy)]
pub struct Weighted<'a, F> {
    /// The table, row after row.
    pub table: &'a [F],
    /// The numbers of the rows.
    pub rows: &'a [u32],
    /// Their weights.
    pub weights: &'a [F],
}

simd! {
    /// out += scale · Σ weight · sign(a − row), where the sign of zero is zero.
    pub fn add_signs<F: Real>(out: &mut [F], a: &[F], of: Weighted<'_, F>, scale: F) {
        let (width, a) = (out.len(), &a[..out.len()]);
        let row = |at: usize| &of.table[of.rows[at] as usize * width..][..width];
        let count = of.rows.len();
        // Four rows at a time: the sum is fetched and stored once for them all.
        for at in (0..count / 4).map(|four| 4 * four) {
            (at + 4..count.min(at + 8)).for_each(|next| fetch(row(next)));
            let [b0, b1, b2, b3] = [row(at), row(at + 1), row(at + 2), row(at + 3)];
            let [c0, c1, c2, c3] = [0, 1, 2, 3].map(|next| scale * of.weights[at + next]);
            for lane in 0..width {
                let a = a[lane];
                let first = signed(a, b0[lane], c0) + signed(a, b1[lane], c1);
                let second = signed(a, b2[lane], c2) + signed(a, b3[lane], c3);
                out[lane] += first + second;
            }
        }
        for at in count / 4 * 4..count {
            let (b, c) = (row(at), scale * of.weights[at]);
            for lane in 0..width {
                out[lane] += signed(a[lane], b[lane], c);
            }
        }
    }
}

/// c · sign(a − b).
#[inline(always)]
fn signed<F: Real>(a: F, b: F, c: F) -> F {
    let up = if a > b { c } else { F::zero() };
    let down = if a < b { c } else { F::zero() };
    up - down
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
                let of = Weighted { table: &a, rows: &[2, 0, 3], weights: &[0.3, -0.2, 0.7] };
                add_signs(&mut out, &b, of, 1.5);
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
            let mut listed = [0.0; 6];
            l1_listed(&mut listed, &a, &[3, 1, 0, 2, 1, 3], &b);
            assert_eq!(listed, [3, 1, 0, 2, 1, 3].map(|row: usize| four[row]));
            (0..4).for_each(|row| assert!((f64::from(four[row]) - exact(row)).abs() < 1e-4));
        }
    }

    #[test]
    fn signs_are_those_of_the_definition() {
        for width in [1, 31, 32, 100] {
            let (table, mut a) = (numbers(3 * width, 5), numbers(width, 6));
            // The sign of zero is zero.
            a[0] = table[2 * width];
            let mut out = vec![1.0; width];
            let of = Weighted { table: &table, rows: &[2, 0], weights: &[2.0, 0.5] };
            add_signs(&mut out, &a, of, 3.0);
            for (at, out) in out.iter().enumerate() {
                let sign = |row: usize| match a[at].total_cmp(&table[row * width + at]) {
                    std::cmp::Ordering::Less => -1.0,
                    std::cmp::Ordering::Equal => 0.0,
                    std::cmp::Ordering::Greater => 1.0,
                };
                assert_eq!(*out, 1.0 + 3.0 * (2.0 * sign(2) + 0.5 * sign(0)));
            }
        }
    }
}
