//! What is measured of a model that has learnt.

use anyhow::Result;
use skolem::config::Config;
use skolem::evaluate::{Report, Test, evaluate};
use skolem::program::Union;
use skolem::report::Machine;
use skolem::report::findings::{Findings, Measured, Training};
use skolem::report::models::Entry;
use skolem::store::metrics::Log;
use skolem::train::run::Outcome;

use super::Work;
use super::data::Set;
use crate::command::check;
use crate::progress;

impl Work<'_> {
    /// Ranks all entities for all test queries with a model's best weights.
    pub fn measure(&self, entry: &Entry, config: &Config, learnt: &Outcome) -> Result<Findings> {
        let folder = self.folder(entry);
        let (_, _, model, weights) = folder.open()?;
        let measure = |tests: &[Test], union| -> Result<Report> {
            let bar = progress::items(tests.len() as u64, "ranking");
            let report = evaluate(&model, &weights, tests, union, |done| {
                bar.inc(done as u64);
                Ok(check(self.cancelled)?)
            });
            bar.finish_and_clear();
            Ok(report?)
        };
        let measured = |set: &Set| -> Result<Measured> {
            let shapes = measure(&set.tests, Union::Disjuncts)?.shapes;
            Ok(Measured { queries: set.queries.clone(), shapes })
        };
        let test = &self.sets.test;
        let unions: Vec<Test> =
            test.tests.iter().filter(|test| test.query.has_union()).cloned().collect();
        let rows = Log::rows(folder.path())?;
        Ok(Findings {
            label: entry.label.into(),
            kind: config.model.kind.clone(),
            settings: config.to_toml()?,
            seed: config.train.seed,
            data: self.sets.data.clone(),
            training: Training::of(&rows, self.limit, learnt.seconds, learnt.update),
            test: measured(test)?,
            de_morgan: measure(&unions, Union::DeMorgan)?.shapes,
            generalization: self.sets.generalization.as_ref().map(measured).transpose()?,
            machine: Machine::here(),
            command: command(),
            // Entailment, uncertainty and cardinality are not measured here yet.
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
