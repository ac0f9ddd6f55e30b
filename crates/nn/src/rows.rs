//! Work on the rows of matrices by all threads.

use rayon::prelude::*;

/// Rows that one task takes: enough to be worth a task, few enough to share out.
const CHUNK: usize = 8;

/// Does something with every row and its number.
pub fn each<F: Send>(matrix: &mut [F], width: usize, work: impl Fn(usize, &mut [F]) + Sync) {
    let width = width.max(1);
    matrix.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, rows)| {
        for (at, row) in rows.chunks_mut(width).enumerate() {
            work(chunk * CHUNK + at, row);
        }
    });
}

/// Does something with every row of two matrices and its number.
pub fn each_two<F: Send, G: Send>(
    first: (&mut [F], usize),
    second: (&mut [G], usize),
    work: impl Fn(usize, &mut [F], &mut [G]) + Sync,
) {
    let [width, other] = [first.1.max(1), second.1.max(1)];
    let first = first.0.par_chunks_mut(CHUNK * width);
    let second = second.0.par_chunks_mut(CHUNK * other);
    first.zip(second).enumerate().for_each(|(chunk, (first, second))| {
        let rows = first.chunks_mut(width).zip(second.chunks_mut(other));
        for (at, (first, second)) in rows.enumerate() {
            work(chunk * CHUNK + at, first, second);
        }
    });
}

/// A buffer of this length, in the memory it has where that is enough; what it holds is stale.
pub fn reuse<F: Clone + Default>(buffer: &mut Vec<F>, len: usize) -> &mut [F] {
    buffer.resize(len, F::default());
    buffer
}

/// A buffer of this length that holds zeros.
pub fn zeros<F: Clone + Default>(buffer: &mut Vec<F>, len: usize) -> &mut [F] {
    buffer.clear();
    buffer.resize(len, F::default());
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_seen_once() {
        let (mut a, mut b) = (vec![0usize; 100 * 3], vec![0usize; 100 * 2]);
        each(&mut a, 3, |number, row| row.iter_mut().for_each(|x| *x += number));
        each_two((&mut a, 3), (&mut b, 2), |number, a, b| {
            assert!(a.iter().all(|x| *x == number));
            b.fill(a[0] + 1);
        });
        assert!(b.iter().enumerate().all(|(at, x)| *x == at / 2 + 1));
    }
}
