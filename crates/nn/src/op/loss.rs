//! What a query's scores cost: its answers should score high, other entities low.

use std::fmt;
use std::str::FromStr;

use crate::Real;
use crate::kernel::softmax::{exponentials, most, scale_and_lower};

/// Which loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The paper's: ½(−mean log σ(s₊) − mean log σ(−s₋)).
    Sigmoid,
    /// −mean over positives of log(e^s₊ / (e^s₊ + Σ e^s₋)). With a threshold weight τ, there is one more
    /// candidate with the score 0, whom positives should beat and who should beat all negatives together, for −τ·log(1 / (1 + Σ e^s₋)):
    /// scores of different queries can be compared then.
    Softmax,
}

impl Loss {
    /// All of them.
    pub const ALL: [Loss; 2] = [Loss::Sigmoid, Loss::Softmax];

    /// `sigmoid` or `softmax`.
    pub fn name(self) -> &'static str {
        match self {
            Loss::Sigmoid => "sigmoid",
            Loss::Softmax => "softmax",
        }
    }

    /// The loss of one query; its scores are replaced by their gradients.
    ///
    /// `positive` and the parts of `negative` are scores. A negative of −∞ is left out. `smoothing` takes
    /// a share of the weight from the positives and gives it to all negatives alike (softmax only), as is
    /// the weight of the `threshold`.
    pub fn apply<F: Real>(
        self,
        positive: &mut [F],
        negative: [&mut [F]; 2],
        smoothing: F,
        threshold: F,
    ) -> F {
        match self {
            Loss::Sigmoid => sigmoid(positive, negative),
            Loss::Softmax => softmax(positive, negative, smoothing, threshold),
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Loss {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Loss::ALL.into_iter().find(|loss| loss.name() == text);
        found.ok_or_else(|| format!("unknown loss '{text}' (one of sigmoid, softmax)"))
    }
}

fn sigmoid<F: Real>(positive: &mut [F], negative: [&mut [F]; 2]) -> F {
    let half = F::of(0.5);
    let mut loss = F::zero();
    let each = half / F::of(positive.len().max(1) as f64);
    for s in positive {
        loss -= each * s.log_sigmoid();
        *s = -each * (-*s).sigmoid();
    }
    let left_out = F::neg_infinity();
    let count: usize =
        negative.iter().map(|part| part.iter().filter(|s| **s != left_out).count()).sum();
    let each = half / F::of(count.max(1) as f64);
    for s in negative.into_iter().flatten() {
        if *s == left_out {
            *s = F::zero();
            continue;
        }
        loss -= each * (-*s).log_sigmoid();
        *s = each * s.sigmoid();
    }
    loss
}

fn softmax<F: Real>(positive: &mut [F], negative: [&mut [F]; 2], smoothing: F, threshold: F) -> F {
    let [own, shared] = negative;
    let mut most = most(positive).max(most(own)).max(most(shared));
    // The candidate with the score 0.
    let mut zero = F::zero();
    if threshold > F::zero() {
        // A NaN stays one.
        most = if most < F::zero() { F::zero() } else { most };
        zero = (-most).exponential();
    }
    // How many are not left out, and their sum: the last negatives' share of the smoothing.
    let (mut left, mut sum) = (0usize, F::zero());
    if smoothing > F::zero() {
        for s in own.iter().chain(shared.iter()).filter(|s| **s != F::neg_infinity()) {
            left += 1;
            sum += *s;
        }
    }
    let total = exponentials(own, most) + exponentials(shared, most);
    let each = F::one() / F::of(positive.len().max(1) as f64);
    let spread = if left > 0 { smoothing / F::of(left as f64) } else { F::zero() };
    let smoothing = if left > 0 { smoothing } else { F::zero() };
    let mut loss = F::zero();
    // Σ over positives of 1/(e^s₊ + Σ e^s₋): every negative's gradient is a multiple of it.
    let mut pull = F::zero();
    for s in positive.iter_mut() {
        let power = (*s - most).exponential();
        let whole = power + total + zero;
        loss += each * (whole.ln() + most - (F::one() - smoothing) * *s - spread * sum);
        pull += each / whole;
        *s = each * (power / whole - (F::one() - smoothing));
    }
    if threshold > F::zero() {
        let whole = zero + total;
        loss += threshold * (whole.ln() + most);
        pull += threshold / whole;
    }
    // What is left out is zero by now, and nothing else is.
    scale_and_lower(own, pull, spread);
    scale_and_lower(shared, pull, spread);
    loss
}

#[cfg(test)]
mod tests {
    use super::super::check::{between, gradient};
    use super::*;

    #[test]
    fn gradients() {
        let cases = [
            (Loss::Sigmoid, 0.0, 0.0),
            (Loss::Softmax, 0.0, 0.0),
            (Loss::Softmax, 0.1, 0.0),
            (Loss::Softmax, 0.1, 0.7),
        ];
        for (loss, smoothing, threshold) in cases {
            let s = between(-3.0, 3.0, 11, 1);
            let run = |s: &[f64]| {
                let mut s = s.to_vec();
                let (positive, rest) = s.split_at_mut(3);
                let (own, shared) = rest.split_at_mut(5);
                let value = loss.apply(positive, [own, shared], smoothing, threshold);
                (value, s)
            };
            gradient(&s, &run(&s).1, |s| run(s).0);
        }
    }

    #[test]
    fn what_is_left_out_has_no_weight() {
        for loss in Loss::ALL {
            let mut with = [0.3, 0.2, f64::NEG_INFINITY, -0.4];
            let mut without = [0.3, 0.2, -0.4];
            let value = |s: &mut [f64]| {
                let (positive, negative) = s.split_at_mut(1);
                loss.apply(positive, [negative, &mut []], 0.1, 0.5)
            };
            assert!((value(&mut with) - value(&mut without)).abs() < 1e-12);
            assert_eq!(with[2], 0.0);
            assert_eq!([with[0], with[1], with[3]], without);
        }
    }

    #[test]
    fn huge_scores_stay_finite_and_nan_is_seen() {
        for loss in Loss::ALL {
            let mut s = [-900f32, 800.0, 700.0];
            let (positive, negative) = s.split_at_mut(1);
            assert!(loss.apply(positive, [negative, &mut []], 0.0, 0.5).is_finite());
            assert!(s.iter().all(|s| s.is_finite()));
            let mut s = [1.0f32, f32::NAN];
            let (positive, negative) = s.split_at_mut(1);
            assert!(loss.apply(positive, [negative, &mut []], 0.0, 0.5).is_nan());
        }
    }

    #[test]
    fn scores_above_the_threshold_are_for_answers() {
        let of = |shift: f64| {
            let mut s = [shift + 2.0, shift - 2.0];
            let (positive, negative) = s.split_at_mut(1);
            Loss::Softmax.apply(positive, [negative, &mut []], 0.0, 1.0)
        };
        // Without a threshold all shifts would be alike.
        assert!(of(0.0) < of(1.5) && of(0.0) < of(-1.5));
    }
}
