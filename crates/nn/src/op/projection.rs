//! The learnt Skolem function: a network on [x ‖ r], the set a relation is followed from and the
//! relation's vector. Hidden layers have relu; the last one's result is handed over raw.
//!
//! The first layer is taken apart, W·[x ‖ r] = Wₓ·x + Wᵣ·r, because many rows of a batch share a
//! relation: Wᵣ·r is computed once for each relation there is. Rows of all levels of a program share
//! one tape, so that a weight's gradient is one matrix product.

use std::ops::Range;

use super::dropout::Dropout;
use super::linear;
use crate::Real;
use crate::kernel::map;
use crate::kernel::matmul::{Precision, View, matmul};
use crate::rows::{self, reuse};

/// The weights of a layer, [out, in], and its bias.
#[derive(Clone, Copy)]
pub struct Layer<'a, F> {
    /// The weights.
    pub weight: &'a [F],
    /// The bias.
    pub bias: &'a [F],
}

/// The gradients of a layer.
pub struct LayerGradient<'a, F> {
    /// Of the weights.
    pub weight: &'a mut [F],
    /// Of the bias.
    pub bias: &'a mut [F],
}

/// The network: first [h, width + d], then [h, h] as often as wanted, last [out, h].
#[derive(Clone)]
pub struct Network<'a, F> {
    /// From the first to the last.
    pub layers: Vec<Layer<'a, F>>,
    /// Numbers of a set.
    pub width: usize,
}

/// Which relation each row follows: an index into a list in which each relation stands once.
#[derive(Clone, Copy)]
pub struct Relations<'a, F> {
    /// The vectors of the list, row after row.
    pub vectors: &'a [F],
    /// For each row its index in the list.
    pub of_row: &'a [u32],
    /// The rows of each relation: those of relation i are `rows[starts[i]..starts[i + 1]]`.
    pub starts: &'a [u32],
    /// See `starts`.
    pub rows: &'a [u32],
}

/// What backward needs of forward; kept between batches for its memory.
#[derive(Default)]
pub struct Tape<F> {
    /// Gradient of the raw result; the caller fills the rows of a level before backward.
    pub dy: Vec<F>,
    /// What is dropped of the hidden layers.
    dropout: Dropout,
    /// What the numbers of products are rounded to.
    precision: Precision,
    hidden: Vec<Vec<F>>,
    dhidden: Vec<Vec<F>>,
    shift: Vec<F>,
    dshift: Vec<F>,
}

impl<F: Real> Network<'_, F> {
    fn hidden(&self) -> usize {
        self.layers[0].bias.len()
    }

    /// Makes room for all rows of a program, and computes what the relations add.
    pub fn begin(
        &self,
        relations: Relations<'_, F>,
        dropout: Dropout,
        precision: Precision,
        tape: &mut Tape<F>,
    ) {
        (tape.dropout, tape.precision) = (dropout, precision);
        let (rows, h) = (relations.of_row.len(), self.hidden());
        tape.hidden.resize_with(self.layers.len() - 1, Vec::new);
        tape.hidden.iter_mut().for_each(|hidden| _ = reuse(hidden, rows * h));
        let first = self.layers[0];
        let count = relations.starts.len() - 1;
        let d = relations.vectors.len().checked_div(count).unwrap_or(0);
        let shift = reuse(&mut tape.shift, count * h);
        let of_relations =
            View::new(first.weight, self.width + d).columns(self.width, self.width + d);
        matmul(
            precision,
            shift,
            h,
            View::new(relations.vectors, d),
            of_relations.transposed(),
            false,
        );
    }

    /// The raw results of some rows of `x`, without the last bias.
    pub fn forward(
        &self,
        y: &mut [F],
        rows: Range<usize>,
        x: &[F],
        relations: Relations<'_, F>,
        tape: &mut Tape<F>,
    ) {
        let (h, w) = (self.hidden(), self.width);
        let Tape { hidden, shift, dropout, precision, .. } = tape;
        let x = &x[rows.start * w..rows.end * w];
        let here = rows.start * h..rows.end * h;
        let input = self.layers[0].weight.len() / h;
        let of_sets = View::new(self.layers[0].weight, input).columns(0, w);
        let first = &mut hidden[0][here.clone()];
        matmul(*precision, first, h, View::new(x, w), of_sets.transposed(), false);
        rows::each(first, h, |at, row| {
            let relation = relations.of_row[rows.start + at] as usize;
            map::add_two_relu(row, &shift[relation * h..][..h], self.layers[0].bias);
            dropout.apply(row, 0, rows.start + at);
        });
        for (at, layer) in self.layers[1..self.layers.len() - 1].iter().enumerate() {
            let (before, after) = hidden.split_at_mut(at + 1);
            let after = &mut after[0][here.clone()];
            linear::forward(*precision, after, &before[at][here.clone()], layer.weight, h);
            rows::each(after, h, |number, row| {
                map::add_relu(row, layer.bias);
                dropout.apply(row, at + 1, rows.start + number);
            });
        }
        let last = self.layers.len() - 1;
        linear::forward(*precision, y, &hidden[last - 1][here], self.layers[last].weight, h);
    }

    /// Makes room for the gradients of all rows.
    pub fn begin_backward(&self, tape: &mut Tape<F>) {
        let (rows, h) = (tape.hidden[0].len() / self.hidden(), self.hidden());
        let out = self.layers[self.layers.len() - 1].bias.len();
        reuse(&mut tape.dy, rows * out);
        tape.dhidden.resize_with(self.layers.len() - 1, Vec::new);
        tape.dhidden.iter_mut().for_each(|hidden| _ = reuse(hidden, rows * h));
    }

    /// From `tape.dy` of some rows to the gradient of their `x`.
    pub fn backward(&self, rows: Range<usize>, dx: &mut [F], tape: &mut Tape<F>) {
        let (h, w, last) = (self.hidden(), self.width, self.layers.len() - 1);
        let here = rows.start * h..rows.end * h;
        let out = self.layers[last].bias.len();
        let Tape { dy, hidden, dhidden, dropout, precision, .. } = tape;
        let dy = &dy[rows.start * out..rows.end * out];
        let gate = |gradient: &mut [F], at: usize| {
            let result = &hidden[at][here.clone()];
            rows::each(gradient, h, |row, gradient| {
                map::relu_backward(gradient, &result[row * h..][..h], dropout.scale());
            });
        };
        let deepest = &mut dhidden[last - 1][here.clone()];
        linear::backward_input(*precision, deepest, dy, self.layers[last].weight, h);
        gate(deepest, last - 1);
        for at in (1..last).rev() {
            let (before, after) = dhidden.split_at_mut(at);
            let before = &mut before[at - 1][here.clone()];
            linear::backward_input(
                *precision,
                before,
                &after[0][here.clone()],
                self.layers[at].weight,
                h,
            );
            gate(before, at - 1);
        }
        let input = self.layers[0].weight.len() / h;
        let of_sets = View::new(self.layers[0].weight, input).columns(0, w);
        matmul(*precision, dx, w, View::new(&dhidden[0][here], h), of_sets, false);
    }

    /// The gradients of all weights, and of the relations' vectors, after backward of all rows.
    pub fn finish(
        &self,
        mut gradients: Vec<LayerGradient<'_, F>>,
        dvectors: &mut [F],
        x: &[F],
        relations: Relations<'_, F>,
        tape: &mut Tape<F>,
    ) {
        let (h, w, last) = (self.hidden(), self.width, self.layers.len() - 1);
        let Tape { dy, hidden, dhidden, dshift, precision, .. } = tape;
        for at in 1..=last {
            let dy = if at == last { &dy[..] } else { &dhidden[at][..] };
            let LayerGradient { weight, bias } = &mut gradients[at];
            linear::backward_weight(*precision, weight, bias, dy, &hidden[at - 1], h);
        }
        let dfirst = &dhidden[0];
        let LayerGradient { weight, bias } = &mut gradients[0];
        let input = weight.len() / h;
        matmul(
            *precision,
            weight,
            input,
            View::new(dfirst, h).transposed(),
            View::new(x, w),
            false,
        );
        linear::sum_rows(bias, dfirst);
        let count = relations.starts.len() - 1;
        let d = input - w;
        let dshift = reuse(dshift, count * h);
        rows::each(dshift, h, |relation, sum| {
            sum.fill(F::zero());
            let [from, to] = [relation, relation + 1].map(|at| relations.starts[at] as usize);
            for row in &relations.rows[from..to] {
                map::add(sum, &dfirst[*row as usize * h..][..h]);
            }
        });
        let (dshift, vectors) = (View::new(dshift, h), View::new(relations.vectors, d));
        matmul(*precision, &mut weight[w..], input, dshift.transposed(), vectors, false);
        let of_relations = View::new(self.layers[0].weight, input).columns(w, input);
        matmul(*precision, dvectors, d, dshift, of_relations, false);
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;

    const W: usize = 4;
    const D: usize = 2;
    const H: usize = 5;
    const N: usize = 3;

    fn sizes(depth: usize) -> Vec<(usize, usize)> {
        let mut sizes = vec![(H, W + D)];
        sizes.extend(vec![(H, H); depth - 1]);
        sizes.push((W, H));
        sizes
    }

    fn network(flat: &[f64], depth: usize) -> Network<'_, f64> {
        let mut rest = flat;
        let mut take = |count: usize| {
            let (part, after) = rest.split_at(count);
            rest = after;
            part
        };
        let layers = sizes(depth)
            .into_iter()
            .map(|(out, input)| Layer { weight: take(out * input), bias: take(out) });
        Network { layers: layers.collect(), width: W }
    }

    fn relations(vectors: &[f64]) -> Relations<'_, f64> {
        Relations { vectors, of_row: &[1, 0, 1], starts: &[0, 1, 3], rows: &[1, 0, 2] }
    }

    fn run(
        flat: &[f64],
        x: &[f64],
        vectors: &[f64],
        depth: usize,
        tape: &mut Tape<f64>,
    ) -> Vec<f64> {
        let network = network(flat, depth);
        let dropout = Dropout { share: 0.2, seed: 3 };
        network.begin(relations(vectors), dropout, Precision::F32, tape);
        let mut y = vec![0.0; N * W];
        // Two levels: rows 0..2, then the last.
        network.forward(&mut y[..2 * W], 0..2, x, relations(vectors), tape);
        network.forward(&mut y[2 * W..], 2..3, x, relations(vectors), tape);
        let bias = network.layers[depth].bias;
        y.iter_mut().enumerate().for_each(|(at, y)| *y += bias[at % W]);
        y
    }

    #[test]
    fn gradients() {
        for depth in [1, 2, 3] {
            let len = sizes(depth).iter().map(|(out, input)| out * input + out).sum();
            let flat = between(-1.0, 1.0, len, 1);
            let x = between(0.0, 1.0, N * W, 2);
            let vectors = between(-1.0, 1.0, 2 * D, 3);
            let dy = between(-1.0, 1.0, N * W, 4);
            let mut tape = Tape::default();
            run(&flat, &x, &vectors, depth, &mut tape);
            let network = network(&flat, depth);
            network.begin_backward(&mut tape);
            tape.dy.copy_from_slice(&dy);
            let mut dx = vec![0.0; N * W];
            network.backward(2..3, &mut dx[2 * W..], &mut tape);
            network.backward(0..2, &mut dx[..2 * W], &mut tape);
            let (mut dflat, mut dvectors) = (vec![9.0; len], vec![9.0; 2 * D]);
            let mut rest = &mut dflat[..];
            let mut gradients = Vec::new();
            for (out, input) in sizes(depth) {
                let (weight, after) = rest.split_at_mut(out * input);
                let (bias, after) = after.split_at_mut(out);
                gradients.push(LayerGradient { weight, bias });
                rest = after;
            }
            network.finish(gradients, &mut dvectors, &x, relations(&vectors), &mut tape);
            let at = |flat: &[f64], x: &[f64], vectors: &[f64]| {
                dot(&dy, &run(flat, x, vectors, depth, &mut Tape::default()))
            };
            gradient(&flat, &dflat, |flat| at(flat, &x, &vectors));
            gradient(&x, &dx, |x| at(&flat, x, &vectors));
            gradient(&vectors, &dvectors, |vectors| at(&flat, &x, vectors));
        }
    }
}
