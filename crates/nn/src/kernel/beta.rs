//! Beta distributions [α ‖ β], many at once.
//!
//! The divergence of E from Q is, in each dimension,
//!
//! KL(E‖Q) = ln B(q) − ln B(e) + (aE − aQ)·u + (bE − bQ)·v, with u = ψ(aE) − ψ(aE + bE), v = ψ(bE) − ψ(aE + bE)
//!
//! so with u, v and ln B of each side at hand, a pair costs a product of rows: Σ KL = C(q) + K(e) − Σ (aQ·u + bQ·v).
//!
//! Γ and its derivatives are those of a number above 8, by Stirling's series, taken back eight steps where the
//! number is smaller. ln B is put together from logarithms of ratios, so that large parameters do not cancel.

use super::l1::{LANES, total};
use super::simd;
use crate::Real;

/// Steps to a number for which the series is exact enough, and that number.
const STEPS: usize = 8;

/// A number as the series take it.
struct Raised<F> {
    /// The number, or that many steps above it.
    z: F,
    /// 1/z.
    inverse: F,
    /// Steps made.
    steps: F,
    /// x(x + 1)…(x + 7), or 1.
    product: F,
    /// Σ 1/(x + k), or 0.
    sum: F,
}

#[inline(always)]
fn raised<F: Real>(x: F) -> Raised<F> {
    let end = F::of(STEPS as f64);
    let is_small = x < end;
    // What is not small must not overflow either.
    let small = if is_small { x } else { end };
    let (mut product, mut derivative) = (F::one(), F::zero());
    for step in 0..STEPS {
        let factor = small + F::of(step as f64);
        derivative = derivative * factor + product;
        product *= factor;
    }
    let z = if is_small { x + end } else { x };
    Raised {
        z,
        inverse: F::one() / z,
        steps: if is_small { end } else { F::zero() },
        product: if is_small { product } else { F::one() },
        sum: if is_small { derivative / product } else { F::zero() },
    }
}

/// c₀ + c₁x + c₂x² + …
#[inline(always)]
fn polynomial<F: Real, const N: usize>(x: F, coefficients: [f64; N]) -> F {
    let mut sum = F::zero();
    for at in (0..N).rev() {
        sum = sum * x + F::of(coefficients[at]);
    }
    sum
}

impl<F: Real> Raised<F> {
    /// ln Γ(z) − (z − ½) ln z + z − ½ ln 2π.
    #[inline(always)]
    fn gamma_rest(&self) -> F {
        const SERIES: [f64; 7] = [
            1.0 / 12.0,
            -1.0 / 360.0,
            1.0 / 1260.0,
            -1.0 / 1680.0,
            1.0 / 1188.0,
            -691.0 / 360_360.0,
            1.0 / 156.0,
        ];
        self.inverse * polynomial(self.inverse * self.inverse, SERIES)
    }

    /// ln z − ψ(x).
    #[inline(always)]
    fn digamma_rest(&self) -> F {
        const SERIES: [f64; 7] = [
            1.0 / 12.0,
            -1.0 / 120.0,
            1.0 / 252.0,
            -1.0 / 240.0,
            1.0 / 132.0,
            -691.0 / 32_760.0,
            1.0 / 12.0,
        ];
        let square = self.inverse * self.inverse;
        F::of(0.5) * self.inverse + square * polynomial(square, SERIES) + self.sum
    }
}

/// ψ′(x).
#[inline(always)]
fn trigamma<F: Real>(x: F) -> F {
    const SERIES: [f64; 7] =
        [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0];
    let end = F::of(STEPS as f64);
    let is_small = x < end;
    let small = if is_small { x } else { end };
    // Σ 1/(x + k)² as one fraction.
    let (mut above, mut below) = (F::zero(), F::one());
    for step in 0..STEPS {
        let factor = small + F::of(step as f64);
        let square = factor * factor;
        above = above * square + below;
        below *= square;
    }
    let steps = if is_small { above / below } else { F::zero() };
    let inverse = F::one() / if is_small { x + end } else { x };
    let square = inverse * inverse;
    inverse + F::of(0.5) * square + inverse * square * polynomial(square, SERIES) + steps
}

/// u, v and ln B of one distribution.
#[inline(always)]
fn terms<F: Real>(a: F, b: F) -> [F; 3] {
    let half_log_two_pi = F::of(0.918_938_533_204_672_8);
    let (half, x, y, s) = (F::of(0.5), raised(a), raised(b), raised(a + b));
    let [log_x, log_y] = [x.z * s.inverse, y.z * s.inverse].map(Real::logarithm);
    let [rest_x, rest_y, rest_s] = [x.digamma_rest(), y.digamma_rest(), s.digamma_rest()];
    // How far z of a and b together is above that of their sum.
    let over = x.steps + y.steps - s.steps;
    let log_beta = (x.z - half) * log_x + (y.z - half) * log_y + (over - half) * s.z.logarithm()
        - over
        + half_log_two_pi
        + (x.gamma_rest() + y.gamma_rest() - s.gamma_rest())
        - (x.product * y.product / s.product).logarithm();
    [log_x - rest_x + rest_s, log_y - rest_y + rest_s, log_beta]
}

simd! {
    /// [u ‖ v] of each dimension, and Σ ln B.
    pub fn features<F: Real>(out: &mut [F], set: &[F]) -> F {
        let half = set.len() / 2;
        let (alpha, beta) = set.split_at(half);
        let (u, v) = out.split_at_mut(half);
        let (alpha, beta, v) = (&alpha[..half], &beta[..half], &mut v[..half]);
        let mut sums = [F::zero(); LANES];
        for start in (0..half).step_by(LANES) {
            for at in start..half.min(start + LANES) {
                let [u_at, v_at, log_beta] = terms(alpha[at], beta[at]);
                (u[at], v[at]) = (u_at, v_at);
                sums[at - start] += log_beta;
            }
        }
        total(&sums)
    }
}

simd! {
    /// Turns the gradient of [u ‖ v]-weighted parameters δ into that of the parameters, and adds it:
    /// ∂a += δa·(ψ′(a) − ψ′(a + b)) − δb·ψ′(a + b), and so for b.
    pub fn add_features_backward<F: Real>(dset: &mut [F], delta: &[F], set: &[F]) {
        let half = set.len() / 2;
        let (alpha, beta) = set.split_at(half);
        let (delta_a, delta_b) = delta.split_at(half);
        let (da, db) = dset.split_at_mut(half);
        for at in 0..half {
            let (a, b) = (alpha[at], beta[at]);
            let both = (delta_a[at] + delta_b[at]) * trigamma(a + b);
            da[at] += delta_a[at] * trigamma(a) - both;
            db[at] += delta_b[at] * trigamma(b) - both;
        }
    }
}

simd! {
    /// The differential entropy of each dimension: ln B − (a − 1)·u − (b − 1)·v.
    pub fn entropies<F: Real>(out: &mut [F], set: &[F]) {
        let (alpha, beta) = set.split_at(set.len() / 2);
        for ((out, a), b) in out.iter_mut().zip(alpha).zip(beta) {
            let [u, v, log_beta] = terms(*a, *b);
            *out = log_beta - (*a - F::one()) * u - (*b - F::one()) * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{numbers, same_at_every_level};
    use super::*;
    use crate::op::check::{between, dot, gradient};

    /// α, β, u, v, ln B, entropy, ψ′(α), computed with 40 digits.
    const REFERENCE: [[f64; 7]; 14] = [
        [
            0.05,
            0.05,
            -10.074090050888794,
            -10.074090050888794,
            3.6850457503692557,
            -15.45572534631945,
            401.53235734211506,
        ],
        [
            0.05,
            3.0,
            -21.440185830429733,
            -0.01955650403139536,
            2.9222494967941874,
            -17.406814034051266,
            401.53235734211506,
        ],
        [
            0.5,
            1.5,
            -2.386294361119891,
            -0.38629436111989063,
            0.4515827052894549,
            -0.5484172947105451,
            4.934802200544679,
        ],
        [1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 1.6449340668482264],
        [
            2.5,
            0.75,
            -0.3138342704229358,
            -2.1028517908546513,
            -0.44783810920451084,
            -0.5027996512837698,
            0.49035775610023485,
        ],
        [
            3.0,
            7.9,
            -1.4194060825180153,
            -0.3399519300529114,
            -5.852301612791669,
            -0.6678211303905496,
            0.39493406684822646,
        ],
        [
            7.75,
            8.0,
            -0.7429669691527937,
            -0.7091170538915293,
            -10.665424641345805,
            -0.6865782223237412,
            0.13771379144765566,
        ],
        [
            8.0,
            8.25,
            -0.7413667374924855,
            -0.7086236540816009,
            -11.028181124231402,
            -0.7010924696923981,
            0.1331370146940314,
        ],
        [
            20.0,
            0.0625,
            -0.003199304316490336,
            -19.452576786618742,
            2.553873840872663,
            -15.622130114569092,
            0.05127082293520312,
        ],
        [
            150.0,
            40.0,
            -0.23709192774124743,
            -1.5680628107820835,
            -98.58920798773215,
            -2.1080611337850326,
            0.006688938271165994,
        ],
        [
            3000.0,
            20000.0,
            -2.0370268638990012,
            -0.13976520329552733,
            -8908.89896524447,
            -4.691099704115734,
            0.00033338889506172824,
        ],
        [
            1000000.0,
            0.001,
            -1.0000004995001662e-09,
            -1014.3910819907745,
            6.893363375325389,
            -1006.4823275339588,
            1.0000005000001667e-06,
        ],
        [
            1e-09,
            2.0,
            -1000000000.9999999,
            -6.449340666461695e-10,
            20.72326583594641,
            -999999979.2767341,
            9.999999999999999e+17,
        ],
        [
            1000000000.0,
            1000000000.0,
            -0.6931471808099453,
            -0.6931471808099453,
            -1386294370.2160115,
            -9.982415156358451,
            1.0000000005e-09,
        ],
    ];

    fn near(found: f64, exact: f64, most: f64, what: &str) {
        let error = (found - exact).abs();
        assert!(error <= most * (1.0 + exact.abs()), "{what}: {found}, not {exact}");
    }

    #[test]
    fn numbers_are_those_of_high_precision() {
        for [a, b, u, v, log_beta, entropy, trigamma_a] in REFERENCE {
            // Of a large parameter beside a small one, the rounding of their ratio counts so many times.
            let [double, single] = [1e-12, 2e-6].map(|least| least + 1e-3 * least * a.max(b));
            let narrow = terms(a as f32, b as f32).map(f64::from);
            for (found, most) in [(terms(a, b), double), (narrow, single)] {
                for (found, exact) in found.into_iter().zip([u, v, log_beta]) {
                    near(found, exact, most, &format!("a term of ({a}, {b})"));
                }
            }
            near(trigamma(a), trigamma_a, 1e-12, "ψ′");
            near(f64::from(trigamma(a as f32)), trigamma_a, 2e-6, "ψ′");
            let mut out = [0.0];
            entropies(&mut out, &[a, b]);
            near(out[0], entropy, 4.0 * double, "entropy");
        }
    }

    #[test]
    fn gradients() {
        let set = between(0.05, 12.0, 14, 1);
        let delta = between(-1.0, 1.0, 14, 2);
        let run = |set: &[f64]| {
            let mut out = vec![0.0; 14];
            features(&mut out, set);
            out
        };
        let mut dset = vec![0.0; 14];
        add_features_backward(&mut dset, &delta, &set);
        gradient(&set, &dset, |set| dot(&delta, &run(set)));
        // That of Σ ln B is [u ‖ v].
        gradient(&set, &run(&set), |set| features(&mut [0.0; 14], set));
    }

    #[test]
    fn levels_agree_to_the_bit() {
        let set: Vec<f32> = numbers(2 * 37, 1).iter().map(|x| 0.05 + 30.0 * x).collect();
        let delta = numbers(2 * 37, 2);
        same_at_every_level(|| {
            let [mut out, mut dset, mut entropy] = [vec![0.0; 74], vec![0.0; 74], vec![0.0; 37]];
            let sum = features(&mut out, &set);
            add_features_backward(&mut dset, &delta, &set);
            entropies(&mut entropy, &set);
            [&out[..], &dset, &entropy, &[sum]].concat()
        });
    }
}
