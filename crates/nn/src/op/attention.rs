//! How much each operand of an intersection counts, in each dimension.
//!
//! z = W₂·relu(W₁·x + b₁) + b₂; softmax of z over the operands, divided by its largest. The quotient of
//! two softmax values is the exponential of a difference, so a = e^(z − max z). It is differentiated
//! through the maximum, as the program does.

use std::ops::Range;

use super::linear;
use crate::kernel::matmul::{Precision, View, matmul};
use crate::kernel::{map, simd};
use crate::rows::{self, reuse};
use crate::{Real, op::tnorm::Rows};

/// The weights of the two layers: `first` is [width, width], `second` [columns, width].
#[derive(Clone, Copy)]
pub struct Weights<'a, F> {
    /// W₁.
    pub first: &'a [F],
    /// b₁.
    pub first_bias: &'a [F],
    /// W₂.
    pub second: &'a [F],
    /// b₂.
    pub second_bias: &'a [F],
}

/// Their gradients.
pub struct Gradients<'a, F> {
    /// ∂W₁.
    pub first: &'a mut [F],
    /// ∂b₁.
    pub first_bias: &'a mut [F],
    /// ∂W₂.
    pub second: &'a mut [F],
    /// ∂b₂.
    pub second_bias: &'a mut [F],
}

/// What backward needs of forward; kept between batches for its memory. Rows of all levels of a
/// program share it, so that a weight's gradient is one matrix product.
#[derive(Default)]
pub struct Tape<F> {
    /// The weights of the operands: z after [`Weights::forward`], e^(z − max z) after [`normalise`].
    pub a: Vec<F>,
    /// Gradient of z; the caller fills the rows of a level before backward.
    pub dz: Vec<F>,
    precision: Precision,
    hidden: Vec<F>,
    dhidden: Vec<F>,
}

impl<F: Real> Weights<'_, F> {
    fn width(&self) -> usize {
        self.first_bias.len()
    }

    /// Makes room for all rows of a program.
    pub fn begin(&self, rows: usize, precision: Precision, tape: &mut Tape<F>) {
        tape.precision = precision;
        reuse(&mut tape.hidden, rows * self.width());
        reuse(&mut tape.a, rows * self.second_bias.len());
    }

    /// z of some rows of `x`.
    pub fn forward(&self, rows: Range<usize>, x: &[F], tape: &mut Tape<F>) {
        let (width, columns) = (self.width(), self.second_bias.len());
        let hidden = &mut tape.hidden[rows.start * width..rows.end * width];
        linear::forward(
            tape.precision,
            hidden,
            &x[rows.start * width..rows.end * width],
            self.first,
            width,
        );
        rows::each(hidden, width, |_, row| map::add_relu(row, self.first_bias));
        let z = &mut tape.a[rows.start * columns..rows.end * columns];
        linear::forward(tape.precision, z, hidden, self.second, width);
        rows::each(z, columns, |_, row| map::add(row, self.second_bias));
    }

    /// Makes room for the gradients of all rows.
    pub fn begin_backward(&self, tape: &mut Tape<F>) {
        reuse(&mut tape.dhidden, tape.hidden.len());
        reuse(&mut tape.dz, tape.a.len());
    }

    /// From `tape.dz` of some rows to the gradient of their `x`, to which it is added.
    pub fn backward(&self, rows: Range<usize>, dx: &mut [F], tape: &mut Tape<F>) {
        let (width, columns) = (self.width(), self.second_bias.len());
        let here = rows.start * width..rows.end * width;
        let hidden = &tape.hidden[here.clone()];
        let dhidden = &mut tape.dhidden[here];
        let dz = &tape.dz[rows.start * columns..rows.end * columns];
        linear::backward_input(tape.precision, dhidden, dz, self.second, width);
        rows::each(dhidden, width, |at, row| {
            map::relu_backward(row, &hidden[at * width..][..width], F::one())
        });
        matmul(
            tape.precision,
            dx,
            width,
            View::new(dhidden, width),
            View::new(self.first, width),
            true,
        );
    }

    /// The gradients of all weights, after backward of all rows.
    pub fn finish(&self, gradients: Gradients<'_, F>, x: &[F], tape: &Tape<F>) {
        let width = self.width();
        let Gradients { first, first_bias, second, second_bias } = gradients;
        linear::backward_weight(tape.precision, second, second_bias, &tape.dz, &tape.hidden, width);
        linear::backward_weight(tape.precision, first, first_bias, &tape.dhidden, x, width);
    }
}

simd! {
    /// Turns z of `k` operands, rows of `width`, into weights e^(z − max z).
    pub fn normalise<F: Real>(z: &mut [F], most: &mut [F], k: usize, width: usize) {
        most.copy_from_slice(&z[..width]);
        for row in z.chunks_exact(width).take(k) {
            for (most, z) in most.iter_mut().zip(row) {
                *most = if *z > *most { *z } else { *most };
            }
        }
        for row in z.chunks_exact_mut(width).take(k) {
            for (z, most) in row.iter_mut().zip(most.iter()) {
                *z = (*z - *most).exponential();
            }
        }
    }
}

simd! {
    /// Turns the gradient of the weights into that of z: a·∂a, less the sum of them all at the largest.
    pub fn normalise_backward<F: Real>(da: &mut [F], sum: &mut [F], a: Rows<'_, F>, k: usize, width: usize) {
        sum.fill(F::zero());
        for (da, a) in da.chunks_exact_mut(width).zip(a.data.chunks_exact(width)).take(k) {
            for ((da, a), sum) in da.iter_mut().zip(a).zip(sum.iter_mut()) {
                *da *= *a;
                *sum += *da;
            }
        }
        // Of equals, the first is the largest. Its own weight is 1 whatever z is.
        for (da, a) in da.chunks_exact_mut(width).zip(a.data.chunks_exact(width)).take(k) {
            for ((da, a), sum) in da.iter_mut().zip(a).zip(sum.iter_mut()) {
                let largest = *a == F::one();
                *da = if largest { *da - *sum } else { *da };
                *sum = if largest { F::zero() } else { *sum };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;

    const N: usize = 3;
    const W: usize = 4;
    const C: usize = 2;

    fn run(x: &[f64], flat: &[f64], tape: &mut Tape<f64>) -> Vec<f64> {
        let weights = weights(flat);
        weights.begin(N, Precision::F32, tape);
        weights.forward(0..1, x, tape);
        weights.forward(1..N, x, tape);
        let mut most = vec![0.0; C];
        normalise(&mut tape.a, &mut most, N, C);
        tape.a.clone()
    }

    fn weights(flat: &[f64]) -> Weights<'_, f64> {
        let (first, rest) = flat.split_at(W * W);
        let (first_bias, rest) = rest.split_at(W);
        let (second, second_bias) = rest.split_at(C * W);
        Weights { first, first_bias, second, second_bias }
    }

    #[test]
    fn gradients() {
        let x = between(0.0, 1.0, N * W, 1);
        let flat = between(-1.0, 1.0, W * W + W + C * W + C, 2);
        let da = between(-1.0, 1.0, N * C, 3);
        let mut tape = Tape::default();
        let a = run(&x, &flat, &mut tape);
        assert!((0..C).all(|column| (0..N).any(|row| a[row * C + column] == 1.0)));
        weights(&flat).begin_backward(&mut tape);
        tape.dz.copy_from_slice(&da);
        normalise_backward(&mut tape.dz, &mut [0.0; C], Rows { data: &a, step: C }, N, C);
        let (mut dx, mut dflat) = (vec![0.0; N * W], vec![0.0; flat.len()]);
        let (first, rest) = dflat.split_at_mut(W * W);
        let (first_bias, rest) = rest.split_at_mut(W);
        let (second, second_bias) = rest.split_at_mut(C * W);
        let gradients = Gradients { first, first_bias, second, second_bias };
        weights(&flat).backward(1..N, &mut dx[W..], &mut tape);
        weights(&flat).backward(0..1, &mut dx[..W], &mut tape);
        weights(&flat).finish(gradients, &x, &tape);
        gradient(&x, &dx, |x| dot(&da, &run(x, &flat, &mut Tape::default())));
        gradient(&flat, &dflat, |flat| dot(&da, &run(&x, flat, &mut Tape::default())));
    }

    #[test]
    fn of_equal_operands_one_is_the_largest() {
        let a = [1.0f64, 1.0, 0.5];
        let mut da = [0.3, 0.4, 0.2];
        normalise_backward(&mut da, &mut [0.0], Rows { data: &a, step: 1 }, 3, 1);
        assert!((da[0] - (0.3 - 0.8)).abs() < 1e-12 && da[1] == 0.4 && da[2] == 0.1);
    }
}
