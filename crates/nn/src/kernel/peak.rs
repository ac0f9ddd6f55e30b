//! How many multiplications and additions of `f32` the processor can do in a second: what products of
//! matrices are measured against.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::Level;

/// Sums that do not wait for each other: more than two units with a latency of four or five need, and
/// few enough for 16 registers.
const SUMS: usize = 12;
/// Turns of the loop between two looks at the clock.
const TURNS: usize = 1 << 14;
/// A round, and how many there are; other programs may be in the way of many.
const ROUND: Duration = Duration::from_millis(4);
const ROUNDS: usize = 60;

/// The most additions and multiplications a second that this many threads reach together with fused
/// instructions of a level; nothing where there are none.
pub fn peak(level: Level, threads: usize) -> Option<f64> {
    if level > Level::best() {
        return None;
    }
    let (turns, lanes) = turns_of(level)?;
    let work = (TURNS * SUMS * lanes * 2) as f64;
    let barrier = Barrier::new(threads);
    let run = || {
        let speeds = (0..ROUNDS).map(|_| {
            barrier.wait();
            let (start, mut times) = (Instant::now(), 0u32);
            while start.elapsed() < ROUND {
                turns();
                times += 1;
            }
            work * f64::from(times) / start.elapsed().as_secs_f64()
        });
        speeds.collect::<Vec<f64>>()
    };
    let all: Vec<Vec<f64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let round = |at: usize| all.iter().map(|speeds| speeds[at]).sum::<f64>();
    (0..ROUNDS).map(round).reduce(f64::max)
}

/// The loop of a level, and the numbers in its vectors.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn turns_of(level: Level) -> Option<(fn(), usize)> {
    match level {
        Level::Portable => None,
        // SAFETY: `peak` has compared the level with what there is.
        Level::Avx2 => Some((|| unsafe { x86::avx2() }, 8)),
        // SAFETY: as above.
        Level::Avx512 => Some((|| unsafe { x86::avx512() }, 16)),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn turns_of(_: Level) -> Option<(fn(), usize)> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use super::{SUMS, TURNS};

    macro_rules! turns {
        ($name:ident, $features:literal, $set:ident, $fmadd:ident) => {
            #[target_feature(enable = $features)]
            pub fn $name() {
                // Unknown to the compiler, and such that the sums stay ordinary numbers.
                let (factor, summand) = (black_box($set(0.999)), black_box($set(0.001)));
                let mut sums = black_box([$set(0.5); SUMS]);
                for _ in 0..TURNS {
                    for sum in &mut sums {
                        *sum = $fmadd(*sum, factor, summand);
                    }
                }
                black_box(sums);
            }
        };
    }
    turns!(avx2, "avx2,fma", _mm256_set1_ps, _mm256_fmadd_ps);
    turns!(avx512, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_peak_where_there_are_fused_instructions() {
        assert_eq!(peak(Level::Portable, 1), None);
        for level in [Level::Avx2, Level::Avx512] {
            let peak = peak(level, 2);
            assert_eq!(peak.is_some(), level <= Level::best() && cfg!(target_arch = "x86_64"));
            assert!(peak.is_none_or(|peak| peak > 1e6 && peak < 1e13), "{peak:?}");
        }
    }
}
