//! Following a relation by adding its vector: y = x + r.

use std::ops::Range;

use super::projection::Relations;
use crate::Real;
use crate::kernel::map;
use crate::rows::{self, reuse};

/// The gradients of all rows of a program, kept between batches for their memory.
#[derive(Default)]
pub struct Tape<F> {
    dy: Vec<F>,
}

/// Some rows of x with their relations' vectors added; `y` has these rows alone.
pub fn forward<F: Real>(
    y: &mut [F],
    rows: Range<usize>,
    x: &[F],
    relations: Relations<'_, F>,
    width: usize,
) {
    rows::each(y, width, |at, y| {
        let row = rows.start + at;
        y.copy_from_slice(&x[row * width..][..width]);
        map::add(y, &relations.vectors[relations.of_row[row] as usize * width..][..width]);
    });
}

/// Makes room for the gradients of all rows.
pub fn begin_backward<F: Real>(rows: usize, width: usize, tape: &mut Tape<F>) {
    reuse(&mut tape.dy, rows * width);
}

/// The gradient of x is that of y.
pub fn backward<F: Real>(
    rows: Range<usize>,
    dy: &[F],
    dx: &mut [F],
    width: usize,
    tape: &mut Tape<F>,
) {
    dx.copy_from_slice(dy);
    tape.dy[rows.start * width..rows.end * width].copy_from_slice(dy);
}

/// The gradients of the relations' vectors, after backward of all rows.
pub fn finish<F: Real>(
    dvectors: &mut [F],
    relations: Relations<'_, F>,
    width: usize,
    tape: &Tape<F>,
) {
    rows::each(dvectors, width, |at, gradient| {
        gradient.fill(F::zero());
        let here = relations.starts[at] as usize..relations.starts[at + 1] as usize;
        for row in &relations.rows[here] {
            map::add(gradient, &tape.dy[*row as usize * width..][..width]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;

    const ROWS: usize = 4;
    const WIDTH: usize = 3;

    fn followed(vectors: &[f64]) -> Relations<'_, f64> {
        Relations { vectors, of_row: &[1, 0, 1, 1], starts: &[0, 1, 4], rows: &[1, 0, 2, 3] }
    }

    fn run(x: &[f64], r: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; ROWS * WIDTH];
        let (first, rest) = y.split_at_mut(WIDTH);
        forward(first, 0..1, x, followed(r), WIDTH);
        forward(rest, 1..ROWS, x, followed(r), WIDTH);
        y
    }

    #[test]
    fn gradients() {
        let (x, r) = (between(-1.0, 1.0, ROWS * WIDTH, 1), between(-1.0, 1.0, 2 * WIDTH, 2));
        let dy = between(-1.0, 1.0, ROWS * WIDTH, 3);
        let (mut dx, mut dr, mut tape) = (vec![0.0; x.len()], vec![0.0; r.len()], Tape::default());
        begin_backward(ROWS, WIDTH, &mut tape);
        backward(1..ROWS, &dy[WIDTH..], &mut dx[WIDTH..], WIDTH, &mut tape);
        backward(0..1, &dy[..WIDTH], &mut dx[..WIDTH], WIDTH, &mut tape);
        finish(&mut dr, followed(&r), WIDTH, &tape);
        gradient(&x, &dx, |x| dot(&dy, &run(x, &r)));
        gradient(&r, &dr, |r| dot(&dy, &run(&x, r)));
    }
}
