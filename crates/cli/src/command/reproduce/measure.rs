//! What is measured of a model that has learnt.

use std::collections::BTreeMap;

use anyhow::Result;
use skolem::evaluate::{self, Figures, Test, evaluate};
use skolem::model::{Model, Weights};
use skolem::program::Union;
use skolem::report::Machine;
use skolem::report::findings::{Cardinality, Findings, Measured, Training, Uncertainty};
use skolem::report::models::Entry;
use skolem::store::metrics::Log;
use skolem::train::run::Outcome;
use skolem::with_model;

use super::Work;
use super::data::Sets;
use crate::command::check;
use crate::progress;

/// Figures by shape.
type Shapes = BTreeMap<String, Figures>;

impl Work<'_> {
    /// Measures a model with its best weights.
    pub fn measure(&self, entry: &Entry, learnt: &Outcome) -> Result<Findings> {
        let folder = self.folder(entry);
        let (config, _, weights) = folder.open()?;
        let seed = config.train.seed;
        let found = with_model!(&config.model, |model| self.measure_model(model, &weights, seed))?;
        let rows = Log::rows(folder.path())?;
        Ok(Findings {
            label: entry.label.into(),
            kind: config.model.name().into(),
            settings: config.to_toml()?,
            seed,
            data: self.sets.data.clone(),
            training: Training::of(&rows, self.limit, learnt.seconds, learnt.update),
            machine: Machine::here(),
            command: command(),
            ..found
        })
    }

    /// The figures alone. Entailment is not among them: it takes another model, one that learnt all splits.
    fn measure_model<M: Model<f32>>(
        &self,
        model: &M,
        weights: &Weights<f32>,
        seed: u64,
    ) -> Result<Findings> {
        let mut uncertainty = evaluate::Uncertainty::new(model, true);
        let mut rank = |tests: &[Test], union, is_measured| -> Result<Shapes> {
            let bar = progress::items(tests.len() as u64, "ranking");
            let report = evaluate(model, weights, tests.iter().map(Ok), union, |ranked| {
                if is_measured {
                    uncertainty.add(model, ranked);
                }
                bar.inc(ranked.tests.len() as u64);
                Ok(check(self.cancelled)?)
            });
            bar.finish_and_clear();
            Ok(report?.shapes)
        };
        let Sets { test, generalization, .. } = self.sets;
        let unions: Vec<Test> =
            test.tests.iter().filter(|test| test.query.has_union()).cloned().collect();
        let shapes = rank(&test.tests, Union::Disjuncts, true)?;
        let de_morgan = rank(&unions, Union::DeMorgan, false)?;
        let generalization = match generalization {
            Some(set) => {
                let shapes = rank(&set.tests, Union::Disjuncts, false)?;
                Some(Measured { queries: set.queries.clone(), shapes })
            }
            None => None,
        };
        let waiting = progress::waiting("counting answers");
        let errors = uncertainty.cardinality(seed, || Ok(check(self.cancelled)?));
        waiting.finish_and_clear();
        let told = |(measure, shapes): (&str, _)| Cardinality { measure: measure.into(), shapes };
        Ok(Findings {
            test: Measured { queries: test.queries.clone(), shapes },
            de_morgan,
            generalization,
            uncertainty: Uncertainty::of(&uncertainty),
            cardinality: errors?.into_iter().map(told).collect(),
            ..Findings::default()
        })
    }
}

/// The command that is running, as a shell takes it.
fn command() -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=,:@+".contains(sign);
    let quoted = |word: String| match word.chars().all(plain) && !word.is_empty() {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("skolem".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
