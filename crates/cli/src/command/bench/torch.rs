//! The same in PyTorch: runs the programs in `benches/torch`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::updates::Sizes;

/// A Python that has PyTorch, and the program to run with it.
pub struct Torch {
    python: PathBuf,
    script: PathBuf,
    /// The version of PyTorch.
    pub version: String,
}

/// What one run of the program found.
#[derive(Deserialize)]
pub struct Timed {
    /// The median, in seconds.
    pub per_update: f64,
    /// The most memory in use, in units of 2²⁰ bytes.
    pub peak_rss_mb: f64,
}

/// What one ranking of queries found.
#[derive(Deserialize)]
pub struct Ranked {
    /// Queries a second.
    pub per_second: f64,
    /// Their mean reciprocal rank, with all queries alike.
    pub mrr: f64,
    /// The most memory in use, in units of 2²⁰ bytes.
    pub peak_rss_mb: f64,
}

/// PyTorch as it comes, or as it is fastest: large pages and the fused optimiser.
#[derive(Clone, Copy, PartialEq)]
pub enum Tuning {
    Default,
    Tuned,
}

impl Torch {
    /// Looks for PyTorch; why there is none.
    pub fn find(python: &Path, script: &Path) -> Result<Torch, String> {
        if !script.is_file() {
            return Err(format!("there is no {} (see --torch-script)", script.display()));
        }
        let mut command = Command::new(python);
        command.args(["-c", "import torch; print(torch.__version__)"]);
        let output = command
            .output()
            .map_err(|error| format!("cannot start {}: {error}", python.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it failed").to_owned();
            return Err(format!("{} has no torch ({last}); see --python", python.display()));
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Torch { python: python.into(), script: script.into(), version })
    }

    /// Times updates.
    pub fn updates(&self, sizes: &Sizes, mode: &str, mix: &str, tuning: Tuning) -> Result<Timed> {
        let mut arguments = sizes.arguments();
        arguments.extend(["--mode", mode, "--mix", mix].map(str::to_owned));
        if tuning == Tuning::Tuned {
            arguments.extend(["--adam", "fused"].map(str::to_owned));
        }
        self.run(&arguments, tuning)
    }

    /// Runs the program, which prints one line of JSON.
    pub fn run<T: DeserializeOwned>(&self, arguments: &[String], tuning: Tuning) -> Result<T> {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).args(arguments);
        command.args(["--threads", &rayon::current_num_threads().to_string()]);
        command.env_remove("THP_MEM_ALLOC_ENABLE");
        if tuning == Tuning::Tuned {
            command.env("THP_MEM_ALLOC_ENABLE", "1");
        }
        let output = command.output().context("cannot start PyTorch")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("nothing");
            bail!("{} failed ({}): {last}", self.script.display(), output.status);
        }
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} printed no JSON", self.script.display()))
    }
}
