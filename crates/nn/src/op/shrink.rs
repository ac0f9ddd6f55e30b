//! The offset of an intersection of boxes: the least of the operands' offsets, made smaller by a learnt gate.
//!
//! g = σ(W₂·mean(relu(W₁·o + b₁)) + b₂); y = g · min o. Of equal offsets the first is the least.

use std::ops::Range;

use super::attention::{Gradients, Weights};
use super::linear;
use super::tnorm::Rows;
use crate::Real;
use crate::kernel::matmul::{Precision, View, matmul};
use crate::kernel::{map, simd};
use crate::rows::{self, reuse};

/// What backward needs of forward, for all operand rows and all groups of a program; kept between batches for
/// its memory.
#[derive(Default)]
pub struct Tape<F> {
    precision: Precision,
    hidden: Vec<F>,
    dhidden: Vec<F>,
    mean: Vec<F>,
    dmean: Vec<F>,
    gate: Vec<F>,
    dz: Vec<F>,
    least: Vec<F>,
}

simd! {
    /// y = min x over `k` operands.
    pub fn least<F: Real>(y: &mut [F], x: Rows<'_, F>, k: usize) {
        let width = y.len();
        y.copy_from_slice(&x.data[..width]);
        for at in 1..k {
            for (y, x) in y.iter_mut().zip(&x.data[at * x.step..][..width]) {
                *y = if *x < *y { *x } else { *y };
            }
        }
    }
}

simd! {
    /// One operand's gradient: it takes what is left of ∂y where it is the least. Operands come in order.
    pub fn least_backward<F: Real>(dx: &mut [F], left: &mut [F], y: &[F], x: &[F]) {
        for (((dx, left), y), x) in dx.iter_mut().zip(left).zip(y).zip(x) {
            let is_least = *x == *y;
            *dx = if is_least { *left } else { F::zero() };
            *left = if is_least { F::zero() } else { *left };
        }
    }
}

/// Makes room for all operand rows and groups.
pub fn begin<F: Real>(
    weights: Weights<'_, F>,
    operands: usize,
    groups: usize,
    precision: Precision,
    tape: &mut Tape<F>,
) {
    let width = weights.first_bias.len();
    tape.precision = precision;
    reuse(&mut tape.hidden, operands * width);
    for rows in [&mut tape.mean, &mut tape.gate, &mut tape.least] {
        reuse(rows, groups * width);
    }
}

/// The offsets of some groups. `x` has the offsets of all operand rows, and `of` says which are a group's.
pub fn forward<F: Real>(
    weights: Weights<'_, F>,
    y: &mut [F],
    groups: Range<usize>,
    of: impl Fn(usize) -> Range<usize> + Sync,
    x: &[F],
    tape: &mut Tape<F>,
) {
    let width = weights.first_bias.len();
    let Tape { hidden, mean, gate, least: all_least, precision, .. } = tape;
    let all = of(groups.start).start * width..of(groups.end - 1).end * width;
    let here = groups.start * width..groups.end * width;
    let new = &mut hidden[all.clone()];
    linear::forward(*precision, new, &x[all], weights.first, width);
    rows::each(new, width, |_, row| map::add_relu(row, weights.first_bias));
    let [mean, gate, all_least] = [mean, gate, all_least].map(|rows| &mut rows[here.clone()]);
    rows::each_two((&mut *mean, width), (&mut *all_least, width), |at, mean, found| {
        let group = of(groups.start + at);
        let share = F::one() / F::of(group.len() as f64);
        mean.fill(F::zero());
        group.clone().for_each(|row| map::add_scaled(mean, &hidden[row * width..][..width], share));
        least(found, Rows { data: &x[group.start * width..], step: width }, group.len());
    });
    linear::forward(*precision, gate, mean, weights.second, width);
    rows::each_two((gate, width), (y, width), |at, gate, y| {
        map::add_sigmoid(gate, weights.second_bias);
        let least = &all_least[at * width..][..width];
        y.iter_mut().zip(gate).zip(least).for_each(|((y, gate), least)| *y = *gate * *least);
    });
}

/// Makes room for the gradients.
pub fn begin_backward<F: Real>(tape: &mut Tape<F>) {
    reuse(&mut tape.dhidden, tape.hidden.len());
    reuse(&mut tape.dmean, tape.mean.len());
    reuse(&mut tape.dz, tape.gate.len());
}

/// The gradients of the operands' offsets, rows of these groups alone.
pub fn backward<F: Real>(
    weights: Weights<'_, F>,
    dy: &[F],
    groups: Range<usize>,
    of: impl Fn(usize) -> Range<usize> + Sync,
    x: &[F],
    dx: &mut [F],
    tape: &mut Tape<F>,
) {
    let width = weights.first_bias.len();
    let Tape { hidden, dhidden, dmean, gate, dz, least, precision, .. } = tape;
    let all = of(groups.start).start * width..of(groups.end - 1).end * width;
    let here = groups.start * width..groups.end * width;
    let (gate, least) = (&gate[here.clone()], &least[here.clone()]);
    let (dz, dmean) = (&mut dz[here.clone()], &mut dmean[here]);
    rows::each(dz, width, |at, dz| {
        let here = at * width..(at + 1) * width;
        let each = dz.iter_mut().zip(&dy[here.clone()]).zip(&least[here.clone()]);
        each.for_each(|((dz, dy), least)| *dz = *dy * *least);
        map::sigmoid_backward(dz, &gate[here]);
    });
    linear::backward_input(*precision, dmean, dz, weights.second, width);
    let sizes: Vec<usize> = groups.clone().map(|group| of(group).len()).collect();
    let dhidden = &mut dhidden[all];
    rows::each_group_two((&mut *dhidden, width), (&mut *dx, width), &sizes, |at, dhidden, dx| {
        let group = of(groups.start + at);
        let share = F::one() / F::of(group.len() as f64);
        let here = at * width..(at + 1) * width;
        let mut left: Vec<F> = dy[here.clone()].to_vec();
        left.iter_mut().zip(&gate[here.clone()]).for_each(|(left, gate)| *left *= *gate);
        let rows = dhidden.chunks_exact_mut(width).zip(dx.chunks_exact_mut(width));
        for (row, (dhidden, dx)) in group.zip(rows) {
            dhidden.copy_from_slice(&dmean[here.clone()]);
            let place = row * width..(row + 1) * width;
            map::relu_backward(dhidden, &hidden[place.clone()], share);
            least_backward(dx, &mut left, &least[here.clone()], &x[place]);
        }
    });
    matmul(*precision, dx, width, View::new(dhidden, width), View::new(weights.first, width), true);
}

/// The gradients of the weights, after backward of all groups.
pub fn finish<F: Real>(gradients: Gradients<'_, F>, x: &[F], tape: &Tape<F>) {
    let Gradients { first, first_bias, second, second_bias } = gradients;
    let width = first_bias.len();
    let Tape { precision, dz, mean, dhidden, .. } = tape;
    linear::backward_weight(*precision, second, second_bias, dz, mean, width);
    linear::backward_weight(*precision, first, first_bias, dhidden, x, width);
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;
    use crate::kernel::tests::{numbers, same_at_every_level};

    const W: usize = 4;
    const STARTS: [usize; 3] = [0, 2, 5];

    fn of(group: usize) -> Range<usize> {
        STARTS[group]..STARTS[group + 1]
    }

    fn weights(flat: &[f64]) -> Weights<'_, f64> {
        let (first, rest) = flat.split_at(W * W);
        let (first_bias, rest) = rest.split_at(W);
        let (second, second_bias) = rest.split_at(W * W);
        Weights { first, first_bias, second, second_bias }
    }

    fn run(x: &[f64], flat: &[f64], tape: &mut Tape<f64>) -> Vec<f64> {
        begin(weights(flat), 5, 2, Precision::F32, tape);
        let mut y = vec![0.0; 2 * W];
        let (one, two) = y.split_at_mut(W);
        forward(weights(flat), one, 0..1, of, x, tape);
        forward(weights(flat), two, 1..2, of, x, tape);
        y
    }

    #[test]
    fn gradients() {
        let x = between(-0.2, 1.0, 5 * W, 1);
        let flat = between(-1.0, 1.0, 2 * (W * W + W), 2);
        let dy = between(-1.0, 1.0, 2 * W, 3);
        let mut tape = Tape::default();
        run(&x, &flat, &mut tape);
        begin_backward(&mut tape);
        let (mut dx, mut dflat) = (vec![0.0; 5 * W], vec![0.0; flat.len()]);
        let (one, two) = dx.split_at_mut(2 * W);
        backward(weights(&flat), &dy[W..], 1..2, of, &x, two, &mut tape);
        backward(weights(&flat), &dy[..W], 0..1, of, &x, one, &mut tape);
        let (first, rest) = dflat.split_at_mut(W * W);
        let (first_bias, rest) = rest.split_at_mut(W);
        let (second, second_bias) = rest.split_at_mut(W * W);
        finish(Gradients { first, first_bias, second, second_bias }, &x, &tape);
        gradient(&x, &dx, |x| dot(&dy, &run(x, &flat, &mut Tape::default())));
        gradient(&flat, &dflat, |flat| dot(&dy, &run(&x, flat, &mut Tape::default())));
    }

    #[test]
    fn of_equal_offsets_the_first_is_the_least() {
        let (x, mut y, mut left) = ([0.5, 0.2, 0.5, 0.1], [0.0; 2], [1.0, 2.0]);
        least(&mut y, Rows { data: &x, step: 2 }, 2);
        assert_eq!(y, [0.5, 0.1]);
        let mut dx = [[9.0; 2]; 2];
        least_backward(&mut dx[0], &mut left, &y, &x[..2]);
        least_backward(&mut dx[1], &mut left, &y, &x[2..]);
        assert_eq!(dx, [[1.0, 0.0], [0.0, 2.0]]);
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let (x, dy) = (numbers(3 * 37, 1), numbers(37, 3));
        same_at_every_level(|| {
            let [mut y, mut dx, mut left] = [(); 3].map(|()| dy.clone());
            least(&mut y, Rows { data: &x, step: 37 }, 3);
            least_backward(&mut dx, &mut left, &y, &x[37..74]);
            [y, dx, left].concat()
        });
    }
}
