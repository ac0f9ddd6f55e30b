//! One file an operation: its equation, forward, backward, and a test that compares the gradient with
//! finite differences in `f64`.

pub mod attention;
pub mod average;
pub mod bounds;
pub mod distance;
pub mod dropout;
pub mod linear;
pub mod loss;
pub mod positive;
pub mod projection;
pub mod shrink;
pub mod thin;
pub mod tnorm;
pub mod translate;

/// Helpers of the gradient checks.
#[cfg(test)]
pub(crate) mod check {
    use crate::kernel::tests::numbers;

    /// Numbers in [low, high) that are the same on every run.
    pub fn between(low: f64, high: f64, count: usize, seed: u32) -> Vec<f64> {
        numbers(count, seed).into_iter().map(|x| low + (high - low) * f64::from(x)).collect()
    }

    /// Compares a gradient with central differences of a function at a point.
    pub fn gradient(at: &[f64], gradient: &[f64], function: impl Fn(&[f64]) -> f64) {
        assert_eq!(at.len(), gradient.len());
        let mut x = at.to_vec();
        for i in 0..x.len() {
            let step = 1e-6;
            x[i] = at[i] + step;
            let above = function(&x);
            x[i] = at[i] - step;
            let below = function(&x);
            x[i] = at[i];
            let slope = (above - below) / (2.0 * step);
            let error = (slope - gradient[i]).abs();
            assert!(error < 1e-6 * (1.0 + slope.abs()), "{i}: {} but {slope}", gradient[i]);
        }
    }

    /// Σ weights · values: turns many results into one, with the weights as its gradient.
    pub fn dot(weights: &[f64], values: &[f64]) -> f64 {
        weights.iter().zip(values).map(|(w, v)| w * v).sum()
    }
}
