//! A whole run: from a graph to a model's folder, saved on the way, and resumed bit for bit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use skolem_kg::Graph;
use skolem_kg::rng::Rng;
use skolem_kg::store::{remove_partial, write_atomically};

use super::feed::{AHEAD, Example, Source};
use super::first::from_graph;
use super::update::{Learner, Moments};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::evaluate::{Report, Test, evaluate};
use crate::model::{Layer, Model, with_model};
use crate::program::Union;
use crate::store::checkpoint::{self, Checkpoint, Entry, Meta};
use crate::store::metrics::{Log, Row};
use crate::store::{About, Folder, STATE, card, entries_of, take_weights};

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// After this many updates.
    Updates(u64),
    /// After this many seconds of learning.
    Seconds(f64),
}

impl Limit {
    /// The share of the run that is done.
    fn progress(self, update: u64, seconds: f64) -> f64 {
        match self {
            Limit::Updates(0) => 1.0,
            Limit::Updates(all) => update as f64 / all as f64,
            Limit::Seconds(all) => seconds / all.max(1e-9),
        }
    }
}

/// What a run is made of.
pub struct Plan<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The settings.
    pub config: &'a Config,
    /// When it ends.
    pub limit: Limit,
    /// Queries to learn from; sampled from the graph if there are none.
    pub examples: Option<Vec<Example>>,
    /// Queries to measure progress with.
    pub tests: Vec<Test>,
    /// Where the model goes.
    pub folder: &'a Folder,
    /// Whether to go on from the folder's state.
    pub resume: bool,
    /// Becomes true when the run is to end early.
    pub cancelled: &'a AtomicBool,
}

/// What a run reports as it goes.
pub enum Event<'a> {
    /// Learning begins, at this update.
    Start {
        /// Updates that are done already.
        update: u64,
        /// Number of weights.
        weights: usize,
        /// Shapes of the mix that there are no queries of.
        missing: &'a [String],
        /// Shapes of the recipe that this kind of model cannot learn.
        left_out: &'a [&'static str],
    },
    /// An update was made.
    Update(Moment),
    /// Progress was measured.
    Evaluated {
        /// When.
        at: Moment,
        /// The figures.
        report: &'a Report,
        /// Whether they are the best so far.
        best: bool,
    },
    /// The state was saved.
    Saved(Moment),
}

/// Where a run is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moment {
    /// Updates made.
    pub update: u64,
    /// Seconds of learning.
    pub seconds: f64,
    /// The share of the run that is done.
    pub progress: f64,
    /// The mean loss of late.
    pub loss: f64,
    /// The learning rate.
    pub rate: f64,
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Updates made in all.
    pub update: u64,
    /// Seconds of learning in all.
    pub seconds: f64,
    /// Seconds of these that learning waited for batches.
    pub waited: f64,
    /// The best MRR on valid queries, and the update it was reached at.
    pub best: Option<(f64, u64)>,
    /// Whether it was ended early from outside.
    pub cancelled: bool,
    /// Whether it ended since the MRR did not get better any more.
    pub stopped_early: bool,
}

/// What a run remembers besides weights and moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Progress {
    update: u64,
    seconds: f64,
    resets: u64,
    steps: u64,
    /// Evaluations made, and those since the best.
    evaluations: u64,
    stale: u64,
    best: Option<(f64, u64)>,
    loss: f64,
    rate: f64,
    /// Rows of the log.
    rows: usize,
    done: bool,
}

/// Share of the old mean that each update keeps.
const MEMORY: f64 = 0.98;
/// Updates between two rows of the log.
const LOGGED: u64 = 100;

/// Learns a model.
pub fn train(plan: Plan<'_>, tell: impl FnMut(Event<'_>) + Send) -> Result<Outcome> {
    check(plan.graph, plan.config)?;
    with_model!(&plan.config.model, |model| learn(model, plan, tell))
}

/// Learns a model of this kind.
fn learn<M: Model<f32>>(
    model: &M,
    plan: Plan<'_>,
    mut tell: impl FnMut(Event<'_>) + Send,
) -> Result<Outcome> {
    let Plan { graph, config, limit, examples, tests, folder, resume, cancelled } = plan;
    let given = examples.as_ref().map(Vec::len);
    let (source, missing) = Source::new(graph, config, examples)?;
    let mut run = match resume {
        true => Run::resume(graph, folder, config, model, limit, given)?,
        // Nothing is there yet that would be worth keeping.
        false if cancelled.load(Ordering::Relaxed) => return Err(Error::Stopped),
        false => {
            let about = folder.create(graph, config, limit, given)?;
            Run::start(graph, folder, about, config, model)?
        }
    };
    let mut log = Log::open(folder.path(), run.at.update, run.at.rows)?;
    let weights = run.learner.weights.len();
    let left_out = &config.left_out()[..];
    tell(Event::Start { update: run.at.update, weights, missing: &missing, left_out });
    let threads = feeders();
    std::thread::scope(|scope| {
        let mut feed = source.start(scope, threads, run.at.update)?;
        // On a thread of the pool: one outside it would sleep and be woken at every piece of work.
        let ended = rayon::scope(|_| {
            run.go(config, limit, &tests, &mut log, cancelled, &mut tell, || feed.next())
        });
        // Dropping the feed ends its threads.
        drop(feed);
        ended
    })
}

struct Run<M: Model<f32>> {
    folder: Folder,
    about: About,
    learner: Learner<f32, M>,
    at: Progress,
    report: Option<Report>,
}

impl<M: Model<f32>> Run<M> {
    fn start(
        graph: &Graph,
        folder: &Folder,
        about: About,
        config: &Config,
        model: &M,
    ) -> Result<Run<M>> {
        let mut rng = Rng::stream(config.train.seed, 0x7765_6967_6874, 0);
        let mut weights = model.weights(about.entities, about.relations, &mut rng);
        if let Some(spread) = model.spread_from_graph() {
            let width = model.entity_width();
            let entities = &mut weights.entities.data;
            let edges = graph.edges(config.train.split()?)?;
            *entities = from_graph(edges, width, spread, config.train.seed);
            entities.chunks_mut(width).for_each(|entity| model.repair(entity));
        }
        let moments = Moments::new(&weights);
        let learner = Learner::new(model.clone(), weights, moments, config.rules()?);
        let (folder, at) = (folder.clone(), Progress::default());
        Ok(Run { folder, about, learner, at, report: None })
    }

    fn resume(
        graph: &Graph,
        folder: &Folder,
        config: &Config,
        model: &M,
        limit: Limit,
        examples: Option<usize>,
    ) -> Result<Run<M>> {
        let (mut about, _) = folder.description()?;
        check_examples(about.examples, examples)?;
        // Written before anything but the new limit: what is damaged stays as it is.
        let state = folder.file(STATE);
        let (before, is_saved) = (about.limit, state.exists());
        about.limit = limit;
        let run = match is_saved {
            true => Run::saved(folder, about, config, model)?,
            // Killed before the first checkpoint: the start is as good as any.
            false => Run::start(graph, folder, about, config, model)?,
        };
        remove_partial(folder.path())?;
        if before != limit {
            folder.describe(&run.about, config)?;
        }
        Ok(run)
    }

    /// The state that was saved last.
    fn saved(folder: &Folder, about: About, config: &Config, model: &M) -> Result<Run<M>> {
        let path = folder.file(STATE);
        let mut file = Checkpoint::read(&path)?;
        let wrong =
            |what: &str| Error::corrupt(&path, format!("{what}; start anew in another folder"));
        let text =
            file.meta.get("progress").ok_or_else(|| wrong("it says nothing of its progress"))?;
        let mut at: Progress =
            toml::from_str(text).map_err(|_| wrong("its progress makes no sense"))?;
        // A longer run than it was begun as has evaluations and resets to come that count as made.
        let progress = about.limit.progress(at.update, at.seconds);
        at.evaluations = at.evaluations.min(due(progress, config.evaluate.times));
        at.resets = at.resets.min(config.schedule()?.resets(progress));
        let weights = take_weights(&mut file, model, &about)?;
        let mut take = |prefix: &str| -> Result<Vec<Vec<f32>>> {
            let tensors = weights.all();
            tensors
                .map(|tensor| file.take(&format!("{prefix}{}", tensor.name), &tensor.shape))
                .collect()
        };
        let (m, v) = (take("m.")?, take("v.")?);
        let seen = file.take("seen", &[about.entities])?.into_iter().map(f32::to_bits).collect();
        let moments = Moments { m, v, seen, steps: at.steps };
        let learner = Learner::new(model.clone(), weights, moments, config.rules()?);
        Ok(Run { folder: folder.clone(), about, learner, at, report: None })
    }

    /// Saves all that going on needs.
    fn save(&self) -> Result<()> {
        let Learner { weights, moments, .. } = &self.learner;
        // The bits of whole numbers: as numbers of this type they would be rounded above 2²⁴.
        let seen: &[f32] = bytemuck::cast_slice(&moments.seen);
        let mut entries = entries_of(weights);
        for (prefix, all) in [("m.", &moments.m), ("v.", &moments.v)] {
            for (tensor, data) in weights.all().zip(all) {
                let name = format!("{prefix}{}", tensor.name);
                entries.push(Entry { name, shape: tensor.shape.clone(), data });
            }
        }
        entries.push(Entry { name: "seen".into(), shape: vec![seen.len()], data: seen });
        let at = Progress { steps: moments.steps, ..self.at.clone() };
        // Unlike JSON's, its numbers come back to the last bit.
        let progress = toml::to_string(&at)
            .map_err(|error| Error::Setting(format!("the progress cannot be written: {error}")))?;
        let meta = Meta::from([("progress".into(), progress)]);
        checkpoint::write(&self.folder.file(STATE), &entries, &meta)
    }

    /// Puts the log on the disk, and the state that goes with it.
    fn checkpoint(&mut self, log: &mut Log) -> Result<()> {
        log.sync()?;
        self.at.rows = log.len();
        self.save()
    }

    /// Writes the weights that the model is used with, and its card.
    fn publish(&self, config: &Config) -> Result<()> {
        let meta = Meta::from([("update".into(), self.at.update.to_string())]);
        self.folder.write_weights(&self.learner.weights, &meta)?;
        let text = card(&self.about, config, self.at.update, self.at.seconds, self.report.as_ref());
        Ok(write_atomically(&self.folder.file("README.md"), |out| out.write_all(text.as_bytes()))?)
    }

    fn moment(&self, limit: Limit) -> Moment {
        let Progress { update, seconds, loss, rate, .. } = self.at;
        Moment { update, seconds, progress: limit.progress(update, seconds), loss, rate }
    }

    #[allow(clippy::too_many_arguments)]
    fn go(
        &mut self,
        config: &Config,
        limit: Limit,
        tests: &[Test],
        log: &mut Log,
        cancelled: &AtomicBool,
        tell: &mut impl FnMut(Event<'_>),
        mut next: impl FnMut() -> Result<super::batch::Batch>,
    ) -> Result<Outcome> {
        let schedule = config.schedule()?;
        let evaluations = if tests.is_empty() { 0 } else { config.evaluate.times };
        let (clock, before) = (Instant::now(), self.at.seconds);
        let mut saved = Instant::now();
        let (mut waited, mut stopped_early) = (Duration::ZERO, false);
        self.at.done = false;
        loop {
            let progress = limit.progress(self.at.update, self.at.seconds);
            let passed = due(progress, evaluations);
            if passed > self.at.evaluations && self.at.update > 0 {
                let report = match self.evaluate(tests, cancelled) {
                    Err(Error::Stopped) => break,
                    report => report?,
                };
                self.at.evaluations = passed;
                let mrr = report.mrr().unwrap_or_default();
                let best = self.at.best.is_none_or(|(best, _)| mrr > best);
                (self.at.best, self.at.stale) = match best {
                    true => (Some((mrr, self.at.update)), 0),
                    false => (self.at.best, self.at.stale + 1),
                };
                let at = self.moment(limit);
                log.add(&row(&at, Some(&report)))?;
                tell(Event::Evaluated { at, report: &report, best });
                self.report = Some(report);
                if best {
                    self.publish(config)?;
                }
                stopped_early =
                    config.evaluate.patience > 0 && self.at.stale >= config.evaluate.patience;
            }
            if progress >= 1.0 || stopped_early || cancelled.load(Ordering::Relaxed) {
                break;
            }
            if schedule.resets(progress) > self.at.resets {
                self.at.resets = schedule.resets(progress);
                self.learner.settle(self.at.rate);
                self.learner.moments = Moments::new(&self.learner.weights);
            }
            let warm = (self.at.update + 1) as f64 / config.train.warmup.max(1) as f64;
            let rate = config.train.rate * schedule.share(progress) * warm.min(1.0);
            let waiting = Instant::now();
            let batch = next()?;
            waited += waiting.elapsed();
            let loss = match self.learner.update(&batch, rate, self.at.update + 1) {
                Ok(loss) => loss,
                Err(error) => {
                    // Nothing of the bad update was applied: what is saved is the last good state.
                    self.checkpoint(log)?;
                    return Err(error);
                }
            };
            self.at.loss = match self.at.update {
                0 => loss,
                _ => MEMORY * self.at.loss + (1.0 - MEMORY) * loss,
            };
            self.at.rate = rate;
            self.at.update += 1;
            self.at.seconds = before + clock.elapsed().as_secs_f64();
            let at = self.moment(limit);
            if self.at.update.is_multiple_of(LOGGED) {
                log.add(&row(&at, None))?;
            }
            tell(Event::Update(at));
            if saved.elapsed().as_secs_f64() >= config.save.seconds {
                self.checkpoint(log)?;
                tell(Event::Saved(at));
                saved = Instant::now();
            }
        }
        let cancelled = cancelled.load(Ordering::Relaxed);
        // With evaluations, the best weights are there already.
        if !cancelled && (evaluations == 0 || self.at.best.is_none()) {
            self.learner.settle(self.at.rate);
            self.publish(config)?;
        }
        self.at.done = !cancelled;
        self.checkpoint(log)?;
        if cancelled && self.at.update > 0 && !self.folder.has_weights() {
            // What there is may be used, too. It is settled after it was saved: momentum that is
            // taken early would change how learning goes on.
            self.learner.settle(self.at.rate);
            self.publish(config)?;
        }
        tell(Event::Saved(self.moment(limit)));
        let Progress { update, seconds, best, .. } = self.at;
        let waited = waited.as_secs_f64();
        Ok(Outcome { update, seconds, waited, best, cancelled, stopped_early })
    }

    fn evaluate(&mut self, tests: &[Test], cancelled: &AtomicBool) -> Result<Report> {
        self.learner.settle(self.at.rate);
        let Learner { model, weights, .. } = &self.learner;
        evaluate(model, weights, tests.iter().map(Ok), Union::Disjuncts, |_| {
            match cancelled.load(Ordering::Relaxed) {
                true => Err(Error::Stopped),
                false => Ok(()),
            }
        })
    }
}

fn row(at: &Moment, report: Option<&Report>) -> Row {
    let shapes = report.map(|report| {
        report.shapes.iter().map(|(shape, of)| (shape.clone(), of.mrr)).collect::<BTreeMap<_, _>>()
    });
    Row {
        update: at.update,
        seconds: at.seconds,
        loss: Some(at.loss),
        rate: at.rate,
        mrr: report.and_then(Report::mrr),
        epfo: report.and_then(Report::epfo).map(|of| of.mrr),
        negation: report.and_then(Report::negation).map(|of| of.mrr),
        shapes: shapes.unwrap_or_default(),
    }
}

/// How many of the evaluations of a run are due: one whenever its share passes the next of as many even
/// parts; the last is the end.
fn due(progress: f64, evaluations: u64) -> u64 {
    ((progress.min(1.0) + 1e-9) * evaluations as f64) as u64
}

/// Refuses a run that cannot be, before any work is done for it.
pub fn check(graph: &Graph, config: &Config) -> Result<()> {
    config.check()?;
    let split = config.train.split()?;
    if graph.entity_count() == 0 || graph.edges(split)?.edge_count() == 0 {
        return Err(Error::Setting(format!("the graph has no {split} edges to learn from")));
    }
    check_memory(config, graph)
}

/// Refuses to go on with other queries than a run was begun with.
fn check_examples(before: Option<usize>, now: Option<usize>) -> Result<()> {
    let refused = |what: &str| Err(Error::Setting(what.into()));
    match (before, now) {
        _ if before == now => Ok(()),
        (Some(_), None) => refused("the model learns from query sets: name them with --queries"),
        (None, Some(_)) => refused("the model learns from sampled queries: leave --queries out"),
        _ => refused("these are not the query sets that the model has learnt from so far"),
    }
}

/// Refuses a run that the machine has no memory for, before it starts.
fn check_memory(config: &Config, graph: &Graph) -> Result<()> {
    let needed = memory_needed(config, graph.entity_count(), graph.relation_count());
    let Some(free) = memory_free() else { return Ok(()) };
    let most = f64::from(u32::MAX);
    let own = config.train.positives.min(graph.entity_count()) + config.train.negatives;
    if config.train.batch as f64 * own as f64 > most {
        return Err(Error::Setting(
            "train.batch × (train.positives + train.negatives) is above 2³²: lower one of them"
                .into(),
        ));
    }
    let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
    match needed > free {
        true => Err(Error::Setting(format!(
            "this takes about {:.0} MiB of memory and {:.0} MiB are free: lower model.dim, model.hidden, \
             train.batch or train.shared, or leave shapes with many operands out of the mix",
            mebibytes(needed),
            mebibytes(free)
        ))),
        false => Ok(()),
    }
}

/// About how many bytes learning takes.
pub fn memory_needed(config: &Config, entities: usize, relations: usize) -> f64 {
    let Config { model, train, .. } = config;
    let [w, entity, relation] =
        [model.width(), model.entity_width(), model.relation_width()].map(|size| size as f64);
    let [n, relations] = [entities, relations].map(|count| count as f64);
    let layers = model.layers();
    let sum = |of: fn(&Layer) -> f64| layers.iter().map(of).sum::<f64>();
    let dense = sum(|layer| layer.input as f64 * layer.output as f64);
    let outputs = sum(|layer| layer.output as f64);
    // Weights with two moments, and the gradients of the networks.
    let weights = 3.0 * (n * entity + relations * relation) + 4.0 * dense;
    let operands =
        |shape: &str| shape.parse::<skolem_kg::Shape>().map_or(1.0, |shape| size_of_shape(&shape));
    let widest = config.mix.keys().map(|shape| operands(shape)).fold(1.0, f64::max);
    // Rows of a batch: values, inputs, what layers give, and their gradients.
    let rows = train.batch as f64 * widest * (5.0 * w + 2.0 * outputs);
    let [batch, positives, negatives, shared] =
        [train.batch, train.positives.min(entities), train.negatives, train.shared.min(entities)]
            .map(|size| size as f64);
    let own = batch * (positives + negatives);
    // Distances as bytes give them, and scores; the bytes of the entities, or what makes them ready.
    let ready = with_model!(model, |model| Model::<f32>::ready_width(model)).unwrap_or(0) as f64;
    let scores = own + 2.0 * batch * shared + n * (entity / 4.0 + ready);
    // Batches that are made ahead: the nodes of their queries, and the entities they are scored against.
    let ahead = (feeders() * (AHEAD + 1) + 1) as f64 * (16.0 * batch * widest + 6.0 * own);
    4.0 * (weights + rows + scores + ahead)
}

/// Threads that make batches.
fn feeders() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).min(4)
}

fn size_of_shape(shape: &skolem_kg::Shape) -> f64 {
    use skolem_kg::Shape;
    match shape {
        Shape::Anchor => 1.0,
        Shape::Follow(inner) | Shape::Not(inner) => 1.0 + size_of_shape(inner),
        Shape::And(parts) | Shape::Or(parts) => 1.0 + parts.iter().map(size_of_shape).sum::<f64>(),
    }
}

/// Bytes of memory that are free, where the system tells.
fn memory_free() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(1024.0 * line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()?)
}
