//! `skolem bench train`

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::kernel::{self, Level, bf16};

use super::report::{Report, Row, print};
use super::torch::{Torch, Tuning};
use super::updates::{Measured, Sizes};
use crate::output::{self, grouped, percent};
use crate::progress;

/// Updates of ours and of PyTorch, in turns, at the sizes of the paper
///
/// Best on a machine that does nothing else, with --threads as many as it has cores.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    sizes: Sizes,
    /// Measure up to this many entities
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    most_entities: usize,
    /// A Python that has torch
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
    /// The PyTorch program
    #[arg(long, value_name = "FILE", default_value = "benches/torch/bench.py")]
    torch_script: PathBuf,
    /// Measure this alone (may be given often)
    #[arg(long, value_name = "NAME", value_parser = NAMES)]
    only: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The modes and mixes of updates that are measured.
const MIXES: [&str; 4] = ["point-path", "point-other", "bounds-path", "bounds-other"];
/// What is measured.
const NAMES: [&str; 9] = [
    "point-path",
    "point-other",
    "bounds-path",
    "bounds-other",
    "peak",
    "memory",
    "entities",
    "avx2",
    "bf16",
];

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let (torch, skipped) = match Torch::find(&args.python, &args.torch_script) {
        Ok(torch) => (Some(torch), None),
        Err(reason) => (None, Some(reason)),
    };
    if let Some(reason) = &skipped {
        eprintln!("SKIPPED: PyTorch is not measured, ours alone is: {reason}");
    }
    let bench = Runner { args, torch };
    let (mut rows, mut failed) = (Vec::new(), false);
    let names = NAMES
        .into_iter()
        .filter(|name| args.only.is_empty() || args.only.iter().any(|only| only == name));
    for name in names {
        let waiting = progress::waiting(name);
        let measured = match name {
            "peak" => bench.peak(),
            "memory" => bench.memory(),
            "entities" => bench.entities(),
            "avx2" => bench.avx2(),
            "bf16" => bench.bf16(),
            name => bench.speed(name, Precision::F32).map(|row| vec![row]),
        };
        waiting.finish_and_clear();
        // What else was measured is worth having.
        rows.extend(measured.unwrap_or_else(|error| {
            failed = true;
            let note = format!("FAILED: {error:#}");
            vec![Row { name: name.into(), note, ..Row::default() }]
        }));
    }
    let Sizes { dim, hidden, batch, negatives, entities, relations, .. } = args.sizes;
    let report = Report {
        threads: rayon::current_num_threads(),
        instructions: kernel::level().name(),
        sizes: format!(
            "d {dim}, h {hidden}, {batch} queries with {negatives} negatives, {} entities, \
             {relations} relations",
            grouped(entities)
        ),
        torch: bench.torch.map(|torch| torch.version),
        skipped,
        rows,
    };
    match args.json {
        true => output::json(out, &report)?,
        false => print(&report, out)?,
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

struct Runner<'a> {
    args: &'a Args,
    torch: Option<Torch>,
}

/// Our runs of a kind, and PyTorch's as it comes and tuned, in turns.
struct Turns {
    ours: Vec<Measured>,
    seconds: f64,
    torch: Option<f64>,
    tuned: Option<f64>,
}

impl Runner<'_> {
    /// One run of ours, in a process of its own.
    fn ours(&self, sizes: &Sizes, more: &[&str]) -> Result<Measured> {
        let mut command = Command::new(std::env::current_exe().context("where this program is")?);
        command.args(["--threads", &rayon::current_num_threads().to_string(), "bench", "update"]);
        command.args(sizes.arguments()).args(more);
        let output = command.output().context("cannot start a measurement")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it may have had too little memory");
            bail!("a measurement with {} failed ({}): {last}", more.join(" "), output.status);
        }
        serde_json::from_slice(&output.stdout).context("a measurement printed no JSON")
    }

    /// Runs in turns, so that what else the machine does disturbs all alike.
    fn turns(&self, mode: &str, mix: &str, precision: Precision) -> Result<Turns> {
        let sizes = &self.args.sizes;
        let more = ["--mode", mode, "--mix", mix, "--precision", precision.name(), "--peak"];
        let ours = || self.ours(sizes, if mix == "2i" { &more } else { &more[..6] });
        let theirs = |tuning| -> Result<Option<f64>> {
            let timed = self.torch.as_ref().map(|torch| torch.updates(sizes, mode, mix, tuning));
            Ok(timed.transpose()?.map(|timed| timed.per_update))
        };
        let (first, torch) = (ours()?, theirs(Tuning::Default)?);
        let (second, tuned) = (ours()?, theirs(Tuning::Tuned)?);
        let ours = vec![first, second, ours()?];
        let seconds = median(ours.iter().flat_map(|run| run.seconds.iter().copied()).collect());
        Ok(Turns { ours, seconds, torch, tuned })
    }

    /// Seconds an update, of a mode and a mix.
    fn speed(&self, name: &str, precision: Precision) -> Result<Row> {
        let (mode, mix) = name.split_once('-').unwrap_or((name, "path"));
        let Turns { seconds, torch, tuned, .. } = self.turns(mode, mix, precision)?;
        let ratio = torch.map(|torch| torch / seconds);
        let (goal, least) = match precision {
            Precision::F32 => ("≥ 6 ×", 6.0),
            Precision::Bf16 => ("≥ 9 ×", 9.0),
        };
        Ok(Row {
            name: name.into(),
            unit: "s",
            ours: Some(seconds),
            torch,
            torch_tuned: tuned,
            ratio,
            ratio_tuned: tuned.map(|tuned| tuned / seconds),
            goal,
            met: ratio.map(|ratio| ratio >= least),
            ..Row::default()
        })
    }

    /// The same with products of bf16; PyTorch's stay `f32`.
    fn bf16(&self) -> Result<Vec<Row>> {
        if !bf16::is_here() {
            let note = "not on this processor".into();
            return Ok(vec![Row { name: "bf16".into(), note, ..Row::default() }]);
        }
        let rows = MIXES.iter().map(|name| {
            let row = self.speed(name, Precision::Bf16)?;
            Ok(Row { name: format!("bf16 {name}"), ..row })
        });
        rows.collect()
    }

    /// The share of what the processor can do that an update's matrix products are.
    fn peak(&self) -> Result<Vec<Row>> {
        let Turns { ours, seconds, torch, tuned } = self.turns("point", "2i", Precision::F32)?;
        let Some(peak) = ours.iter().filter_map(|run| run.peak).reduce(f64::max) else {
            let note = "no fused instructions here to measure it with".into();
            return Ok(vec![Row { name: "peak".into(), note, ..Row::default() }]);
        };
        let (flops, plain) = (ours[0].flops, ours[0].plain_flops);
        let share = flops / seconds / peak;
        let theirs = |seconds: f64| plain / seconds / peak;
        Ok(vec![Row {
            name: "peak (2i)".into(),
            unit: "%",
            ours: Some(100.0 * share),
            torch: torch.map(|seconds| 100.0 * theirs(seconds)),
            torch_tuned: tuned.map(|seconds| 100.0 * theirs(seconds)),
            ratio: torch.map(|torch| torch / seconds),
            ratio_tuned: tuned.map(|tuned| tuned / seconds),
            goal: "≥ 55 %",
            met: Some(share >= 0.55),
            note: format!(
                "{:.1} GFLOP in {seconds:.3} s, of {:.0} GFLOP/s; the plain network needs {:.1} GFLOP: {}",
                flops / 1e9,
                peak / 1e9,
                plain / 1e9,
                percent(theirs(seconds))
            ),
        }])
    }

    /// The most memory of a short training.
    fn memory(&self) -> Result<Vec<Row>> {
        let sizes = Sizes { updates: self.args.sizes.updates.max(3), ..self.args.sizes.clone() };
        let short = Sizes { updates: 1, ..sizes.clone() };
        let mut rows = Vec::new();
        for mode in ["point", "bounds"] {
            let gigabytes = |tuning| -> Result<Option<f64>> {
                let torch = self.torch.as_ref();
                let run =
                    torch.map(|torch| torch.updates(&short, mode, "other", tuning)).transpose()?;
                Ok(run.map(|run| run.peak_rss_mb * f64::from(1 << 20) / 1e9))
            };
            let ours = self.ours(&sizes, &["--train", "--mode", mode])?;
            let ours = ours.memory.map(|bytes| bytes / 1e9);
            let [torch, torch_tuned] = [gigabytes(Tuning::Default)?, gigabytes(Tuning::Tuned)?];
            let ratio = |theirs: Option<f64>| Some(theirs? / ours?);
            rows.push(Row {
                name: format!("memory {mode}"),
                unit: "GB",
                ours,
                torch,
                torch_tuned,
                ratio: ratio(torch),
                ratio_tuned: ratio(torch_tuned),
                goal: "≤ 0.6 GB",
                met: ours.map(|ours| ours <= 0.6),
                ..Row::default()
            });
        }
        Ok(rows)
    }

    /// Seconds an update as there are more entities, where those not touched wait.
    fn entities(&self) -> Result<Vec<Row>> {
        let Sizes { entities: least, .. } = self.args.sizes;
        let mut counts =
            [least, 100_000, 1_000_000].map(|count| count.min(self.args.most_entities)).to_vec();
        counts.retain(|count| *count >= least);
        counts.dedup();
        let mut all: Vec<Vec<f64>> = Vec::new();
        for &entities in counts.iter().chain(&counts[..1]) {
            let sizes = Sizes { entities, ..self.args.sizes.clone() };
            all.push(self.ours(&sizes, &["--lazy"])?.seconds);
        }
        // The first is measured again after the last.
        let again = all.pop().unwrap_or_default();
        all[0].extend(again);
        let medians: Vec<f64> = all.into_iter().map(median).collect();
        let row = |(count, seconds): (&usize, &f64)| {
            let ratio = seconds / medians[0];
            Row {
                name: format!("entities {}", grouped(*count)),
                unit: "s",
                ours: Some(*seconds),
                ratio: Some(ratio),
                goal: "≤ 1.3 ×",
                met: Some(ratio <= 1.3),
                ..Row::default()
            }
        };
        Ok(counts.iter().zip(&medians).map(row).collect())
    }

    /// Without the widest vectors. Matrix products take what the processor has, so that it takes a build of
    /// its own.
    fn avx2(&self) -> Result<Vec<Row>> {
        if Level::best() == Level::Avx512 {
            let note = "needs a build with --no-default-features".into();
            return Ok(vec![Row { name: "avx2".into(), note, ..Row::default() }]);
        }
        let row = self.speed(MIXES[0], Precision::F32)?;
        let met = row.ratio.map(|ratio| ratio >= 3.0);
        Ok(vec![Row { name: "avx2".into(), goal: "≥ 3 ×", met, ..row }])
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() % 2 {
        0 if middle > 0 => (numbers[middle - 1] + numbers[middle]) / 2.0,
        _ => numbers.get(middle).copied().unwrap_or(f64::NAN),
    }
}
