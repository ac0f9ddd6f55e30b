//! Matrix products, on the `gemm` crate.
//!
//! The result is cut into tiles by its size alone, and each tile is computed by one thread: the same
//! numbers whatever the number of threads.

use std::any::TypeId;

use rayon::prelude::*;

use super::bf16;
use crate::Real;

/// What the numbers of products are rounded to; their sums are not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Precision {
    /// Not at all.
    #[default]
    F32,
    /// Eight bits of mantissa, where the processor has instructions for it: twice as fast.
    Bf16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 2] = [Precision::F32, Precision::Bf16];

    /// `f32` or `bf16`.
    pub fn name(self) -> &'static str {
        ["f32", "bf16"][self as usize]
    }

    /// What this processor makes of it.
    pub fn here(self) -> Precision {
        if self == Precision::Bf16 && !bf16::is_here() { Precision::F32 } else { self }
    }
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Precision::ALL.into_iter().find(|precision| precision.name() == text);
        found.ok_or_else(|| format!("unknown precision '{text}' (one of f32, bf16)"))
    }
}

/// The most rows and columns of a tile.
const TILE: (usize, usize) = (256, 800);
/// Tiles come in multiples of this, so that a few threads have the same work.
const TURNS: usize = 4;
/// The fewest rows that are worth a tile of their own.
const FEW: usize = 48;

/// A matrix to read: `rows` × `columns` numbers; element (i, j) is at `i · row_step + j · column_step`.
#[derive(Clone, Copy)]
pub struct View<'a, F> {
    pub(super) data: &'a [F],
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row_step: usize,
    pub(super) column_step: usize,
}

impl<'a, F> View<'a, F> {
    /// A matrix stored row after row.
    pub fn new(data: &'a [F], columns: usize) -> Self {
        let rows = data.len().checked_div(columns).unwrap_or(0);
        View { data, rows, columns, row_step: columns, column_step: 1 }
    }

    /// Some columns of it.
    pub fn columns(self, from: usize, to: usize) -> Self {
        assert!(from <= to && to <= self.columns);
        let start = (from * self.column_step).min(self.data.len());
        View { data: &self.data[start..], columns: to - from, ..self }
    }

    /// The same matrix with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        View {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// # Safety
    /// F is `f32`.
    #[allow(unsafe_code)]
    unsafe fn of_f32(self) -> View<'a, f32> {
        // SAFETY: the caller's.
        let data =
            unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.data.len()) };
        let View { rows, columns, row_step, column_step, .. } = self;
        View { data, rows, columns, row_step, column_step }
    }
}

fn is_f32<F: Real>() -> bool {
    TypeId::of::<F>() == TypeId::of::<f32>()
}

/// # Safety
/// F is `f32`.
#[allow(unsafe_code)]
unsafe fn as_f32<F: Real>(numbers: &mut [F]) -> &mut [f32] {
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), numbers.len()) }
}

/// Rows and columns of a tile, such that a few threads end together.
pub(super) fn tile(rows: usize, columns: usize) -> (usize, usize) {
    let across = columns.div_ceil(TILE.1);
    let mut down = rows.div_ceil(TILE.0);
    while !(across * down).is_multiple_of(TURNS) && rows / (down + 1) >= FEW {
        down += 1;
    }
    (rows.div_ceil(down), columns.div_ceil(across))
}

/// A place in the result from which one thread alone writes its part.
pub(super) struct Place<F>(pub(super) *mut F);
#[allow(unsafe_code)]
// SAFETY: parts do not overlap, and the threads end before the borrow of the result does.
unsafe impl<F: Send> Send for Place<F> {}
#[allow(unsafe_code)]
// SAFETY: as above; a shared place is only read.
unsafe impl<F: Send> Sync for Place<F> {}

/// out = a · b, or out += a · b. `out` has rows of `step` numbers, of which the product takes the first.
#[allow(unsafe_code)]
pub fn matmul<F: Real>(
    precision: Precision,
    out: &mut [F],
    step: usize,
    a: View<'_, F>,
    b: View<'_, F>,
    accumulate: bool,
) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    assert_eq!(k, b.rows, "inner sizes differ");
    if m == 0 || n == 0 {
        return;
    }
    assert!(n <= step && (m - 1) * step + n <= out.len(), "the result does not fit");
    if k == 0 {
        if !accumulate {
            out.chunks_mut(step).take(m).for_each(|row| row[..n].fill(F::zero()));
        }
        return;
    }
    let reaches = |view: &View<'_, F>| {
        (view.rows - 1) * view.row_step + (view.columns - 1) * view.column_step
    };
    assert!(reaches(&a) < a.data.len() && reaches(&b) < b.data.len(), "an operand is too short");
    #[cfg(target_arch = "x86_64")]
    if precision.here() == Precision::Bf16 && m >= bf16::LEAST_ROWS && is_f32::<F>() {
        // SAFETY: F is f32.
        let (out, a, b) = unsafe { (as_f32(out), a.of_f32(), b.of_f32()) };
        return bf16::product(out, step, a, b, accumulate);
    }
    let (height, width) = tile(m, n);
    let mut tiles = Vec::new();
    for row in (0..m).step_by(height) {
        for column in (0..n).step_by(width) {
            // SAFETY: within `out`, as asserted above.
            let start = unsafe { out.as_mut_ptr().add(row * step + column) };
            tiles.push((row, column, Place(start)));
        }
    }
    tiles.into_par_iter().with_max_len(1).for_each(|(row, column, tile)| {
        let tile: Place<F> = tile;
        // SAFETY: the tile is within `out` and nobody else's; rows and columns of the operands are
        // within their slices, as asserted above.
        unsafe {
            gemm::gemm(
                height.min(m - row),
                width.min(n - column),
                k,
                tile.0,
                1,
                step as isize,
                accumulate,
                a.data.as_ptr().add(row * a.row_step),
                a.column_step as isize,
                a.row_step as isize,
                b.data.as_ptr().add(column * b.column_step),
                b.column_step as isize,
                b.row_step as isize,
                F::one(),
                F::one(),
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::tests::numbers;

    fn plain(a: View<'_, f32>, b: View<'_, f32>) -> Vec<f64> {
        let at = |view: &View<'_, f32>, i: usize, j: usize| {
            f64::from(view.data[i * view.row_step + j * view.column_step])
        };
        let mut out = Vec::new();
        for i in 0..a.rows {
            for j in 0..b.columns {
                out.push((0..a.columns).map(|k| at(&a, i, k) * at(&b, k, j)).sum());
            }
        }
        out
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for (m, n, k) in [(1, 1, 1), (3, 5, 7), (300, 20, 9), (5, 900, 3), (2, 3, 0), (0, 4, 4)] {
            let (a, b) = (numbers(m * k, 1), numbers(n * k, 2));
            let cases = [
                (View::new(&a, k), View::new(&b, k).transposed()),
                (View::new(&a, m).transposed(), View::new(&b, n)),
            ];
            for (a, b) in cases {
                if k == 0 || m == 0 {
                    continue;
                }
                let mut out = vec![1.0f32; m * n];
                matmul(Precision::F32, &mut out, n, a, b, true);
                for (found, exact) in out.iter().zip(plain(a, b)) {
                    assert!((f64::from(*found) - exact - 1.0).abs() < 1e-4);
                }
                matmul(Precision::F32, &mut out, n, a, b, false);
                for (found, exact) in out.iter().zip(plain(a, b)) {
                    assert!((f64::from(*found) - exact).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn columns_can_be_left_out() {
        let (a, w) = (numbers(6 * 4, 1), numbers(5 * 10, 2));
        let part = View::new(&w, 10).columns(2, 6).transposed();
        let mut out = vec![0.0; 6 * 8];
        matmul(Precision::F32, &mut out, 8, View::new(&a, 4), part, false);
        let exact = plain(View::new(&a, 4), part);
        for row in 0..6 {
            for column in 0..5 {
                assert!((f64::from(out[row * 8 + column]) - exact[row * 5 + column]).abs() < 1e-5);
            }
            assert_eq!(out[row * 8 + 5..][..3], [0.0; 3]);
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let (a, b) = (numbers(700 * 300, 1), numbers(900 * 300, 2));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.0f32; 700 * 900];
            let product = || {
                matmul(
                    Precision::F32,
                    &mut out,
                    900,
                    View::new(&a, 300),
                    View::new(&b, 300).transposed(),
                    false,
                )
            };
            pool.install(product);
            out
        };
        assert!(run(1) == run(2) && run(1) == run(5));
    }

    #[test]
    fn where_the_numbers_are_in_memory_does_not_change_a_bit() {
        for (m, n, k) in
            [(5, 7, 9), (16, 12, 8), (16, 24, 40), (70, 33, 50), (300, 900, 100), (1, 64, 64)]
        {
            for transposed in [false, true] {
                let run = |at: usize| {
                    let mut a = vec![0.0; at];
                    a.extend(numbers(m * k, 1));
                    let mut b = vec![0.0; at];
                    b.extend(numbers(n * k, 2));
                    let mut out = vec![0.0f32; m * n + at];
                    let (x, y) = match transposed {
                        false => (View::new(&a[at..], k), View::new(&b[at..], k).transposed()),
                        true => (View::new(&a[at..], m).transposed(), View::new(&b[at..], n)),
                    };
                    matmul(Precision::F32, &mut out[at..], n, x, y, false);
                    out[at..].to_vec()
                };
                let first = run(0);
                for at in 1..16 {
                    assert!(run(at) == first, "{m} {n} {k} {transposed} {at}");
                }
            }
        }
    }
}
