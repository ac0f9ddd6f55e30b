//! Sums of absolute differences of bytes: 32 at a time, many times faster than those of numbers.

use super::simd;
use crate::Real;

/// Rows of bytes are a whole number of these long.
pub const VECTOR: usize = 64;

/// Sets that share one look at a row.
pub const FOUR: usize = 4;

simd! {
    /// Numbers as bytes, see [`Real::byte`].
    pub fn to_bytes<F: Real>(bytes: &mut [u8], x: &[F]) {
        for (byte, x) in bytes.iter_mut().zip(x) {
            *byte = x.byte();
        }
    }
}

/// `out[i · columns + j] = offset + slope · Σ |sets[i] − rows[j]|` for four sets and any number of rows, all
/// `step` bytes long, where `columns` is a quarter of `out`'s length.
pub fn sad_four(
    out: &mut [f32],
    first: usize,
    sets: &[u8],
    rows: &[u8],
    step: usize,
    [offset, slope]: [f32; 2],
) {
    assert!(step > 0 && step.is_multiple_of(VECTOR) && sets.len() == FOUR * step);
    let (count, columns) = (rows.len() / step, out.len() / FOUR);
    assert!(rows.len() == count * step && first + count <= columns);
    let mut tell = |at: usize, sums: [u32; FOUR]| {
        for (set, sum) in sums.into_iter().enumerate() {
            out[set * columns + first + at] = offset + slope * sum as f32;
        }
    };
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    match super::level() {
        // SAFETY: `limit` never sets a level whose instructions are not there.
        super::Level::Avx512 => return unsafe { x86::avx512(sets, rows, step, tell) },
        // SAFETY: as above.
        super::Level::Avx2 => return unsafe { x86::avx2(sets, rows, step, tell) },
        super::Level::Portable => {}
    }
    for (at, row) in rows.chunks_exact(step).enumerate() {
        tell(at, std::array::from_fn(|set| plain(&sets[set * step..][..step], row)));
    }
}

/// Σ |a − b|.
fn plain(a: &[u8], b: &[u8]) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum()
}

/// The same with instructions that add up eight absolute differences of bytes at once. Several rows go
/// along together, so that a piece of a set is loaded once for them all.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, clippy::needless_range_loop)]
mod x86 {
    use std::arch::x86_64::*;

    use super::FOUR;

    /// Rows that go along together, as many as the sums have registers.
    const ROWS: [usize; 2] = [2, 4];

    /// Defines the loop for a width of registers.
    macro_rules! sad {
        ($name:ident, $together:ident, $rows:expr, $feature:literal, $bytes:literal, $load:ident, $zero:ident,
         $add:ident, $sad:ident, $four:ident) => {
            #[target_feature(enable = $feature)]
            pub fn $name(
                sets: &[u8],
                rows: &[u8],
                step: usize,
                mut tell: impl FnMut(usize, [u32; FOUR]),
            ) {
                let several = rows.chunks_exact($rows * step);
                let (rest, done) = (several.remainder(), several.len() * $rows);
                for (at, rows) in several.enumerate() {
                    for (row, sums) in $together::<$rows>(sets, rows, step).into_iter().enumerate()
                    {
                        tell(at * $rows + row, sums);
                    }
                }
                for (at, row) in rest.chunks_exact(step).enumerate() {
                    tell(done + at, $together::<1>(sets, row, step)[0]);
                }
            }

            #[inline]
            #[target_feature(enable = $feature)]
            fn $together<const R: usize>(
                sets: &[u8],
                rows: &[u8],
                step: usize,
            ) -> [[u32; FOUR]; R] {
                assert!(sets.len() == FOUR * step && rows.len() == R * step);
                let (sets, rows) = (sets.as_ptr(), rows.as_ptr());
                let mut sums = [[$zero(); FOUR]; R];
                // No closures here: they would be called instead of inlined.
                for at in (0..step / $bytes).map(|at| at * $bytes) {
                    let mut pieces = [$zero(); FOUR];
                    for set in 0..FOUR {
                        // SAFETY: `at + $bytes` is within every set and row; nothing need be aligned.
                        pieces[set] = unsafe { $load(sets.add(set * step + at).cast()) };
                    }
                    for row in 0..R {
                        // SAFETY: as above.
                        let piece = unsafe { $load(rows.add(row * step + at).cast()) };
                        for set in 0..FOUR {
                            sums[row][set] = $add(sums[row][set], $sad(pieces[set], piece));
                        }
                    }
                }
                let mut found = [[0; FOUR]; R];
                for row in 0..R {
                    found[row] = $four(sums[row]);
                }
                found
            }
        };
    }
    sad!(
        avx2,
        together_avx2,
        { ROWS[0] },
        "avx2",
        32,
        _mm256_loadu_si256,
        _mm256_setzero_si256,
        _mm256_add_epi64,
        _mm256_sad_epu8,
        four_avx2
    );
    sad!(
        avx512,
        together_avx512,
        { ROWS[1] },
        "avx512f,avx512bw,avx2",
        64,
        _mm512_loadu_si512,
        _mm512_setzero_si512,
        _mm512_add_epi64,
        _mm512_sad_epu8,
        four_avx512
    );

    /// One number from each of four registers, which hold sums below 2³² in 64 bits: two go into one, then
    /// halves are added.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn four_avx2([t0, t1, t2, t3]: [__m256i; FOUR]) -> [u32; FOUR] {
        let low = _mm256_or_si256(t0, _mm256_slli_epi64::<32>(t1));
        let high = _mm256_or_si256(t2, _mm256_slli_epi64::<32>(t3));
        let both =
            _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
        let sums = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256::<1>(both));
        let mut four = [0; FOUR];
        // SAFETY: the array is as long as what is written.
        unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), sums) };
        four
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx2")]
    fn four_avx512(sums: [__m512i; FOUR]) -> [u32; FOUR] {
        let mut halves = [_mm256_setzero_si256(); FOUR];
        for (half, sum) in halves.iter_mut().zip(sums) {
            *half =
                _mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
        }
        four_avx2(halves)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition_at_every_level() {
        for (step, count) in [(64, 1), (128, 7), (448, 4)] {
            let bytes = |count, seed| -> Vec<u8> {
                numbers(count, seed).into_iter().map(|x| (x * 256.0) as u8).collect()
            };
            let (sets, rows) = (bytes(FOUR * step, 1), bytes(count * step, 2));
            let run = || {
                let mut out = vec![0.0; FOUR * (count + 1)];
                sad_four(&mut out, 1, &sets, &rows, step, [0.5, -0.25]);
                out
            };
            same_at_every_level(run);
            let out = run();
            for set in 0..FOUR {
                assert_eq!(out[set * (count + 1)], 0.0);
                for row in 0..count {
                    let exact =
                        0.5 - 0.25 * plain(&sets[set * step..][..step], &rows[row * step..]) as f32;
                    assert_eq!(out[set * (count + 1) + 1 + row], exact);
                }
            }
        }
    }
}
