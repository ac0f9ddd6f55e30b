//! Inner loops, and the only unsafe code of this crate: `simd!` compiles one loop for each set of
//! vector instructions, and a call takes the widest that the processor has.
//!
//! The loops are plain Rust that the compiler vectorises. It neither reorders sums nor fuses
//! multiplications into additions, so every set of instructions, and the portable twin, give the
//! same bits.

pub mod adam;
pub mod beta;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub mod bf16;
pub mod boxes;
pub mod dot;
pub mod l1;
pub mod map;
pub mod matmul;
pub mod peak;
pub mod sad;
pub mod softmax;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// A set of vector instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// What every processor of the kind has.
    Portable,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl Level {
    /// From the narrowest to the widest.
    pub const ALL: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        ["portable", "avx2", "avx512"][self as usize]
    }

    /// The widest that this processor has; without the feature `avx512`, of the narrower ones.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            #[cfg(target_arch = "x86_64")]
            {
                let wide =
                    ["avx512f", "avx512bw", "avx512dq", "avx512vl"].iter().all(|name| has(name));
                if cfg!(feature = "avx512") && wide && has("avx2") && has("fma") {
                    return Level::Avx512;
                }
                if has("avx2") && has("fma") {
                    return Level::Avx2;
                }
            }
            Level::Portable
        })
    }
}

#[cfg(target_arch = "x86_64")]
fn has(name: &str) -> bool {
    match name {
        "avx512f" => is_x86_feature_detected!("avx512f"),
        "avx512bw" => is_x86_feature_detected!("avx512bw"),
        "avx512dq" => is_x86_feature_detected!("avx512dq"),
        "avx512vl" => is_x86_feature_detected!("avx512vl"),
        "avx2" => is_x86_feature_detected!("avx2"),
        "fma" => is_x86_feature_detected!("fma"),
        _ => false,
    }
}

/// The level in use, plus one; zero before the first use.
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level in use: the best there is, unless [`limit`] or the variable `SKOLEM_SIMD` lowered it.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        0 => first_level(),
        set => Level::ALL[usize::from(set - 1)],
    }
}

#[cold]
fn first_level() -> Level {
    let asked = std::env::var("SKOLEM_SIMD").unwrap_or_default();
    let most = Level::ALL.into_iter().find(|level| level.name() == asked);
    limit(most.unwrap_or(Level::Avx512))
}

/// Uses at most this level from now on, for comparing levels; the level that is then in use.
pub fn limit(most: Level) -> Level {
    let level = most.min(Level::best());
    LEVEL.store(level as u8 + 1, Ordering::Relaxed);
    level
}

/// Asks for numbers that are needed soon, so that they are on their way from memory meanwhile.
#[inline(always)]
pub fn fetch<F>(numbers: &[F]) {
    #[cfg(target_arch = "x86_64")]
    #[allow(unsafe_code)]
    for at in (0..size_of_val(numbers)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a number; the instruction touches nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(numbers.as_ptr().cast::<i8>().add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = numbers;
}

/// Compiles a function for each [`Level`] and calls the one in use.
macro_rules! simd {
    ($(#[$doc:meta])* pub fn $name:ident<$real:ident: Real $(, const $size:ident: usize)?>(
        $($arg:ident: $kind:ty),* $(,)?
    ) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        pub fn $name<$real: Real $(, const $size: usize)?>($($arg: $kind),*) $(-> $out)? {
            #[inline(always)]
            fn portable<$real: Real $(, const $size: usize)?>($($arg: $kind),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            #[allow(unsafe_code)]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512<$real: Real $(, const $size: usize)?>($($arg: $kind),*) $(-> $out)? {
                    portable::<$real $(, $size)?>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2<$real: Real $(, const $size: usize)?>($($arg: $kind),*) $(-> $out)? {
                    portable::<$real $(, $size)?>($($arg),*)
                }
                match $crate::kernel::level() {
                    // SAFETY: `limit` never sets a level whose instructions are not there.
                    $crate::kernel::Level::Avx512 => unsafe { avx512::<$real $(, $size)?>($($arg),*) },
                    // SAFETY: as above.
                    $crate::kernel::Level::Avx2 => unsafe { avx2::<$real $(, $size)?>($($arg),*) },
                    $crate::kernel::Level::Portable => portable::<$real $(, $size)?>($($arg),*),
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            portable::<$real $(, $size)?>($($arg),*)
        }
    };
}
pub(crate) use simd;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Mutex;

    /// The level is the whole program's: tests that set it run one at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Runs something at every level this processor has and expects the same bits of each.
    pub fn same_at_every_level(run: impl Fn() -> Vec<f32>) {
        let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bits = |level| {
            assert_eq!(limit(level), level);
            run().into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let plain = bits(Level::Portable);
        let levels = Level::ALL.into_iter().filter(|level| *level <= Level::best());
        let all: Vec<_> = levels.map(|level| (level, bits(level))).collect();
        limit(Level::Avx512);
        all.into_iter().for_each(|(level, bits)| assert!(bits == plain, "{level:?} differs"));
    }

    /// Numbers in [0, 1) that are the same on every run.
    pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as f32 / (1 << 24) as f32
        };
        (0..count).map(|_| next()).collect()
    }
}
