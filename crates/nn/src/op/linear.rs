//! y = W·x for many x at once, with W stored as `[out, in]`. Biases are added by the pass over the
//! result that comes next anyway.

use rayon::prelude::*;

use crate::Real;
use crate::kernel::map;
use crate::kernel::matmul::{Precision, View, matmul};

/// Columns of a bias's gradient that one task sums.
const COLUMNS: usize = 64;

/// Y = X·Wᵀ: `x` is [n, input], `y` is [n, output].
pub fn forward<F: Real>(precision: Precision, y: &mut [F], x: &[F], weight: &[F], input: usize) {
    let output = weight.len() / input;
    matmul(precision, y, output, View::new(x, input), View::new(weight, input).transposed(), false);
}

/// ∂X = ∂Y·W.
pub fn backward_input<F: Real>(
    precision: Precision,
    dx: &mut [F],
    dy: &[F],
    weight: &[F],
    input: usize,
) {
    let output = weight.len() / input;
    matmul(precision, dx, input, View::new(dy, output), View::new(weight, input), false);
}

/// ∂W = ∂Yᵀ·X and ∂b = Σ ∂Y.
pub fn backward_weight<F: Real>(
    precision: Precision,
    dweight: &mut [F],
    dbias: &mut [F],
    dy: &[F],
    x: &[F],
    input: usize,
) {
    let output = dbias.len();
    matmul(
        precision,
        dweight,
        input,
        View::new(dy, output).transposed(),
        View::new(x, input),
        false,
    );
    sum_rows(dbias, dy);
}

/// The sum of the rows of a matrix.
pub fn sum_rows<F: Real>(sum: &mut [F], matrix: &[F]) {
    let width = sum.len();
    sum.par_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, sum)| {
        sum.fill(F::zero());
        for row in matrix.chunks_exact(width) {
            map::add(sum, &row[chunk * COLUMNS..][..sum.len()]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;

    #[test]
    fn gradients() {
        let (n, input, output) = (5, 4, 3);
        let x = between(-1.0, 1.0, n * input, 1);
        let weight = between(-1.0, 1.0, output * input, 2);
        let dy = between(-1.0, 1.0, n * output, 3);
        let run = |x: &[f64], weight: &[f64]| {
            let mut y = vec![0.0; n * output];
            forward(Precision::F32, &mut y, x, weight, input);
            dot(&dy, &y)
        };
        let (mut dx, mut dweight, mut dbias) =
            (vec![0.0; x.len()], vec![0.0; weight.len()], vec![0.0; output]);
        backward_input(Precision::F32, &mut dx, &dy, &weight, input);
        backward_weight(Precision::F32, &mut dweight, &mut dbias, &dy, &x, input);
        gradient(&x, &dx, |x| run(x, &weight));
        gradient(&weight, &dweight, |weight| run(&x, weight));
        for (column, sum) in dbias.iter().enumerate() {
            let exact: f64 = (0..n).map(|row| dy[row * output + column]).sum();
            assert!((sum - exact).abs() < 1e-12);
        }
    }
}
