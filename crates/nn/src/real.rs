//! The numbers that everything is computed in.

use std::iter::Sum;
use std::ops::{AddAssign, DivAssign, MulAssign, SubAssign};

use num_traits::Float;

/// `f32` or `f64`.
///
/// `exponential` and `logarithm` stand beside the ones of [`Float`] because the system's are calls that
/// no compiler turns into vector instructions.
pub trait Real:
    Float
    + Default
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + Sum
    + Send
    + Sync
    + std::fmt::Debug
    + std::fmt::Display
    + 'static
{
    /// The nearest number of this kind.
    fn of(number: f64) -> Self;
    /// As an `f64`.
    fn wide(self) -> f64;
    /// 255 times it, rounded, for a number in [0, 1]; the nearer end for others, 0 for what is no number.
    fn byte(self) -> u8;
    /// e to this power.
    fn exponential(self) -> Self;
    /// The natural logarithm of a positive number.
    fn logarithm(self) -> Self;

    /// 1 / (1 + e⁻ˣ), without overflow at either end.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::one() / (Self::one() + (-self).exponential())
    }

    /// log σ(x), precise at both ends.
    #[inline(always)]
    fn log_sigmoid(self) -> Self {
        self.min(Self::zero()) - (-self.abs()).exponential().ln_1p()
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(number: f64) -> f64 {
        number
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn byte(self) -> u8 {
        (self * 255.0 + 0.5) as u8
    }
    #[inline(always)]
    fn exponential(self) -> f64 {
        self.exp()
    }
    #[inline(always)]
    fn logarithm(self) -> f64 {
        self.ln()
    }
}

impl Real for f32 {
    #[inline(always)]
    fn of(number: f64) -> f32 {
        number as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn byte(self) -> u8 {
        let x = if self > 0.0 { self } else { 0.0 };
        let x = if x < 1.0 { x } else { 1.0 };
        // Adding 2²³ rounds to a whole number and leaves it in the last bits; casts do not vectorise.
        (x * 255.0 + 8_388_608.0).to_bits() as u8
    }

    /// 2ⁿ · e^r with |r| ≤ ln 2 / 2 and the exponential series for e^r: relative error below 2e-7.
    #[inline(always)]
    fn exponential(self) -> f32 {
        // Beyond these the result is 0 or infinite (or as good as) in f32; NaN goes through.
        let x = if self < -87.3 { -87.3 } else { self };
        let x = if x > 88.7 { 88.7 } else { x };
        // Adding and taking away 1.5·2²³ rounds to the nearest whole number without a call, and leaves it
        // in the last bits of the sum.
        const ROUND: f32 = 12_582_912.0;
        let rounded = x * std::f32::consts::LOG2_E + ROUND;
        let n = rounded - ROUND;
        // ln 2 in two parts, so that the remainder keeps all its digits.
        let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
        let mut p = 1.0 / 5040.0;
        for c in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
            p = p * r + c;
        }
        // 2ⁿ; whatever it is of a NaN, p is one.
        let power = f32::from_bits(rounded.to_bits().wrapping_add(127) << 23);
        p * power
    }

    /// k·ln 2 + log m with m in [√½, √2), by the series of artanh((m−1)/(m+1)).
    #[inline(always)]
    fn logarithm(self) -> f32 {
        let bits = self.to_bits() as i32;
        // Shift the cut between exponents from 1 to √½.
        let shifted = bits - 0x3f35_04f3;
        let k = (shifted >> 23) as f32;
        let m = f32::from_bits(((shifted & 0x007f_ffff) + 0x3f35_04f3) as u32);
        let s = (m - 1.0) / (m + 1.0);
        let z = s * s;
        let mut p = 2.0 / 11.0;
        for c in [2.0 / 9.0, 2.0 / 7.0, 0.4, 2.0 / 3.0, 2.0] {
            p = p * z + c;
        }
        k * std::f32::consts::LN_2 + s * p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_is_close_to_the_exact_one() {
        for at in -8700..8800 {
            let x = at as f32 / 100.0 + 0.001;
            let exact = f64::from(x).exp();
            let error = (f64::from(x.exponential()) - exact).abs() / exact;
            assert!(error < 3e-7, "{x}: {error}");
        }
        assert_eq!(0f32.exponential(), 1.0);
        assert!((-1e9f32).exponential() < 1e-37);
        assert!(1e9f32.exponential() > 1e38);
        assert!(f32::NAN.exponential().is_nan());
    }

    #[test]
    fn logarithm_is_close_to_the_exact_one() {
        for at in 1..20000 {
            let x = (at as f32 / 10000.0).powi(3) + 1e-6;
            let exact = f64::from(x).ln();
            let error = (f64::from(x.logarithm()) - exact).abs();
            assert!(error < 2e-7 * exact.abs().max(1.0) + 1e-7, "{x}: {error}");
        }
    }

    #[test]
    fn sigmoids_are_sound_at_the_ends() {
        assert_eq!(200f32.sigmoid(), 1.0);
        assert!((-200f32).sigmoid() < 1e-30);
        assert_eq!((-200f32).log_sigmoid(), -200.0);
        assert!((0f32.log_sigmoid() + std::f32::consts::LN_2).abs() < 1e-6);
    }
}
