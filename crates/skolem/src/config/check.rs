//! The limits of every knob.

use skolem_kg::Shape;

use super::Config;
use crate::error::{Error, Result};

impl Config {
    /// Refuses values that make no sense, before any work is done.
    pub fn check(&self) -> Result<()> {
        let Config { model, train, mix, .. } = self;
        let least = |name: &str, value: usize, least: usize, most: usize| match value {
            _ if (least..=most).contains(&value) => Ok(()),
            _ => {
                Err(Error::Setting(format!("{name} = {value} is out of range ({least} to {most})")))
            }
        };
        least("model.dim", model.dim, 1, 1 << 16)?;
        least("model.hidden", model.hidden, 1, 1 << 16)?;
        least("model.depth", model.depth, 1, 16)?;
        least("train.batch", train.batch, 1, 1 << 20)?;
        least("train.positives", train.positives, 1, 1 << 20)?;
        least(
            "train.negatives + train.shared",
            train.negatives.saturating_add(train.shared),
            1,
            1 << 24,
        )?;
        let within = |name: &str, value: f64, low: f64, high: f64| match value {
            _ if value >= low && value <= high => Ok(()),
            _ => Err(Error::Setting(format!("{name} = {value} is out of range ({low} to {high})"))),
        };
        within("model.gamma", model.gamma, 0.0, 1e6)?;
        within("model.scale", model.scale, 1e-6, 1e6)?;
        within("model.relation_range", model.relation_range, 0.0, 100.0)?;
        within("model.input_gain", model.input_gain, 1e-3, 1e3)?;
        within("model.spread", model.spread, 0.0, 1.0)?;
        within("train.rate", train.rate, 0.0, 10.0)?;
        within("train.entity_rate", train.entity_rate, 0.0, 1e4)?;
        within("train.smoothing", train.smoothing, 0.0, 0.99)?;
        within("train.threshold", train.threshold, 0.0, 1e3)?;
        within("train.dropout", train.dropout, 0.0, 0.99)?;
        within("train.negligible", train.negligible, 0.0, 0.1)?;
        within("train.beta1", train.beta1, 0.0, 0.99999)?;
        within("train.beta2", train.beta2, 0.0, 0.9999999)?;
        within("train.epsilon", train.epsilon, 1e-30, 1.0)?;
        within("train.most_loss", train.most_loss, 1e-3, 1e30)?;
        within("save.seconds", self.save.seconds, 0.0, 1e9)?;
        if mix.is_empty() {
            return Err(Error::Setting("mix names no shape to learn from".into()));
        }
        for (shape, weight) in mix {
            let parsed: Shape = shape
                .parse()
                .map_err(|error| Error::Setting(format!("mix.{shape} is no shape: {error}")))?;
            within(&format!("mix.{shape}"), *weight, 1e-9, 1e9)?;
            if parsed == Shape::Anchor {
                return Err(Error::Setting("mix: the shape 'e' has nothing to learn".into()));
            }
        }
        if !["random", "graph"].contains(&&model.first[..]) {
            return Err(Error::Setting(format!(
                "unknown model.first '{}' (one of random, graph)",
                model.first
            )));
        }
        if model.kind != "logic" {
            return Err(Error::Setting(format!("unknown model.kind '{}' (logic)", model.kind)));
        }
        self.logic()?;
        self.train.split()?;
        self.schedule()?;
        self.rules().map(drop)
    }
}
