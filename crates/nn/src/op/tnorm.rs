//! The conjunction of k truth vectors, each number with a weight: the paper's weighted t-norms.
//!
//! | | forward | |
//! |---|---|---|
//! | Łukasiewicz | clamp(1 − Σ a(1 − x)) to [0, 1] | as the paper |
//! | product | Π (x + 10⁻⁶)^a; without attention Π x | the 10⁻⁶ is the program's |
//! | minimum | Σ a e^(−10x) x / Σ a e^(−10x) | smooth; without attention a = 1 |
//!
//! Operands are rows of `x` and weights rows of `a`, `step` numbers apart; weights without attention
//! are one row of ones with step 0. The columns are those of `y`.

use std::fmt;
use std::str::FromStr;

use crate::Real;
use crate::kernel::simd;

/// How sharp the smooth minimum is.
const SHARPNESS: f64 = 10.0;
/// Keeps the product's logarithm finite.
const TINY: f64 = 1e-6;

/// Which conjunction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TNorm {
    /// Łukasiewicz.
    Lukasiewicz,
    /// Product.
    Product,
    /// Smooth minimum.
    Minimum,
}

impl TNorm {
    /// All of them.
    pub const ALL: [TNorm; 3] = [TNorm::Lukasiewicz, TNorm::Product, TNorm::Minimum];

    /// `luk`, `prod` or `min`.
    pub fn name(self) -> &'static str {
        match self {
            TNorm::Lukasiewicz => "luk",
            TNorm::Product => "prod",
            TNorm::Minimum => "min",
        }
    }
}

impl fmt::Display for TNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TNorm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = TNorm::ALL.into_iter().find(|tnorm| tnorm.name() == text);
        found.ok_or_else(|| format!("unknown t-norm '{text}' (one of luk, prod, min)"))
    }
}

/// Rows of numbers, `step` apart.
#[derive(Clone, Copy)]
pub struct Rows<'a, F> {
    /// From the first number of the first row.
    pub data: &'a [F],
    /// From one row to the next.
    pub step: usize,
}

impl<'a, F> Rows<'a, F> {
    /// Part of a row.
    #[inline(always)]
    fn row(&self, at: usize, len: usize) -> &'a [F] {
        &self.data[at * self.step..][..len]
    }
}

simd! {
    /// y = 1 − Σ a(1 − x), before the clamp.
    pub fn lukasiewicz<F: Real>(y: &mut [F], x: Rows<'_, F>, a: Rows<'_, F>, k: usize) {
        y.fill(F::one());
        for at in 0..k {
            let (x, a) = (x.row(at, y.len()), a.row(at, y.len()));
            for ((y, x), a) in y.iter_mut().zip(x).zip(a) {
                *y -= *a * (F::one() - *x);
            }
        }
    }
}

simd! {
    /// One operand's gradients: ∂x = a·∂y, ∂a = −(1 − x)·∂y, with ∂y as it was before the clamp.
    pub fn lukasiewicz_backward<F: Real>(dx: &mut [F], da: &mut [F], dy: &[F], x: &[F], a: &[F]) {
        for ((((dx, da), dy), x), a) in dx.iter_mut().zip(da).zip(dy).zip(x).zip(a) {
            *dx = *a * *dy;
            *da -= (F::one() - *x) * *dy;
        }
    }
}

simd! {
    /// y = Π (x + 10⁻⁶)^a.
    pub fn weighted_product<F: Real>(y: &mut [F], x: Rows<'_, F>, a: Rows<'_, F>, k: usize) {
        let tiny = F::of(TINY);
        y.fill(F::zero());
        for at in 0..k {
            let (x, a) = (x.row(at, y.len()), a.row(at, y.len()));
            for ((y, x), a) in y.iter_mut().zip(x).zip(a) {
                *y += *a * (*x + tiny).logarithm();
            }
        }
        for y in y {
            *y = y.exponential();
        }
    }
}

simd! {
    /// One operand's gradients: ∂x = a·y/(x + 10⁻⁶)·∂y, ∂a = y·log(x + 10⁻⁶)·∂y.
    pub fn weighted_product_backward<F: Real>(
        dx: &mut [F], da: &mut [F], dy: &[F], y: &[F], x: &[F], a: &[F],
    ) {
        let tiny = F::of(TINY);
        for (((((dx, da), dy), y), x), a) in dx.iter_mut().zip(da).zip(dy).zip(y).zip(x).zip(a) {
            let x = *x + tiny;
            *dx = *dy * *y * *a / x;
            *da += *dy * *y * x.logarithm();
        }
    }
}

simd! {
    /// y = Π x.
    pub fn product<F: Real>(y: &mut [F], x: Rows<'_, F>, k: usize) {
        y.fill(F::one());
        for at in 0..k {
            let x = x.row(at, y.len());
            for (y, x) in y.iter_mut().zip(x) {
                *y *= *x;
            }
        }
    }
}

simd! {
    /// One operand's gradient: the product of all others, which a zero must not hide.
    pub fn product_backward<F: Real>(dx: &mut [F], dy: &[F], x: Rows<'_, F>, k: usize, operand: usize) {
        dx.copy_from_slice(dy);
        for at in (0..k).filter(|at| *at != operand) {
            for (dx, x) in dx.iter_mut().zip(x.row(at, dy.len())) {
                *dx *= *x;
            }
        }
    }
}

simd! {
    /// y = Σ w·x / Σ w with w = a·e^(−10x); `total` is left with Σ w.
    pub fn minimum<F: Real>(y: &mut [F], total: &mut [F], x: Rows<'_, F>, a: Rows<'_, F>, k: usize) {
        let sharpness = F::of(-SHARPNESS);
        y.fill(F::zero());
        total.fill(F::zero());
        for at in 0..k {
            let (x, a) = (x.row(at, y.len()), a.row(at, y.len()));
            for (((y, total), x), a) in y.iter_mut().zip(total.iter_mut()).zip(x).zip(a) {
                let w = *a * (sharpness * *x).exponential();
                *y += w * *x;
                *total += w;
            }
        }
        for (y, total) in y.iter_mut().zip(total) {
            *y /= *total;
        }
    }
}

simd! {
    /// One operand's gradients: ∂x = w/Σw·(1 − 10(x − y))·∂y, ∂a = e^(−10x)(x − y)/Σw·∂y.
    pub fn minimum_backward<F: Real>(
        dx: &mut [F], da: &mut [F], dy: &[F], y: &[F], total: &[F], x: &[F], a: &[F],
    ) {
        let sharpness = F::of(-SHARPNESS);
        let columns = dx.iter_mut().zip(da).zip(dy).zip(y).zip(total).zip(x).zip(a);
        for ((((((dx, da), dy), y), total), x), a) in columns {
            let share = *dy * (sharpness * *x).exponential() / *total;
            let above = *x - *y;
            *dx = *a * share * (F::one() + sharpness * above);
            *da += share * above;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, dot, gradient};
    use super::*;
    use crate::kernel::tests::{numbers, same_at_every_level};

    const K: usize = 3;
    const D: usize = 7;

    fn rows(data: &[f64]) -> Rows<'_, f64> {
        Rows { data, step: D }
    }

    /// Checks both gradients of a t-norm, given its forward and its backward for one operand.
    fn check(
        forward: impl Fn(&[f64], &[f64]) -> Vec<f64>,
        backward: impl Fn(usize, &[f64], &mut [f64], &mut [f64], &[f64], &[f64]),
    ) {
        let x = between(0.1, 0.9, K * D, 1);
        let a = between(0.1, 0.4, K * D, 2);
        let dy = between(-1.0, 1.0, D, 3);
        let (mut dx, mut da) = (vec![0.0; K * D], vec![0.0; K * D]);
        for at in 0..K {
            let here = at * D..(at + 1) * D;
            backward(at, &dy, &mut dx[here.clone()], &mut da[here], &x, &a);
        }
        gradient(&x, &dx, |x| dot(&dy, &forward(x, &a)));
        gradient(&a, &da, |a| dot(&dy, &forward(&x, a)));
    }

    #[test]
    fn gradients_of_lukasiewicz() {
        let forward = |x: &[f64], a: &[f64]| {
            let mut y = vec![0.0; D];
            lukasiewicz(&mut y, rows(x), rows(a), K);
            y
        };
        check(forward, |at, dy, dx, da, x, a| {
            lukasiewicz_backward(dx, da, dy, rows(x).row(at, D), rows(a).row(at, D));
        });
    }

    #[test]
    fn gradients_of_the_products() {
        let forward = |x: &[f64], a: &[f64]| {
            let mut y = vec![0.0; D];
            weighted_product(&mut y, rows(x), rows(a), K);
            y
        };
        check(forward, |at, dy, dx, da, x, a| {
            let y = forward(x, a);
            weighted_product_backward(dx, da, dy, &y, rows(x).row(at, D), rows(a).row(at, D));
        });
        let plain = |x: &[f64], _: &[f64]| {
            let mut y = vec![0.0; D];
            product(&mut y, rows(x), K);
            y
        };
        check(plain, |at, dy, dx, _, x, _| product_backward(dx, dy, rows(x), K, at));
    }

    #[test]
    fn gradients_of_the_minimum() {
        let forward = |x: &[f64], a: &[f64]| {
            let (mut y, mut total) = (vec![0.0; D], vec![0.0; D]);
            minimum(&mut y, &mut total, rows(x), rows(a), K);
            (y, total)
        };
        check(
            |x, a| forward(x, a).0,
            |at, dy, dx, da, x, a| {
                let (y, total) = forward(x, a);
                minimum_backward(dx, da, dy, &y, &total, rows(x).row(at, D), rows(a).row(at, D));
            },
        );
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let (x, a, dy) = (numbers(3 * 37, 1), numbers(3 * 37, 2), numbers(37, 3));
        let [x, a] = [&x, &a].map(|data| Rows { data, step: 37 });
        same_at_every_level(|| {
            let [mut y, mut total, mut dx, mut da] = [(); 4].map(|()| vec![0.0; 37]);
            let mut all = Vec::new();
            minimum(&mut y, &mut total, x, a, 3);
            minimum_backward(&mut dx, &mut da, &dy, &y, &total, x.row(1, 37), a.row(1, 37));
            all.extend([&y[..], &dx, &da].concat());
            weighted_product(&mut y, x, a, 3);
            weighted_product_backward(&mut dx, &mut da, &dy, &y, x.row(1, 37), a.row(1, 37));
            all.extend([&y[..], &dx, &da].concat());
            lukasiewicz(&mut y, x, a, 3);
            lukasiewicz_backward(&mut dx, &mut da, &dy, x.row(1, 37), a.row(1, 37));
            [&all[..], &y, &dx, &da].concat()
        });
    }

    #[test]
    fn names_are_read() {
        assert!(TNorm::ALL.iter().all(|tnorm| tnorm.name().parse() == Ok(*tnorm)));
        assert!("godel".parse::<TNorm>().is_err());
    }
}
