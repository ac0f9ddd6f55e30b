//! Adam, as PyTorch computes it.
//!
//! A table of entities may be *lazy*: only rows that have a gradient are touched, and what the
//! skipped steps would have done to a row (its moments fade, and it drifts on by its momentum) is
//! made up for in one go when the row is next needed. The drift is a geometric series; it differs from
//! the dense result only by ε and by how the corrections for the first steps change meanwhile.

use crate::Real;
use crate::kernel::adam::{adam, adam_skipped};

/// The settings of Adam.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adam {
    /// How slowly the mean of the gradients changes.
    pub beta1: f64,
    /// How slowly the mean of their squares changes.
    pub beta2: f64,
    /// Keeps the quotient finite.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

/// One step of Adam: its number, from 1, and the learning rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// The settings.
    pub adam: Adam,
    /// Number of steps since the moments were zero, this one included.
    pub number: u64,
    /// The learning rate.
    pub rate: f64,
}

/// Parameters and their moments.
pub struct State<'a, F> {
    /// The parameters.
    pub x: &'a mut [F],
    /// The running mean of the gradients.
    pub m: &'a mut [F],
    /// The running mean of their squares.
    pub v: &'a mut [F],
}

impl Step {
    /// Moves parameters against their gradient.
    pub fn apply<F: Real>(&self, state: State<'_, F>, gradient: &[F]) {
        let Adam { beta1, beta2, epsilon } = self.adam;
        let [step, correct, epsilon] = [self.step_size(), self.correction(), epsilon].map(F::of);
        let (beta, rest) = ([beta1, beta2].map(F::of), [1.0 - beta1, 1.0 - beta2].map(F::of));
        adam(state.x, state.m, state.v, gradient, beta, rest, step, correct, epsilon);
    }

    /// Makes up for the steps since `last`, up to and without this one, that had no gradient.
    pub fn catch_up<F: Real>(&self, state: State<'_, F>, last: u64) {
        let skipped = (self.number - 1).saturating_sub(last) as f64;
        if skipped == 0.0 || last == 0 {
            return;
        }
        let Adam { beta1, beta2, epsilon } = self.adam;
        let ratio = beta1 / beta2.sqrt();
        let drift = self.step_size() * ratio * (1.0 - ratio.powf(skipped)) / (1.0 - ratio);
        let values = [beta1.powf(skipped), beta2.powf(skipped), drift, self.correction(), epsilon];
        let [fade1, fade2, drift, correct, epsilon] = values.map(F::of);
        adam_skipped(state.x, state.m, state.v, fade1, fade2, drift, correct, epsilon);
    }

    fn step_size(&self) -> f64 {
        self.rate / (1.0 - self.adam.beta1.powf(self.number as f64))
    }

    fn correction(&self) -> f64 {
        1.0 / (1.0 - self.adam.beta2.powf(self.number as f64)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> Step {
        Step { adam: Adam::default(), number, rate: 0.01 }
    }

    #[test]
    fn the_first_step_is_the_learning_rate() {
        let (mut x, mut m, mut v) = ([1.0f64, 1.0], [0.0; 2], [0.0; 2]);
        step(1).apply(State { x: &mut x, m: &mut m, v: &mut v }, &[3.0, -0.2]);
        assert!((x[0] - 0.99).abs() < 1e-6 && (x[1] - 1.01).abs() < 1e-6);
    }

    #[test]
    fn catching_up_does_what_the_skipped_steps_would() {
        for skipped in [1u64, 5, 40, 300] {
            let run = |lazy: bool| {
                let (mut x, mut m, mut v) = ([0.5f64], [0.0], [0.0]);
                for number in 1..=2000 {
                    step(number).apply(State { x: &mut x, m: &mut m, v: &mut v }, &[0.3]);
                }
                let end = 2000 + skipped;
                if lazy {
                    step(end + 1).catch_up(State { x: &mut x, m: &mut m, v: &mut v }, 2000);
                } else {
                    for number in 2001..=end {
                        step(number).apply(State { x: &mut x, m: &mut m, v: &mut v }, &[0.0]);
                    }
                }
                [x[0], m[0], v[0]]
            };
            for (lazy, dense) in run(true).into_iter().zip(run(false)) {
                assert!(
                    (lazy - dense).abs() < 1e-3 * dense.abs().max(1e-2),
                    "{skipped}: {lazy} {dense}"
                );
            }
        }
    }
}
