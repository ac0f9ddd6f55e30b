//! The average of the operands of an intersection, each number with shares of its own: p = softmax over the
//! operands of [`super::attention`]'s z, y = Σ p·x.
//!
//! A row of an operand may be several times as wide as its shares: then each of its parts has the same ones.

use std::ops::Range;

use super::attention::{Tape, Weights};
use crate::Real;
use crate::kernel::simd;
use crate::op::tnorm::Rows;
use crate::rows;

simd! {
    /// Turns z of `k` operands, rows as long as `sum`, into shares.
    pub fn shares<F: Real>(z: &mut [F], sum: &mut [F], k: usize) {
        let width = sum.len();
        // First the largest z: exponentials of differences from it cannot overflow.
        sum.copy_from_slice(&z[..width]);
        for row in z.chunks_exact(width).take(k) {
            for (most, z) in sum.iter_mut().zip(row) {
                *most = if *z > *most { *z } else { *most };
            }
        }
        for row in z.chunks_exact_mut(width).take(k) {
            for (z, most) in row.iter_mut().zip(sum.iter()) {
                *z = (*z - *most).exponential();
            }
        }
        sum.fill(F::zero());
        for row in z.chunks_exact(width).take(k) {
            for (sum, z) in sum.iter_mut().zip(row) {
                *sum += *z;
            }
        }
        for row in z.chunks_exact_mut(width).take(k) {
            for (z, sum) in row.iter_mut().zip(sum.iter()) {
                *z /= *sum;
            }
        }
    }
}

simd! {
    /// y = Σ p·x over `k` operands.
    pub fn average<F: Real>(y: &mut [F], x: Rows<'_, F>, p: Rows<'_, F>, k: usize) {
        let width = y.len();
        y.fill(F::zero());
        for at in 0..k {
            let (x, p) = (&x.data[at * x.step..][..width], &p.data[at * p.step..][..width]);
            for ((y, x), p) in y.iter_mut().zip(x).zip(p) {
                *y += *p * *x;
            }
        }
    }
}

simd! {
    /// One operand's gradients. Since Σ p = 1, that of z is p·∂y·(x − y); it is added.
    pub fn average_backward<F: Real>(dx: &mut [F], dz: &mut [F], dy: &[F], y: &[F], x: &[F], p: &[F]) {
        for (((((dx, dz), dy), y), x), p) in dx.iter_mut().zip(dz).zip(dy).zip(y).zip(x).zip(p) {
            *dx = *p * *dy;
            *dz += *dx * (*x - *y);
        }
    }
}

/// The averages of some groups. `x` has the operand rows of all groups, and `of` says which are a group's.
pub fn forward<F: Real>(
    weights: Weights<'_, F>,
    y: &mut [F],
    groups: Range<usize>,
    of: impl Fn(usize) -> Range<usize> + Sync,
    x: &[F],
    tape: &mut Tape<F>,
) {
    let (width, columns) = (weights.first_bias.len(), weights.second_bias.len());
    let operands = of(groups.start).start..of(groups.end - 1).end;
    weights.forward(operands.clone(), x, tape);
    let sizes = groups.clone().map(|group| of(group).len());
    let z = &mut tape.a[operands.start * columns..operands.end * columns];
    rows::each_group(z, columns, sizes, |_, z| {
        let k = z.len() / columns;
        shares(z, &mut vec![F::zero(); columns], k);
    });
    let p = &tape.a;
    rows::each(y, width, |at, y| {
        let group = of(groups.start + at);
        let p = Rows { data: &p[group.start * columns..], step: columns };
        for (part, y) in y.chunks_exact_mut(columns).enumerate() {
            let x = Rows { data: &x[group.start * width + part * columns..], step: width };
            average(y, x, p, group.len());
        }
    });
}

/// The gradients of the operands, rows of these groups alone.
pub fn backward<F: Real>(
    weights: Weights<'_, F>,
    dy: &[F],
    groups: Range<usize>,
    of: impl Fn(usize) -> Range<usize> + Sync,
    x: &[F],
    dx: &mut [F],
    tape: &mut Tape<F>,
) {
    let (width, columns) = (weights.first_bias.len(), weights.second_bias.len());
    let operands = of(groups.start).start..of(groups.end - 1).end;
    let sizes: Vec<usize> = groups.clone().map(|group| of(group).len()).collect();
    let Tape { a: p, dz, .. } = &mut *tape;
    let dz = &mut dz[operands.start * columns..operands.end * columns];
    rows::each_group_two((&mut *dx, width), (dz, columns), &sizes, |at, dx, dz| {
        dz.fill(F::zero());
        let group = of(groups.start + at);
        let p = Rows { data: &p[group.start * columns..], step: columns };
        let mut y = vec![F::zero(); columns];
        for part in (0..width).step_by(columns) {
            let here = part..part + columns;
            let x = Rows { data: &x[group.start * width + part..], step: width };
            average(&mut y, x, p, group.len());
            let dy = &dy[at * width..][here.clone()];
            for operand in 0..group.len() {
                let dx = &mut dx[operand * width..][here.clone()];
                let dz = &mut dz[operand * columns..][..columns];
                let [x, p] = [x, p].map(|rows| &rows.data[operand * rows.step..][..columns]);
                average_backward(dx, dz, dy, &y, x, p);
            }
        }
    });
    weights.backward(operands, dx, tape);
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;
    use crate::kernel::matmul::Precision;
    use crate::kernel::tests::{numbers, same_at_every_level};
    use crate::op::attention::Gradients;

    const STARTS: [usize; 3] = [0, 2, 5];
    /// Two parts of two columns.
    const W: usize = 4;
    const C: usize = 2;

    fn of(group: usize) -> Range<usize> {
        STARTS[group]..STARTS[group + 1]
    }

    fn weights(flat: &[f64]) -> Weights<'_, f64> {
        let (first, rest) = flat.split_at(W * W);
        let (first_bias, rest) = rest.split_at(W);
        let (second, second_bias) = rest.split_at(C * W);
        Weights { first, first_bias, second, second_bias }
    }

    fn run(x: &[f64], flat: &[f64], tape: &mut Tape<f64>) -> Vec<f64> {
        weights(flat).begin(5, Precision::F32, tape);
        let mut y = vec![0.0; 2 * W];
        let (one, two) = y.split_at_mut(W);
        forward(weights(flat), one, 0..1, of, x, tape);
        forward(weights(flat), two, 1..2, of, x, tape);
        y
    }

    #[test]
    fn gradients() {
        let x = between(-2.0, 2.0, 5 * W, 1);
        let flat = between(-1.0, 1.0, W * W + W + C * W + C, 2);
        let dy = between(-1.0, 1.0, 2 * W, 3);
        let mut tape = Tape::default();
        run(&x, &flat, &mut tape);
        weights(&flat).begin_backward(&mut tape);
        let (mut dx, mut dflat) = (vec![0.0; 5 * W], vec![0.0; flat.len()]);
        let (one, two) = dx.split_at_mut(2 * W);
        backward(weights(&flat), &dy[W..], 1..2, of, &x, two, &mut tape);
        backward(weights(&flat), &dy[..W], 0..1, of, &x, one, &mut tape);
        let (first, rest) = dflat.split_at_mut(W * W);
        let (first_bias, rest) = rest.split_at_mut(W);
        let (second, second_bias) = rest.split_at_mut(C * W);
        let gradients = Gradients { first, first_bias, second, second_bias };
        weights(&flat).finish(gradients, &x, &tape);
        gradient(&x, &dx, |x| dot(&dy, &run(x, &flat, &mut Tape::default())));
        gradient(&flat, &dflat, |flat| dot(&dy, &run(&x, flat, &mut Tape::default())));
    }

    #[test]
    fn shares_add_up_and_equals_count_alike() {
        let mut equal = [0.5; 3 * 5];
        shares(&mut equal, &mut [0.0; 5], 3);
        assert!(equal.iter().all(|share: &f64| (share - 1.0 / 3.0).abs() < 1e-12));
        let mut z = between(-30.0, 300.0, 3 * 5, 4);
        shares(&mut z, &mut [0.0; 5], 3);
        (0..5).for_each(|at| assert!((z[at] + z[5 + at] + z[10 + at] - 1.0).abs() < 1e-12));
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let (x, z, dy) = (numbers(3 * 37, 1), numbers(3 * 37, 2), numbers(37, 3));
        same_at_every_level(|| {
            let [mut p, mut y, mut dx, mut dz] = [z.clone(), dy.clone(), dy.clone(), dy.clone()];
            shares(&mut p, &mut y, 3);
            let [x, p] = [&x, &p].map(|data| Rows { data, step: 37 });
            average(&mut y, x, p, 3);
            average_backward(&mut dx, &mut dz, &dy, &y, &x.data[37..74], &p.data[37..74]);
            [p.data, &y, &dx, &dz].concat()
        });
    }
}
