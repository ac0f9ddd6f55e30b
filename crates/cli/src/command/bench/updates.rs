//! What is measured in a process of its own: updates on random queries, and the memory of training.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use skolem::config::Config;
use skolem::model::{Logic, Model, Weights};
use skolem::program::Program;
use skolem::store::Folder;
use skolem::train::batch::{Batch, Item, Shared};
use skolem::train::run::{Limit, Plan, train};
use skolem::train::update::{Learner, Moments};
use skolem_kg::rng::Rng;
use skolem_kg::{Entity, Graph, GraphBuilder, Query, Relation, Shape, Split};
use skolem_nn::kernel::{Level, peak::peak};

/// The sizes of what is measured; the paper's by default.
#[derive(clap::Args, Clone)]
pub struct Sizes {
    /// Half the numbers of an entity
    #[arg(long, default_value_t = 400)]
    pub dim: usize,
    /// Width of the hidden layers
    #[arg(long, default_value_t = 1600)]
    pub hidden: usize,
    /// Queries in an update
    #[arg(long, default_value_t = 512)]
    pub batch: usize,
    /// Negatives of each query
    #[arg(long, default_value_t = 128)]
    pub negatives: usize,
    /// Entities of the graph
    #[arg(long, default_value_t = 14_505, value_parser = at_least_one)]
    pub entities: usize,
    /// Relations of the graph, inverses included
    #[arg(long, default_value_t = 474, value_parser = at_least_one)]
    pub relations: usize,
    /// Updates that are timed, after one that is not
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    pub updates: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 is needed".into()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

impl Sizes {
    /// As arguments, which the PyTorch program takes too.
    pub fn arguments(&self) -> Vec<String> {
        let Sizes { dim, hidden, batch, negatives, entities, relations, updates } = self;
        let all = [
            ("dim", dim),
            ("hidden", hidden),
            ("batch", batch),
            ("negatives", negatives),
            ("entities", entities),
            ("relations", relations),
            ("updates", updates),
        ];
        all.iter().flat_map(|(name, size)| [format!("--{name}"), size.to_string()]).collect()
    }
}

/// One measurement.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    sizes: Sizes,
    /// Truth values, or bounds on them
    #[arg(long, default_value = "point", value_parser = ["point", "bounds"])]
    mode: String,
    /// Shapes in equal parts
    #[arg(long, default_value = "path", value_parser = ["path", "other", "2i"])]
    mix: String,
    /// What numbers of products are rounded to
    #[arg(long, default_value = "f32", value_parser = ["f32", "bf16"])]
    precision: String,
    /// Let entities that an update does not touch wait
    #[arg(long)]
    lazy: bool,
    /// Measure what the processor can do, too
    #[arg(long)]
    peak: bool,
    /// Train on a random graph, for its memory
    #[arg(long)]
    train: bool,
}

/// What was measured.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// Seconds of each update.
    pub seconds: Vec<f64>,
    /// Additions and multiplications of an update's matrix products.
    pub flops: f64,
    /// Those of a network that is given [x ‖ r] row by row.
    pub plain_flops: f64,
    /// Those the threads can do in a second.
    pub peak: Option<f64>,
    /// The most memory that was in use, in bytes.
    pub memory: Option<f64>,
}

/// Measures, and writes one line of JSON.
pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let Sizes { dim, hidden, batch, negatives, .. } = args.sizes;
    let mut config = Config::recipe("paper")?;
    let model = Logic { dim, hidden, bounds: args.mode == "bounds", ..Logic::default() };
    config.model = model.clone().into();
    (config.train.batch, config.train.negatives) = (batch, negatives);
    config.train.lazy = args.lazy;
    config.train.precision = args.precision.clone();
    config.evaluate.times = 0;
    config.check()?;
    let mut measured = match args.train {
        true => trained(&config, &args.sizes)?,
        false => updated(model, &config, args)?,
    };
    measured.memory = most_memory();
    serde_json::to_writer(&mut *out, &measured).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}

/// Updates as they are in the middle of a run.
fn updated(model: Logic, config: &Config, args: &Args) -> Result<Measured> {
    /// Updates made before; entities were last touched at any of them.
    const BEFORE: u64 = 1000;
    let Args { sizes, mix, .. } = args;
    let mut rng = Rng::new(1);
    let weights: Weights<f32> = model.weights(sizes.entities, sizes.relations, &mut rng);
    let mut moments = Moments::new(&weights);
    moments.m.iter_mut().for_each(|m| m.fill(1e-3));
    moments.v.iter_mut().for_each(|v| v.fill(1e-6));
    moments.steps = BEFORE;
    moments.seen.iter_mut().for_each(|seen| *seen = 1 + rng.below(BEFORE as usize) as u32);
    let mut learner = Learner::new(model.clone(), weights, moments, config.rules()?);
    let batches = (0..=sizes.updates).map(|_| random_batch(sizes, mix, &mut rng));
    let batches = batches.collect::<Result<Vec<Batch>>>()?;
    let measure_peak = || match args.peak {
        true => peak(Level::best(), rayon::current_num_threads()),
        false => None,
    };
    let before = measure_peak();
    let mut seconds = Vec::new();
    for batch in &batches {
        let start = Instant::now();
        learner.update(batch, config.train.rate, BEFORE)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.remove(0);
    let peak = before.into_iter().chain(measure_peak()).reduce(f64::max);
    let mean = |of: fn(&Logic, &Program) -> f64| {
        batches.iter().map(|batch| of(&model, &batch.program)).sum::<f64>() / batches.len() as f64
    };
    Ok(Measured { seconds, flops: mean(flops), plain_flops: mean(plain_flops), peak, memory: None })
}

/// Queries with random anchors and relations, as `benches/torch/bench.py` makes them.
fn random_batch(sizes: &Sizes, mix: &str, rng: &mut Rng) -> Result<Batch> {
    let shapes: &[&str] = match mix {
        "path" => &["1p", "2p", "3p"],
        "other" => &["2i", "3i", "2in", "3in", "inp", "pin", "pni"],
        _ => &["2i"],
    };
    let shapes = shapes.iter().map(|name| name.parse()).collect::<Result<Vec<Shape>, _>>()?;
    let items = (0..sizes.batch).map(|at| Item {
        query: random_query(&shapes[at % shapes.len()], sizes, rng),
        weight: 1.0 / (5.0 + rng.below(50) as f32).sqrt(),
        positives: vec![rng.below(sizes.entities) as u32],
        negatives: (0..sizes.negatives).map(|_| rng.below(sizes.entities) as u32).collect(),
        left_out: Vec::new(),
    });
    Ok(Batch::new(&items.collect::<Vec<_>>(), Shared::Listed(Vec::new()))?)
}

fn random_query(shape: &Shape, sizes: &Sizes, rng: &mut Rng) -> Query {
    let mut all =
        |parts: &[Shape]| parts.iter().map(|part| random_query(part, sizes, rng)).collect();
    match shape {
        Shape::And(parts) => Query::And(all(parts)),
        Shape::Or(parts) => Query::Or(all(parts)),
        Shape::Anchor => Query::Anchor(Entity(rng.below(sizes.entities) as u32)),
        Shape::Not(inner) => random_query(inner, sizes, rng).not(),
        Shape::Follow(inner) => {
            let relation = Relation(rng.below(sizes.relations) as u32);
            Query::Follow(relation, Box::new(random_query(inner, sizes, rng)))
        }
    }
}

/// Additions and multiplications of an update's matrix products: forward, and backward to the inputs
/// and to the weights.
fn flops(model: &Logic, program: &Program) -> f64 {
    let [rows, relations, d, h] =
        [program.inputs.len(), program.relations.len(), model.dim, model.hidden].map(|n| n as f64);
    6.0 * (relations * d * h + rows * (2.0 * d * h)) + shared_flops(model, program)
}

/// The same where the first layer takes the relation's vector in every row.
fn plain_flops(model: &Logic, program: &Program) -> f64 {
    let [rows, d, h] = [program.inputs.len(), model.dim, model.hidden].map(|n| n as f64);
    6.0 * rows * (3.0 * d * h) + shared_flops(model, program)
}

fn shared_flops(model: &Logic, program: &Program) -> f64 {
    let [rows, operands, d, h, depth] =
        [program.inputs.len(), program.operands.len(), model.dim, model.hidden, model.depth]
            .map(|n| n as f64);
    let columns = if model.bounds { d } else { 2.0 * d };
    let attention = if model.attention { 2.0 * d * (2.0 * d + columns) } else { 0.0 };
    6.0 * (rows * ((depth - 1.0) * h * h + h * 2.0 * d) + operands * attention)
}

/// A short training as `skolem train` does it.
fn trained(config: &Config, sizes: &Sizes) -> Result<Measured> {
    let graph = random_graph(sizes)?;
    let path = std::env::temp_dir().join(format!("skolem-bench-{}", std::process::id()));
    let plan = Plan {
        graph: &graph,
        config,
        limit: Limit::Updates(sizes.updates as u64),
        examples: None,
        tests: Vec::new(),
        folder: &Folder::at(&path),
        resume: false,
        cancelled: &AtomicBool::new(false),
    };
    let outcome = train(plan, |_| ());
    // Whether it worked or not, nothing is to be left behind.
    let removed = std::fs::remove_dir_all(&path);
    let outcome = outcome?;
    removed.with_context(|| path.display().to_string())?;
    let seconds = vec![outcome.seconds / sizes.updates as f64];
    Ok(Measured { seconds, flops: 0.0, plain_flops: 0.0, peak: None, memory: None })
}

/// 20 edges an entity, about as FB15k-237 has.
fn random_graph(sizes: &Sizes) -> Result<Graph> {
    let (mut builder, mut rng) = (GraphBuilder::default(), Rng::new(1));
    let numbered =
        |count: usize, kind: &'static str| (0..count).map(move |at| format!("{kind} {at}"));
    let entities = numbered(sizes.entities, "entity").map(|name| builder.entity(&name));
    let entities = entities.collect::<skolem_kg::Result<Vec<_>>>()?;
    let relations = numbered(sizes.relations.div_ceil(2), "relation");
    let relations = relations.map(|name| builder.relation(&name));
    let relations = relations.collect::<skolem_kg::Result<Vec<_>>>()?;
    for _ in 0..20 * entities.len() {
        let [head, tail] = [0, 1].map(|_| entities[rng.below(entities.len())]);
        builder.edge(Split::Train, head, relations[rng.below(relations.len())], tail);
    }
    Ok(builder.finish()?.0)
}

/// The most memory that this process has had in use, where the system tells.
pub fn most_memory() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024.0 * line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()?)
}
