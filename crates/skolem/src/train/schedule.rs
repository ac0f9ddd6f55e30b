//! How the learning rate changes over a run.

use std::str::FromStr;

/// The course of the learning rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    /// Always the same.
    Constant,
    /// Half a cosine, down to nearly zero.
    Cosine,
    /// Straight down to nearly zero.
    Linear,
    /// A fifth after half of the run and again after three quarters, each time with fresh moments.
    Drops,
}

/// What is left of the rate at the end of a run.
const LEAST: f64 = 0.01;

impl Schedule {
    /// All of them, by name.
    pub const ALL: [(&str, Schedule); 4] = [
        ("constant", Schedule::Constant),
        ("cosine", Schedule::Cosine),
        ("linear", Schedule::Linear),
        ("drops", Schedule::Drops),
    ];

    /// The share of the highest rate after a share of the run.
    pub fn share(self, progress: f64) -> f64 {
        let progress = progress.clamp(0.0, 1.0);
        match self {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - (1.0 - LEAST) * progress,
            Schedule::Cosine => {
                LEAST + (1.0 - LEAST) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            Schedule::Drops => 0.2f64.powi(self.resets(progress) as i32),
        }
    }

    /// How often the moments have started afresh after a share of the run.
    pub fn resets(self, progress: f64) -> u64 {
        match self {
            Schedule::Drops => u64::from(progress >= 0.5) + u64::from(progress >= 0.75),
            _ => 0,
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Schedule::ALL.into_iter().find(|(name, _)| *name == text);
        found.map(|(_, schedule)| schedule).ok_or_else(|| {
            let names = Schedule::ALL.map(|(name, _)| name).join(", ");
            format!("unknown schedule '{text}' (one of {names})")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall_as_said() {
        for (_, schedule) in Schedule::ALL {
            assert_eq!(schedule.share(0.0), 1.0);
            assert!((0..100).all(|at| {
                schedule.share(f64::from(at) / 100.0) >= schedule.share(f64::from(at + 1) / 100.0)
            }));
        }
        assert!((Schedule::Drops.share(0.6) - 0.2).abs() < 1e-12);
        assert!((Schedule::Drops.share(0.8) - 0.04).abs() < 1e-12);
        assert_eq!([0.0, 0.5, 0.75].map(|at| Schedule::Drops.resets(at)), [0, 1, 2]);
        assert!("steps".parse::<Schedule>().is_err());
    }
}
