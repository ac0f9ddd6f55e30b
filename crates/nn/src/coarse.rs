//! Rows of truth values rounded to bytes, whose distances are found many times faster than those of the
//! numbers themselves, and within 1/255 of the truth a number (far less in a sum, where errors cancel).

use std::ops::Range;

use rayon::prelude::*;

use crate::Real;
use crate::kernel::sad::{FOUR, VECTOR, sad_four, to_bytes};

/// Rows that stay in the nearest cache while all sets of a task look at them.
const BLOCK: usize = 32;
/// Sets that one task takes.
const SETS: usize = 16;

/// A matrix of numbers in [0, 1], as bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coarse {
    width: usize,
    /// `width`, rounded up to whole vectors; the rest is zero in every row.
    step: usize,
    bytes: Vec<u8>,
}

impl Coarse {
    /// The rows of a matrix, in the memory that another one had.
    pub fn fill<F: Real>(&mut self, matrix: &[F], width: usize) {
        let step = width.max(1).next_multiple_of(VECTOR);
        let count = matrix.len().checked_div(width).unwrap_or(0);
        if (self.width, self.step) != (width, step) {
            self.bytes.clear();
        }
        (self.width, self.step) = (width, step);
        self.bytes.resize(count * step, 0);
        let rows = self.bytes.par_chunks_mut(step).zip(matrix.par_chunks(width.max(1)));
        rows.with_min_len(64).for_each(|(bytes, row)| to_bytes(bytes, row));
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.step).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How far sums of differences from one row can be off because of its rounding: the sum of what was
    /// rounded away from each of its numbers, which is all of a row that stays within [0, 1].
    pub fn rounding<F: Real>(&self, row: usize, numbers: &[F]) -> f64 {
        let bytes = &self.bytes[row * self.step..][..self.width];
        let away = |(byte, x): (&u8, &F)| (f64::from(*byte) / 255.0 - x.wide()).abs();
        bytes.iter().zip(numbers).map(away).sum()
    }

    /// Makes some rows, sorted by number, those of the matrix again.
    pub fn refresh<F: Real>(&mut self, matrix: &[F], rows: &[u32]) {
        const ROWS: usize = 64;
        let (width, step) = (self.width, self.step);
        self.bytes.par_chunks_mut(ROWS * step).enumerate().for_each(|(chunk, bytes)| {
            let first = chunk * ROWS;
            let from = rows.partition_point(|row| (*row as usize) < first);
            let mine = rows[from..].iter().map(|row| *row as usize);
            for row in mine.take_while(|row| *row < first + ROWS) {
                to_bytes(
                    &mut bytes[(row - first) * step..][..step],
                    &matrix[row * width..][..width],
                );
            }
        });
    }

    /// `out[i · n + j] = offset + slope · Σ |sets[i] − self[j]|` for every set and each of the `n` rows.
    pub fn distances(&self, sets: &Coarse, out: &mut [f32], line: [f32; 2]) {
        self.distances_of(0..self.len(), sets, out, line);
    }

    /// The same for some of the rows, of which the first has j = 0.
    pub fn distances_of(
        &self,
        rows: Range<usize>,
        sets: &Coarse,
        out: &mut [f32],
        [offset, slope]: [f32; 2],
    ) {
        let (step, columns) = (self.step, rows.len());
        assert_eq!(step, sets.step, "rows of different widths");
        assert_eq!(out.len(), columns * sets.len(), "the result does not fit");
        if columns == 0 {
            return;
        }
        let scaled = [offset, slope / 255.0];
        let all = &self.bytes[rows.start * step..rows.end * step];
        out.par_chunks_mut(SETS * columns).enumerate().for_each(|(task, out)| {
            let sets = &sets.bytes[task * SETS * step..];
            for first in (0..columns).step_by(BLOCK) {
                let rows = &all[first * step..(first + BLOCK).min(columns) * step];
                for (at, out) in out.chunks_mut(FOUR * columns).enumerate() {
                    let sets = &sets[at * FOUR * step..];
                    match out.len() == FOUR * columns {
                        true => sad_four(out, first, &sets[..FOUR * step], rows, step, scaled),
                        false => few(out, columns, first, sets, rows, step, scaled),
                    }
                }
            }
        });
    }
}

/// The same for fewer than four sets, filled up with empty ones.
fn few(
    out: &mut [f32],
    columns: usize,
    first: usize,
    sets: &[u8],
    rows: &[u8],
    step: usize,
    scaled: [f32; 2],
) {
    let (count, many) = (rows.len() / step, out.len() / columns);
    let (mut filled, mut found) = (vec![0; FOUR * step], vec![0.0; FOUR * count]);
    filled[..many * step].copy_from_slice(&sets[..many * step]);
    sad_four(&mut found, 0, &filled, rows, step, scaled);
    for (out, found) in out.chunks_mut(columns).zip(found.chunks(count)) {
        out[first..][..count].copy_from_slice(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::numbers;

    #[test]
    fn distances_are_near_the_exact_ones() {
        for (width, sets, rows) in [(1, 1, 1), (40, 5, 70), (400, 33, 9), (5, 0, 3)] {
            let (a, b) = (numbers(sets * width, 1), numbers(rows * width, 2));
            let [mut coarse_a, mut coarse_b] = [Coarse::default(), Coarse::default()];
            coarse_a.fill(&a, width);
            coarse_b.fill(&b, width);
            let mut out = vec![0.0; sets * rows];
            coarse_b.distances(&coarse_a, &mut out, [1.0, -1.0 / width as f32]);
            // In parts, which need not be whole blocks.
            for part in [0..rows / 2, rows / 2..rows] {
                let mut some = vec![0.0; sets * part.len()];
                let line = [1.0, -1.0 / width as f32];
                coarse_b.distances_of(part.clone(), &coarse_a, &mut some, line);
                for (some, all) in some.chunks(part.len().max(1)).zip(out.chunks(rows)) {
                    assert_eq!(some, &all[part.clone()]);
                }
            }
            let rounding = |coarse: &Coarse, numbers: &[f32], row: usize| {
                coarse.rounding(row, &numbers[row * width..][..width])
            };
            for (at, found) in out.iter().enumerate() {
                let most = rounding(&coarse_a, &a, at / rows) + rounding(&coarse_b, &b, at % rows);
                let [a, b] = [&a[at / rows * width..][..width], &b[at % rows * width..][..width]];
                let sum: f32 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
                let off = f64::from((found - (1.0 - sum / width as f32)).abs());
                assert!(off <= most / width as f64 + 1e-5 && off < 1.0 / 255.0);
            }
        }
    }

    #[test]
    fn rows_that_changed_are_made_anew_and_strange_numbers_stay_within_a_byte() {
        let mut matrix = numbers(200 * 3, 3);
        let mut coarse = Coarse::default();
        coarse.fill(&matrix, 3);
        for row in [0, 64, 199] {
            matrix[row * 3] = 1.0 - matrix[row * 3];
        }
        matrix[64 * 3] = f32::NAN;
        matrix[199 * 3] = f32::INFINITY;
        coarse.refresh(&matrix, &[0, 64, 199]);
        let mut anew = Coarse::default();
        anew.fill(&matrix, 3);
        assert_eq!(coarse, anew);
        assert_eq!(coarse.len(), 200);
    }
}
