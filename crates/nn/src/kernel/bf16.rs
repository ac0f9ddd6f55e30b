//! Matrix products of numbers rounded to bf16 (eight bits of mantissa), summed as `f32`: twice as fast as those of
//! `f32` on processors with AVX-512 BF16.
//!
//! Both operands are first laid out in *strips* of 16 lanes: the lanes of `a` are its rows, those of `b` its columns,
//! and a strip is a line of 64 bytes, sixteen pairs, for every two steps of the inner dimension. Threads share the
//! strips, so each is made once; then every tile of the result is the work of one thread. A sum runs over the inner
//! dimension in order, whatever the number of threads and wherever the numbers are in memory.

use std::cell::RefCell;

use rayon::prelude::*;

use super::matmul::{Place, View, tile};

/// Fewer rows than this are not worth strips of the other operand.
pub(super) const LEAST_ROWS: usize = 8;
/// Lanes of a strip.
const LANES: usize = 16;
/// Strips of `b`, and lanes of a strip of `a`, whose sums are in registers together.
const STRIPS: usize = 3;
const ROWS: usize = 8;
/// Columns of a full group of strips.
const COLUMNS: usize = STRIPS * LANES;
/// Strips that are made together, so that more of what is near in memory is read at a time.
const TOGETHER: usize = 8;
/// The most lines before sums are put aside, so that a group of strips stays in the second cache.
const LINES: usize = 1024;

/// Two steps of a strip.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; LANES]);

thread_local! {
    /// Strips of the last product, kept for their memory.
    static KEPT: RefCell<[Vec<Line>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Whether the processor can, and may.
pub fn is_here() -> bool {
    #[cfg(target_arch = "x86_64")]
    return super::level() == super::Level::Avx512 && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A matrix to lay out in strips: lane i at step k is at `i · lane_step + k · step`.
#[derive(Clone, Copy)]
struct Lanes<'a> {
    data: &'a [f32],
    lanes: usize,
    steps: usize,
    lane_step: usize,
    step: usize,
}

/// out = a · b, or out += a · b; sizes and places were looked at by the caller, and `is_here` is true.
#[cfg(target_arch = "x86_64")]
pub(super) fn product(
    out: &mut [f32],
    step: usize,
    a: View<'_, f32>,
    b: View<'_, f32>,
    accumulate: bool,
) {
    assert!(is_here());
    let (m, n, lines) = (a.rows, b.columns, a.columns.div_ceil(2));
    let [rows, columns] = [a, b.transposed()].map(|view| Lanes {
        data: view.data,
        lanes: view.rows,
        steps: view.columns,
        lane_step: view.row_step,
        step: view.column_step,
    });
    // Taken rather than borrowed: while this thread waits it may be given another product to do.
    let [mut of_rows, mut of_columns] = KEPT.take();
    lay_out(rows, lines, &mut of_rows);
    lay_out(columns, lines, &mut of_columns);
    let (height, width) = tile(m, n);
    let (height, width) = (height.next_multiple_of(LANES), width.next_multiple_of(COLUMNS));
    let mut tiles = Vec::new();
    for row in (0..m).step_by(height) {
        for column in (0..n).step_by(width) {
            tiles.push([row..m.min(row + height), column..n.min(column + width)]);
        }
    }
    let place = Place(out.as_mut_ptr());
    let (a, b) = (&of_rows[..], &of_columns[..]);
    let most = lines.div_ceil(lines.div_ceil(LINES));
    tiles.into_par_iter().with_max_len(1).for_each(|[rows, columns]| {
        let place = &place;
        for from in (0..lines).step_by(most) {
            let count = most.min(lines - from);
            for column in columns.clone().step_by(COLUMNS) {
                let wide = (columns.end - column).min(COLUMNS);
                let b = &b[column / LANES * lines..][from..wide.div_ceil(LANES) * lines];
                for row in rows.clone().step_by(ROWS) {
                    let (strip, first) = (row / LANES, row % LANES);
                    let a = &a[strip * lines + from..][..count];
                    let high = (rows.end - row).min(ROWS);
                    // SAFETY: rows and columns are within `out`, as the caller asserted, and no other
                    // tile's; the processor has the instructions.
                    #[allow(unsafe_code)]
                    unsafe {
                        let out = place.0.add(row * step + column);
                        let (size, add) = ([high, wide], accumulate || from > 0);
                        match wide.div_ceil(LANES) {
                            1 => x86::tile::<1>(out, step, size, (a, first), (b, lines), add),
                            2 => x86::tile::<2>(out, step, size, (a, first), (b, lines), add),
                            _ => x86::tile::<STRIPS>(out, step, size, (a, first), (b, lines), add),
                        }
                    }
                }
            }
        }
    });
    KEPT.set([of_rows, of_columns]);
}

/// Lays a matrix out in strips; lanes beyond the last are zero.
#[cfg(target_arch = "x86_64")]
fn lay_out(from: Lanes<'_>, lines: usize, strips: &mut Vec<Line>) {
    let count = from.lanes.div_ceil(LANES);
    if strips.len() < count * lines {
        strips.resize(count * lines, Line([0; LANES]));
    }
    let together = strips[..count * lines].par_chunks_mut(TOGETHER * lines).enumerate();
    together.for_each(|(at, out)| {
        let first = at * TOGETHER * LANES;
        let lanes = (out.len() / lines * LANES).min(from.lanes - first);
        let last = (first + lanes - 1) * from.lane_step + (from.steps - 1) * from.step;
        assert!(last < from.data.len() && (from.lane_step == 1 || from.step == 1));
        // SAFETY: all that is read is up to `last`; the processor has the instructions.
        #[allow(unsafe_code)]
        unsafe {
            let data = from.data.as_ptr().add(first * from.lane_step);
            match from.lane_step {
                1 => x86::strips(out, lines, data, lanes, from),
                _ => x86::strips_turned(out, lines, data, lanes, from),
            }
        }
    });
}

/// Loops count instead of iterating: what is in registers must not become an array that is pointed at.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, clippy::needless_range_loop)]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, Lanes, Line, ROWS};

    /// Numbers are asked for this many lines before they are needed.
    const AHEAD: usize = 6;

    /// The first `count` of 16 bits.
    fn mask(count: usize) -> __mmask16 {
        if count >= LANES { !0 } else { (1 << count) - 1 }
    }

    /// Sums of a tile of at most 8 rows and S strips, put at `out` or added to what is there.
    ///
    /// # Safety
    /// The tile is at `out`, with rows `step` apart. `b` has S strips, which start `far` lines apart and are
    /// as long as `a`.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub unsafe fn tile<const S: usize>(
        out: *mut f32,
        step: usize,
        [high, wide]: [usize; 2],
        (a, first): (&[Line], usize),
        (b, far): (&[Line], usize),
        add: bool,
    ) {
        assert!(b.len() >= (S - 1) * far + a.len() && first + ROWS <= LANES);
        let mut sums = [[_mm512_setzero_ps(); S]; ROWS];
        let lanes = a.as_ptr().cast::<i32>().wrapping_add(first);
        for at in 0..a.len() {
            let mut columns = [_mm512_setzero_si512(); S];
            for strip in 0..S {
                // SAFETY: strips are as long as asserted.
                let line = unsafe { b.as_ptr().add(strip * far + at) };
                // SAFETY: a line is as long as a vector, and aligned.
                columns[strip] = unsafe { _mm512_load_si512(line.cast()) };
            }
            for row in 0..ROWS {
                // SAFETY: a line has sixteen lanes.
                let a = _mm512_set1_epi32(unsafe { *lanes.add(at * LANES + row) });
                for strip in 0..S {
                    // SAFETY: the same bits by another name.
                    let [a, b] = unsafe {
                        std::mem::transmute::<[__m512i; 2], [__m512bh; 2]>([a, columns[strip]])
                    };
                    sums[row][strip] = _mm512_dpbf16_ps(sums[row][strip], a, b);
                }
            }
        }
        for row in 0..ROWS {
            if row >= high {
                break;
            }
            for strip in 0..S {
                let mask = mask(wide.saturating_sub(strip * LANES));
                let out = out.wrapping_add(row * step + strip * LANES);
                let mut sum = sums[row][strip];
                // SAFETY: only what the mask names is touched, which is in the tile.
                unsafe {
                    if add {
                        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, out));
                    }
                    _mm512_mask_storeu_ps(out, mask, sum);
                }
            }
        }
    }

    /// Makes strips of lanes that are next to each other.
    ///
    /// # Safety
    /// These lanes of `from` are at `data`.
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512bf16")]
    pub unsafe fn strips(
        out: &mut [Line],
        lines: usize,
        data: *const f32,
        lanes: usize,
        from: Lanes<'_>,
    ) {
        for at in 0..lines {
            for strip in 0..out.len() / lines {
                let mask = mask(lanes - strip * LANES);
                let even = data.wrapping_add(2 * at * from.step + strip * LANES);
                let odd = even.wrapping_add(from.step);
                for step in [even, odd] {
                    let ahead = step.wrapping_add(AHEAD * 2 * from.step);
                    // What is asked for ahead need not be there.
                    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                }
                // The last pair may be of one step.
                let second = if 2 * at + 1 < from.steps { mask } else { 0 };
                // SAFETY: these lanes are there at both steps; what a mask leaves out is not touched.
                let pair = unsafe {
                    [_mm512_maskz_loadu_ps(mask, even), _mm512_maskz_loadu_ps(second, odd)]
                };
                let [even, odd] = pair.map(|numbers| {
                    // SAFETY: the same bits by another name.
                    _mm512_cvtepu16_epi32(unsafe {
                        std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(numbers))
                    })
                });
                let line = &mut out[strip * lines + at].0;
                let numbers = _mm512_or_si512(even, _mm512_slli_epi32::<16>(odd));
                // SAFETY: a line is as long as a vector, and aligned.
                unsafe { _mm512_store_si512(line.as_mut_ptr().cast(), numbers) };
            }
        }
    }

    /// Makes strips of lanes whose steps are next to each other.
    ///
    /// # Safety
    /// These lanes of `from` are at `data`.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub unsafe fn strips_turned(
        out: &mut [Line],
        lines: usize,
        data: *const f32,
        lanes: usize,
        from: Lanes<'_>,
    ) {
        for (strip, out) in out.chunks_exact_mut(lines).enumerate() {
            for (block, out) in out.chunks_mut(LANES).enumerate() {
                let start = block * LANES * 2;
                let left = from.steps - start;
                let masks = [mask(left), mask(left.saturating_sub(LANES))];
                let mut rows = [_mm512_setzero_si512(); LANES];
                for lane in 0..LANES.min(lanes - strip * LANES) {
                    let here = data.wrapping_add((strip * LANES + lane) * from.lane_step + start);
                    let next = here.wrapping_add(LANES);
                    for ahead in [4, 5] {
                        _mm_prefetch::<_MM_HINT_T0>(here.wrapping_add(ahead * LANES).cast());
                    }
                    // SAFETY: this many steps are left of the lane.
                    let [first, second] = unsafe {
                        [
                            _mm512_maskz_loadu_ps(masks[0], here),
                            _mm512_maskz_loadu_ps(masks[1], next),
                        ]
                    };
                    let both = _mm512_cvtne2ps_pbh(second, first);
                    // SAFETY: the same bits by another name.
                    rows[lane] = unsafe { std::mem::transmute::<__m512bh, __m512i>(both) };
                }
                for (line, numbers) in out.iter_mut().zip(transposed(rows)) {
                    // SAFETY: a line is as long as a vector, and aligned.
                    unsafe { _mm512_store_si512(line.0.as_mut_ptr().cast(), numbers) };
                }
            }
        }
    }

    /// Exchanges rows and columns: of pairs of rows, of fours, and of what stands in quarters.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transposed(rows: [__m512i; LANES]) -> [__m512i; LANES] {
        let (mut r, mut t) = (rows, rows);
        for at in (0..LANES).step_by(2) {
            t[at] = _mm512_unpacklo_epi32(r[at], r[at + 1]);
            t[at + 1] = _mm512_unpackhi_epi32(r[at], r[at + 1]);
        }
        for at in (0..LANES).step_by(4) {
            r[at] = _mm512_unpacklo_epi64(t[at], t[at + 2]);
            r[at + 1] = _mm512_unpackhi_epi64(t[at], t[at + 2]);
            r[at + 2] = _mm512_unpacklo_epi64(t[at + 1], t[at + 3]);
            r[at + 3] = _mm512_unpackhi_epi64(t[at + 1], t[at + 3]);
        }
        for half in [0, 8] {
            for at in half..half + 4 {
                t[at] = _mm512_shuffle_i32x4::<0x88>(r[at], r[at + 4]);
                t[at + 4] = _mm512_shuffle_i32x4::<0xdd>(r[at], r[at + 4]);
            }
        }
        for at in 0..8 {
            r[at] = _mm512_shuffle_i32x4::<0x88>(t[at], t[at + 8]);
            r[at + 8] = _mm512_shuffle_i32x4::<0xdd>(t[at], t[at + 8]);
        }
        r
    }
}

#[cfg(test)]
mod tests {
    use super::super::matmul::{Precision, matmul};
    use super::*;
    use crate::kernel::tests::numbers;

    /// The nearest bf16, ties to even.
    fn rounded(x: f32) -> f64 {
        let bits = x.to_bits();
        f64::from(f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000))
    }

    /// Sizes on both sides of those of strips, groups and tiles.
    const SIZES: [(usize, usize, usize); 7] = [
        (8, 1, 1),
        (9, 17, 3),
        (16, 48, 32),
        (23, 49, 33),
        (300, 65, 100),
        (40, 900, 31),
        (17, 20, 2500),
    ];

    #[test]
    fn products_are_those_of_rounded_numbers() {
        if !is_here() {
            eprintln!("SKIPPED: no bf16 on this processor");
            return;
        }
        for (m, n, k) in SIZES {
            let (a, b) = (numbers(m * k, 1), numbers(n * k, 2));
            for turned in [[false, false], [false, true], [true, false], [true, true]] {
                let x = if turned[0] { View::new(&a, m).transposed() } else { View::new(&a, k) };
                let y = if turned[1] { View::new(&b, k).transposed() } else { View::new(&b, n) };
                let at = |view: &View<'_, f32>, i, j| {
                    rounded(view.data[i * view.row_step + j * view.column_step])
                };
                let wide = n + 3;
                let mut out = vec![1.0f32; m * wide];
                matmul(Precision::Bf16, &mut out, wide, x, y, false);
                matmul(Precision::Bf16, &mut out, wide, x, y, true);
                for i in 0..m {
                    for j in 0..n {
                        let exact: f64 = (0..k).map(|l| at(&x, i, l) * at(&y, l, j)).sum();
                        let found = f64::from(out[i * wide + j]) / 2.0;
                        assert!(
                            (found - exact).abs() < 1e-5 * exact.max(1.0),
                            "{m} {n} {k} {i} {j}"
                        );
                    }
                    // What is beside the result is left alone.
                    assert_eq!(out[i * wide + n..][..3], [1.0; 3]);
                }
            }
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let (a, b) = (numbers(700 * 300, 1), numbers(900 * 300, 2));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = vec![0.0f32; 700 * 900];
            let (x, y) = (View::new(&a, 300), View::new(&b, 300).transposed());
            pool.install(|| matmul(Precision::Bf16, &mut out, 900, x, y, false));
            out
        };
        assert!(run(1) == run(2) && run(1) == run(5));
    }
}
