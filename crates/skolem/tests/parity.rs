//! LogicE computes what the paper's published program computes: embeddings, scores, losses, gradients and
//! whole optimiser steps, for every t-norm, with and without bounds and attention.
//!
//! `golden/logice.safetensors` holds numbers that the program printed on a tiny model, and the queries in
//! set logic as JSON in its header.

// Tests may unwrap.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use safetensors::SafeTensors;
use serde_json::Value;
use skolem::model::{Logic, Model, Tensor, Weights};
use skolem::pass::Pass;
use skolem::program::{Program, Union};
use skolem::train::batch::{Batch, Item, Shared};
use skolem::train::update::{Learner, Moments, Rules};
use skolem_kg::Query;
use skolem_kg::query::{names::Numbers, text::parse};
use skolem_kg::rng::Rng;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::loss::Loss;
use skolem_nn::op::tnorm::TNorm;
use skolem_nn::optim::Adam;

const GOLDEN: &[u8] = include_bytes!("golden/logice.safetensors");

struct Golden {
    numbers: HashMap<String, Vec<f32>>,
    modes: Vec<Value>,
}

fn golden() -> Golden {
    let (_, header) = SafeTensors::read_metadata(GOLDEN).unwrap();
    let modes = serde_json::from_str(&header.metadata().as_ref().unwrap()["modes"]).unwrap();
    let file = SafeTensors::deserialize(GOLDEN).unwrap();
    let floats =
        |bytes: &[u8]| bytes.chunks(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
    let numbers =
        file.tensors().into_iter().map(|(name, view)| (name, floats(view.data()))).collect();
    Golden { numbers, modes }
}

/// One mode of the model and what the program printed for it.
struct Case<'a> {
    golden: &'a Golden,
    number: usize,
    mode: &'a Value,
    model: Logic,
}

impl Golden {
    fn cases(&self) -> impl Iterator<Item = Case<'_>> {
        self.modes.iter().enumerate().map(|(number, mode)| {
            let setting = &mode["mode"];
            let flag = |name: &str| setting[name] == 1;
            let model = Logic {
                dim: mode["dim"].as_u64().unwrap() as usize,
                hidden: setting["hidden"].as_u64().unwrap() as usize,
                depth: 2,
                tnorm: match setting["tnorm"].as_str().unwrap() {
                    "luk" => TNorm::Lukasiewicz,
                    "prod" => TNorm::Product,
                    _ => TNorm::Minimum,
                },
                bounds: flag("bounded"),
                attention: flag("att"),
                transparent: flag("gtrans"),
                ..Logic::default()
            };
            Case { golden: self, number, mode, model }
        })
    }
}

impl Case<'_> {
    fn numbers(&self, name: &str) -> Option<&Vec<f32>> {
        self.golden.numbers.get(&format!("{}.{name}", self.number))
    }

    fn weights(&self) -> Weights<f32> {
        let count = |name: &str| self.mode[name].as_u64().unwrap() as usize;
        let mut weights: Weights<f32> =
            self.model.weights(count("entities"), count("relations"), &mut Rng::new(0));
        for tensor in weights.all_mut() {
            let given = self.numbers(&format!("params.{}", tensor.name)).unwrap();
            assert_eq!(given.len(), tensor.data.len(), "{}", tensor.name);
            tensor.data.clone_from(given);
        }
        weights
    }

    fn learner(&self) -> Learner<f32, Logic> {
        let weights = self.weights();
        let moments = Moments::new(&weights);
        let rules = Rules {
            loss: Loss::Sigmoid,
            smoothing: 0.0,
            seed: 0,
            precision: Precision::F32,
            threshold: 0.0,
            dropout: 0.0,
            negligible: 0.0,
            coarse: false,
            entity_rate: 1.0,
            adam: Adam::default(),
            lazy: false,
            most_loss: 1e6,
        };
        Learner::new(self.model.clone(), weights, moments, rules)
    }

    fn say(&self, what: &str) -> String {
        format!("{} {what}", self.mode["mode"])
    }
}

fn ids(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn queries(case: &Value) -> Vec<Query> {
    let texts = case["queries"].as_array().unwrap().iter();
    let de_morgan = case["shape"].as_str().unwrap().ends_with("DM");
    texts
        .map(|text| {
            let query = parse(text.as_str().unwrap(), &Numbers).unwrap();
            if de_morgan { query.without_unions() } else { query }
        })
        .collect()
}

fn batch(case: &Value, weights: &[f32]) -> Batch {
    let positives = ids(&case["positive"]);
    let negatives: Vec<_> = case["negative"].as_array().unwrap().iter().map(ids).collect();
    let items: Vec<Item> = queries(case)
        .into_iter()
        .enumerate()
        .map(|(at, query)| Item {
            query,
            weight: weights[at],
            positives: vec![positives[at]],
            negatives: negatives[at].clone(),
            left_out: vec![],
        })
        .collect();
    Batch::new(&items, Shared::Listed(vec![])).unwrap()
}

/// Compares with an error relative to the larger of 1 and the number.
fn close(found: &[f32], expected: &[f32], most: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error <= most, "{what} [{at}]: {found} but {expected}");
    }
}

#[test]
fn embeddings_and_scores() {
    let golden = golden();
    let mut compared = 0;
    for case in golden.cases() {
        let weights = case.weights();
        for (at, shape) in case.mode["cases"].as_array().unwrap().iter().enumerate() {
            let what = case.say(shape["shape"].as_str().unwrap());
            let program = Program::compile(&queries(shape), Union::Disjuncts).unwrap();
            let mut pass = Pass::default();
            pass.forward(&case.model, &weights, &program);
            if let Some(expected) = case.numbers(&format!("{at}.query_embedding")) {
                close(&pass.roots, expected, 1e-5, &what);
                compared += 1;
            }
            let count = weights.entities.shape[0];
            let mut scores = vec![0.0; program.roots.len() * count];
            case.model.scores(&pass.roots, &weights.entities.data, &mut scores);
            let best: Vec<f32> = (0..program.len())
                .flat_map(|query| {
                    let scores = &scores;
                    let roots = program.roots_of(query);
                    (0..count).map(move |entity| {
                        let of = |root: usize| scores[root * count + entity];
                        roots.clone().map(of).fold(f32::MIN, f32::max)
                    })
                })
                .collect();
            let expected = case.numbers(&format!("{at}.all_entity_logit")).unwrap();
            // Scores are a hundred times a distance, which f32 knows to 1e-7: 2e-5 is its limit here.
            close(&best, expected, 2e-5, &what);
            let width = case.model.dim * 2;
            if let Some(expected) = case.numbers(&format!("{at}.entropy")) {
                let found: Vec<f32> =
                    pass.roots.chunks(width).flat_map(|set| case.model.entropies(set)).collect();
                // log(u + 1e-6 − l) magnifies the last digit of u − l where that is near zero.
                let intervals = case.numbers(&format!("{at}.truth_interval")).unwrap();
                for ((found, expected), interval) in found.iter().zip(expected).zip(intervals) {
                    assert!((found - expected).abs() <= 1e-5 + 2e-7 / (interval + 1e-6), "{what}");
                }
                let found: Vec<f32> =
                    pass.roots.chunks(width).flat_map(|set| case.model.intervals(set)).collect();
                close(&found, intervals, 1e-5, &what);
            }
        }
    }
    assert!(compared >= 12 * 7, "{compared}");
}

#[test]
fn losses_and_gradients() {
    let golden = golden();
    for case in golden.cases() {
        for (at, shape) in case.mode["cases"].as_array().unwrap().iter().enumerate() {
            let what = case.say(shape["shape"].as_str().unwrap());
            let batch = batch(shape, case.numbers(&format!("{at}.weights")).unwrap());
            let mut learner = case.learner();
            let loss = learner.gradients(&batch);
            let expected = case.numbers(&format!("{at}.losses")).unwrap()[2];
            close(&[loss as f32], &[expected], 1e-5, &what);
            let of = |name: &str| case.numbers(&format!("{at}.gradient.{name}"));
            for (tensor, gradient) in
                learner.weights.dense.iter().zip(&learner.last_gradients().dense)
            {
                match of(&tensor.name) {
                    Some(expected) => {
                        close(gradient, expected, 1e-4, &format!("{what} {}", tensor.name))
                    }
                    None => assert!(gradient.iter().all(|x| *x == 0.0), "{what} {}", tensor.name),
                }
            }
            let spread =
                |rows: &[f32], numbers: &mut dyn Iterator<Item = u32>, tensor: &Tensor<f32>| {
                    let mut all = vec![0.0; tensor.data.len()];
                    let width = tensor.shape[1];
                    for (row, number) in rows.chunks(width).zip(numbers) {
                        let at = number as usize * width;
                        all[at..at + width].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                    }
                    all
                };
            let relations = &mut batch.program.relations.iter().map(|relation| relation.0);
            let found =
                spread(&learner.last_gradients().relations, relations, &learner.weights.relations);
            close(&found, of("relations").unwrap(), 1e-4, &what);
            let (rows, numbers) = learner.entity_gradients(&batch);
            let found = spread(&rows, &mut numbers.into_iter(), &learner.weights.entities);
            close(&found, of("entities").unwrap(), 1e-4, &what);
        }
    }
}

#[test]
fn three_adam_steps() {
    let golden = golden();
    for case in golden.cases() {
        let what = case.say("three steps");
        let train = &case.mode["train"];
        let batch = batch(train, case.numbers("train.weights").unwrap());
        let rate = train["rate"].as_f64().unwrap();
        let mut learner = case.learner();
        // Adam makes whole steps of gradients that are zero but for rounding, in one direction or the other:
        // no two programs agree there. Attention has many of them, since softmax ignores a common shift, and
        // they reach the loss and through it all other weights.
        let attention = case.model.attention;
        let mut noise: HashMap<String, Vec<bool>> = HashMap::new();
        let mut losses = Vec::new();
        for step in 0..3 {
            losses.push(learner.update(&batch, rate, step).unwrap() as f32);
            for (tensor, gradient) in
                learner.weights.dense.iter().zip(&learner.last_gradients().dense)
            {
                let noise = noise.entry(tensor.name.clone()).or_insert(vec![false; gradient.len()]);
                noise.iter_mut().zip(gradient).for_each(|(noise, x)| *noise |= x.abs() < 1e-5);
            }
        }
        let most = if attention { 5e-4 } else { 1e-5 };
        let expected = case.numbers("train.losses").unwrap();
        close(&losses[..1], &expected[..1], 1e-5, &what);
        close(&losses, expected, if attention { 1.5e-3 } else { 1e-5 }, &what);
        for tensor in learner.weights.all() {
            let after = case.numbers(&format!("train.after.{}", tensor.name)).unwrap();
            let noise = noise.get(&tensor.name);
            for (at, (found, expected)) in tensor.data.iter().zip(after).enumerate() {
                if noise.is_none_or(|noise| !noise[at]) {
                    close(&[*found], &[*expected], most, &format!("{what} {}[{at}]", tensor.name));
                }
            }
        }
    }
}
