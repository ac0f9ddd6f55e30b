//! The limits of every knob.

use skolem_kg::Shape;

use super::Config;
use crate::error::{Error, Result};

/// Refuses a whole number that is out of range.
pub(crate) fn whole(name: &str, value: usize, least: usize, most: usize) -> Result<()> {
    match value {
        _ if (least..=most).contains(&value) => Ok(()),
        _ => Err(Error::Setting(format!("{name} = {value} is out of range ({least} to {most})"))),
    }
}

/// Refuses a number that is out of range, or none.
pub(crate) fn number(name: &str, value: f64, low: f64, high: f64) -> Result<()> {
    match value {
        _ if value >= low && value <= high => Ok(()),
        _ => Err(Error::Setting(format!("{name} = {value} is out of range ({low} to {high})"))),
    }
}

impl Config {
    /// Refuses values that make no sense, before any work is done.
    pub fn check(&self) -> Result<()> {
        let Config { model, train, save, .. } = self;
        model.check()?;
        whole("train.batch", train.batch, 1, 1 << 20)?;
        whole("train.positives", train.positives, 1, 1 << 20)?;
        let negatives = train.negatives.saturating_add(train.shared);
        whole("train.negatives + train.shared", negatives, 1, 1 << 24)?;
        number("train.rate", train.rate, 0.0, 10.0)?;
        number("train.entity_rate", train.entity_rate, 0.0, 1e4)?;
        number("train.smoothing", train.smoothing, 0.0, 0.99)?;
        number("train.threshold", train.threshold, 0.0, 1e3)?;
        number("train.dropout", train.dropout, 0.0, 0.99)?;
        number("train.negligible", train.negligible, 0.0, 0.1)?;
        number("train.beta1", train.beta1, 0.0, 0.99999)?;
        number("train.beta2", train.beta2, 0.0, 0.9999999)?;
        number("train.epsilon", train.epsilon, 1e-30, 1.0)?;
        number("train.most_loss", train.most_loss, 1e-3, 1e30)?;
        number("save.seconds", save.seconds, 0.0, 1e9)?;
        self.check_mix()?;
        train.split()?;
        self.schedule()?;
        self.rules().map(drop)
    }

    fn check_mix(&self) -> Result<()> {
        if self.mix.is_empty() {
            return Err(Error::Setting("mix names no shape to learn from".into()));
        }
        let mut refused = Vec::new();
        for (name, weight) in &self.mix {
            let shape: Shape = name
                .parse()
                .map_err(|error| Error::Setting(format!("mix.{name} is no shape: {error}")))?;
            number(&format!("mix.{name}"), *weight, 1e-9, 1e9)?;
            if shape == Shape::Anchor {
                return Err(Error::Setting("mix: the shape 'e' has nothing to learn".into()));
            }
            if shape.has_negation() && !self.model.has_complement() {
                refused.push(&name[..]);
            }
        }
        match refused[..] {
            [] => Ok(()),
            _ => Err(Error::Setting(format!(
                "{} has no complement, so it cannot learn shapes with a negation: leave {} out of the mix, or \
                 choose another model.kind",
                self.model.name(),
                refused.join(", ")
            ))),
        }
    }
}
