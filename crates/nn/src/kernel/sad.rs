//! Sums of absolute differences of bytes: 32 at a time, many times faster than those of numbers.

use super::simd;
use crate::Real;

/// Rows of bytes are a whole number of these long.
pub const VECTOR: usize = 32;

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
    #[cfg(target_arch = "x86_64")]
    if super::level() >= super::Level::Avx2 {
        #[allow(unsafe_code)]
        // SAFETY: `limit` never sets a level whose instructions are not there.
        return unsafe { avx2(out, first, sets, rows, step, [offset, slope]) };
    }
    for (at, row) in rows.chunks_exact(step).enumerate() {
        for (set, bytes) in sets.chunks_exact(step).enumerate() {
            let sum: u32 = bytes.iter().zip(row).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
            out[set * columns + first + at] = offset + slope * sum as f32;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[target_feature(enable = "avx2")]
fn avx2(
    out: &mut [f32],
    first: usize,
    sets: &[u8],
    rows: &[u8],
    step: usize,
    [offset, slope]: [f32; 2],
) {
    use std::arch::x86_64::*;
    let columns = out.len() / FOUR;
    let load = |bytes: &[u8; VECTOR]| -> __m256i {
        // SAFETY: the array is as long as what is read, which need not be aligned.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    };
    let whole = |bytes| <[u8]>::as_chunks::<VECTOR>(bytes).0;
    let [s0, s1, s2, s3] = [0, 1, 2, 3].map(|set: usize| whole(&sets[set * step..][..step]));
    for (at, row) in rows.chunks_exact(step).enumerate() {
        let [mut t0, mut t1, mut t2, mut t3] = [_mm256_setzero_si256(); FOUR];
        for ((((row, s0), s1), s2), s3) in whole(row).iter().zip(s0).zip(s1).zip(s2).zip(s3) {
            let row = load(row);
            t0 = _mm256_add_epi64(t0, _mm256_sad_epu8(load(s0), row));
            t1 = _mm256_add_epi64(t1, _mm256_sad_epu8(load(s1), row));
            t2 = _mm256_add_epi64(t2, _mm256_sad_epu8(load(s2), row));
            t3 = _mm256_add_epi64(t3, _mm256_sad_epu8(load(s3), row));
        }
        // Each holds four sums below 2³² in 64 bits: two go into one, then halves are added.
        let low = _mm256_or_si256(t0, _mm256_slli_epi64::<32>(t1));
        let high = _mm256_or_si256(t2, _mm256_slli_epi64::<32>(t3));
        let both =
            _mm256_add_epi32(_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
        let sums = _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256::<1>(both));
        let mut four = [0i32; FOUR];
        // SAFETY: the array is as long as what is written.
        unsafe { _mm_storeu_si128(four.as_mut_ptr().cast(), sums) };
        for (set, sum) in four.into_iter().enumerate() {
            out[set * columns + first + at] = offset + slope * sum as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition_at_every_level() {
        for (step, count) in [(32, 1), (64, 7), (416, 3)] {
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
            let plain = |set: usize, row: usize| -> u32 {
                let [a, b] = [&sets[set * step..], &rows[row * step..]];
                a[..step].iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b))).sum()
            };
            let out = run();
            for set in 0..FOUR {
                assert_eq!(out[set * (count + 1)], 0.0);
                for row in 0..count {
                    let exact = 0.5 - 0.25 * plain(set, row) as f32;
                    assert_eq!(out[set * (count + 1) + 1 + row], exact);
                }
            }
        }
    }
}
