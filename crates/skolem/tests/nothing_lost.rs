//! Numbers that go out of hand are caught in the update that meets them, and named; what was learnt
//! before it stays.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use safetensors::SafeTensors;
use skolem::Error;
use skolem::config::Config;
use skolem::model::{Kind, Logic, Model, Weights};
use skolem::store::Folder;
use skolem::store::checkpoint::{self, Checkpoint, Entry};
use skolem::train::batch::Batch;
use skolem::train::feed::Source;
use skolem::train::run::{Limit, Plan, train};
use skolem::train::update::{Learner, Moments};
use skolem_kg::rng::Rng;
use skolem_kg::{Graph, GraphBuilder, Split};
use skolem_nn::optim::Step;

const RATE: f64 = 0.01;
/// Updates before something goes wrong; the next one has intersections in the turns of `paper`, too.
const BEFORE: u64 = 7;

fn graph() -> Graph {
    let (mut builder, mut rng) = (GraphBuilder::default(), Rng::new(7));
    for _ in 0..600 {
        let [head, tail] = [0, 1].map(|_| format!("e{}", rng.below(60)));
        builder.edge_named(Split::Train, &head, &format!("r{}", rng.below(4)), &tail).unwrap();
    }
    builder.finish().unwrap().0
}

/// Small models of every kind: recipe, bounds.
fn configs() -> impl Iterator<Item = Config> {
    [("fast", false), ("fast", true), ("paper", false), ("paper", true)].into_iter().map(
        |(recipe, bounds)| {
            let mut config = Config::recipe(recipe).unwrap();
            let Kind::Logic(model) = &mut config.model else { panic!("another kind") };
            (model.dim, model.hidden, model.bounds) = (6, 10, bounds);
            (model.depth, model.attention) = (2, true);
            config.train.batch = 16;
            config.train.negatives = config.train.negatives.min(8);
            // With points a few shared negatives, with bounds all entities.
            config.train.shared =
                if bounds { config.train.shared } else { config.train.shared.min(8) };
            config.save.seconds = 0.0;
            config
        },
    )
}

fn learner(config: &Config, graph: &Graph) -> Learner<f32, Logic> {
    let Kind::Logic(model) = config.model.clone() else { panic!("another kind") };
    let counts = (graph.entity_count(), graph.relation_count());
    let weights = model.weights(counts.0, counts.1, &mut Rng::new(config.train.seed));
    let moments = Moments::new(&weights);
    Learner::new(model, weights, moments, config.rules().unwrap())
}

/// After some updates, with the batch that comes next; and after that one.
fn learnt(config: &Config, graph: &Graph) -> (Learner<f32, Logic>, Learner<f32, Logic>, Batch) {
    let (source, missing) = Source::new(graph, config, None).unwrap();
    assert!(missing.is_empty());
    let mut all = [learner(config, graph), learner(config, graph)];
    for number in 0..BEFORE {
        let batch = source.batch(number).unwrap();
        for one in &mut all {
            one.update(&batch, RATE, number + 1).unwrap();
        }
    }
    let [before, mut after] = all;
    let batch = source.batch(BEFORE).unwrap();
    after.update(&batch, RATE, BEFORE + 1).unwrap();
    (before, after, batch)
}

/// Makes up for what entities of a batch wait for, which is no part of an update.
fn catch_up(learner: &mut Learner<f32, Logic>, batch: &Batch) {
    let (adam, rate) = (learner.rules.adam, RATE * learner.rules.entity_rate);
    if learner.rules.lazy {
        let step = Step { adam, number: BEFORE + 1, rate };
        learner.catch_up(Some(&batch.named), step);
    }
}

fn copy(learner: &Learner<f32, Logic>) -> Learner<f32, Logic> {
    let Learner { model, weights, moments, rules, .. } = learner;
    Learner::new(model.clone(), weights.clone(), moments.clone(), rules.clone())
}

/// Everything that an update may change, bit for bit.
fn bits(learner: &Learner<f32, Logic>) -> (Vec<u32>, Vec<u32>, u64) {
    let Learner { weights, moments, .. } = learner;
    let moments_of = moments.m.iter().chain(&moments.v);
    let all = weights.all().map(|tensor| &tensor.data).chain(moments_of);
    let numbers = all.flatten().map(|number| number.to_bits()).collect();
    (numbers, moments.seen.clone(), moments.steps)
}

/// A place of each tensor that a batch needs.
fn places(weights: &Weights<f32>, batch: &Batch) -> Vec<(String, usize)> {
    let width = |shape: &[usize]| shape[1];
    let entity = batch.named[batch.named.len() / 2] as usize;
    let relation = batch.program.relations[0].index();
    weights
        .all()
        .map(|tensor| {
            let at = match &tensor.name[..] {
                "entities" => entity * width(&tensor.shape) + 1,
                "relations" => relation * width(&tensor.shape) + 1,
                _ => tensor.data.len() / 2,
            };
            (tensor.name.clone(), at)
        })
        .collect()
}

fn number<'a>(learner: &'a mut Learner<f32, Logic>, (name, at): &(String, usize)) -> &'a mut f32 {
    let mut tensors = learner.weights.all_mut();
    &mut tensors.find(|tensor| tensor.name == *name).unwrap().data[*at]
}

#[test]
fn a_number_that_is_none_is_caught_at_once_and_changes_nothing() {
    let graph = graph();
    for config in configs() {
        let (mut learner, after, batch) = learnt(&config, &graph);
        catch_up(&mut learner, &batch);
        let places = places(&learner.weights, &batch);
        assert_eq!(places.len(), 2 + 6 + 4, "entities, relations, projection, attention");
        for place in &places {
            for poison in [f32::NAN, -f32::NAN] {
                let sound = std::mem::replace(number(&mut learner, place), poison);
                let before = bits(&learner);
                let failed = learner.update(&batch, RATE, BEFORE + 1);
                let case = format!("{} {} in {}", config.train.recipe, poison, place.0);
                let Err(Error::Diverged { update, what }) = failed else {
                    panic!("{case}: {failed:?}")
                };
                assert_eq!(update, BEFORE + 1);
                assert!(what.contains(&format!("'{}'", place.0)), "{case}: {what}");
                assert!(bits(&learner) == before, "{case}: something changed");
                *number(&mut learner, place) = sound;
            }
        }
        // Buffers that held the bad numbers are of no harm either.
        learner.update(&batch, RATE, BEFORE + 1).unwrap();
        assert!(bits(&learner) == bits(&after));
    }
}

/// A failed update, tried again, does what it would have done; entities wait for their momentum.
#[test]
fn an_update_that_failed_may_be_tried_again() {
    let graph = graph();
    for config in configs() {
        let (mut learner, after, batch) = learnt(&config, &graph);
        for place in places(&learner.weights, &batch).iter().skip(1) {
            let sound = std::mem::replace(number(&mut learner, place), f32::NAN);
            learner.update(&batch, RATE, BEFORE + 1).unwrap_err();
            *number(&mut learner, place) = sound;
        }
        learner.update(&batch, RATE, BEFORE + 1).unwrap();
        assert!(bits(&learner) == bits(&after));
    }
}

/// A huge number need not be wrong; but then all numbers stay sound.
#[test]
fn a_huge_number_is_caught_or_does_no_harm() {
    let graph = graph();
    let mut caught = 0;
    for config in configs() {
        let (mut learner, _, batch) = learnt(&config, &graph);
        catch_up(&mut learner, &batch);
        for place in &places(&learner.weights, &batch) {
            for huge in
                [1e10, -1e20, 1e30, -1e38, f32::MAX, f32::MIN, f32::INFINITY, -f32::INFINITY]
            {
                let mut learner = copy(&learner);
                *number(&mut learner, place) = huge;
                let before = bits(&learner);
                match learner.update(&batch, RATE, BEFORE + 1) {
                    Err(Error::Diverged { .. }) => {
                        caught += 1;
                        assert!(bits(&learner) == before, "{huge} in {}", place.0);
                    }
                    done => assert!(done.unwrap().is_finite()),
                }
                if number(&mut learner, place).is_infinite() {
                    // As it was; it must not have spread.
                    *number(&mut learner, place) = 0.0;
                }
                let Learner { weights, moments, .. } = &learner;
                assert_eq!(weights.broken(), None, "{huge} in {}", place.0);
                let mut moments = moments.m.iter().chain(&moments.v).flatten();
                assert!(moments.all(|number| number.is_finite()), "{huge} in {}", place.0);
            }
        }
    }
    assert!(caught > 0);
}

/// The best of the roots of a union hides none of them.
#[test]
fn every_part_of_a_union_is_looked_at() {
    let graph = graph();
    for mut config in configs() {
        config.mix = BTreeMap::from([("2u".to_owned(), 1.0)]);
        let (mut learner, after, batch) = learnt(&config, &graph);
        let width = config.model.relation_width();
        for relation in batch.program.relations.clone() {
            let place = ("relations".to_owned(), relation.index() * width);
            let sound = std::mem::replace(number(&mut learner, &place), f32::NAN);
            learner.update(&batch, RATE, BEFORE + 1).unwrap_err();
            *number(&mut learner, &place) = sound;
        }
        learner.update(&batch, RATE, BEFORE + 1).unwrap();
        assert!(bits(&learner) == bits(&after));
    }
}

#[test]
fn a_loss_above_the_limit_is_refused() {
    let graph = graph();
    for config in configs() {
        let (mut learner, after, batch) = learnt(&config, &graph);
        learner.rules.most_loss = 1e-3;
        let message = learner.update(&batch, RATE, BEFORE + 1).unwrap_err().to_string();
        assert!(message.starts_with("learning diverged at update 8: the loss is "), "{message}");
        assert!(message.contains("above train.most_loss"), "{message}");
        learner.rules.most_loss = 1e4;
        learner.update(&batch, RATE, BEFORE + 1).unwrap();
        assert!(bits(&learner) == bits(&after));
    }
}

/// The tensors of a file, with their shapes.
fn tensors(path: &Path) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let floats =
        |bytes: &[u8]| bytes.chunks(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    let all = file.tensors().into_iter();
    all.map(|(name, view)| (name, (view.shape().to_vec(), floats(view.data())))).collect()
}

fn same(
    a: &BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    b: &BTreeMap<String, (Vec<usize>, Vec<f32>)>,
) -> bool {
    let bits = |of: &BTreeMap<String, (Vec<usize>, Vec<f32>)>| {
        let numbers = of.iter().flat_map(|(_, (_, data))| data);
        numbers.map(|number| number.to_bits()).collect::<Vec<_>>()
    };
    a.keys().eq(b.keys()) && bits(a) == bits(b)
}

/// A whole run that meets a NaN ends there; its folder keeps what it had.
#[test]
fn a_run_that_meets_nan_keeps_its_state() {
    let graph = graph();
    let (folder, cancelled) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    for (at, mut config) in configs().enumerate() {
        config.evaluate.times = 0;
        let folder = Folder::at(folder.path().join(at.to_string()));
        let run = |updates, resume| {
            let limit = Limit::Updates(updates);
            let (examples, tests, cancelled) = (None, Vec::new(), &cancelled);
            let folder = &folder;
            let plan = Plan {
                graph: &graph,
                config: &config,
                limit,
                examples,
                tests,
                folder,
                resume,
                cancelled,
            };
            train(plan, |_| ())
        };
        run(BEFORE, false).unwrap();
        let (state, weights) =
            (folder.file("state.safetensors"), folder.file("weights.safetensors"));
        let sound = tensors(&state);
        let published = std::fs::read(&weights).unwrap();
        for name in ["entities", "relations", "projection.first.bias", "attention.last.weight"] {
            let mut poisoned = sound.clone();
            poisoned.get_mut(name).unwrap().1.fill(f32::NAN);
            let meta = Checkpoint::read(&state).unwrap().meta;
            let entries: Vec<Entry<'_>> = poisoned
                .iter()
                .map(|(name, (shape, data))| Entry {
                    name: name.clone(),
                    shape: shape.clone(),
                    data,
                })
                .collect();
            checkpoint::write(&state, &entries, &meta).unwrap();
            let failed = run(2 * BEFORE, true).unwrap_err();
            let Error::Diverged { update, what } = &failed else { panic!("{failed}") };
            assert_eq!(*update, BEFORE + 1);
            assert!(what.contains(&format!("'{name}'")), "{what}");
            assert!(same(&tensors(&state), &poisoned), "{name}");
            assert_eq!(std::fs::read(&weights).unwrap(), published);
        }
    }
}
