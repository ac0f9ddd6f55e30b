//! What every model must be: gradients of a whole update as finite differences have them, for any shape and
//! number of operands; the same whatever the order of operands; able to learn a small graph by heart.

// Tests may unwrap.
#![allow(clippy::unwrap_used)]

use skolem::model::{Logic, Model, Weights};
use skolem::pass::Pass;
use skolem::program::{Program, Union};
use skolem::train::batch::{Batch, Item, Shared};
use skolem::train::update::{Learner, Moments, Rules};
use skolem_kg::query::{names::Numbers, text::parse};
use skolem_kg::rng::Rng;
use skolem_kg::{Graph, Query, Split};
use skolem_nn::Real;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::loss::Loss;
use skolem_nn::op::tnorm::TNorm;
use skolem_nn::optim::Adam;

const ENTITIES: usize = 9;
const RELATIONS: usize = 4;

/// Every mode of every model.
fn models() -> Vec<Logic> {
    let mut all = Vec::new();
    for tnorm in TNorm::ALL {
        for (bounds, attention) in [(false, false), (false, true), (true, false), (true, true)] {
            for depth in [1, 2, 3] {
                // Depth has nothing to do with the rest.
                if depth == 2 || (tnorm == TNorm::Lukasiewicz && attention) {
                    let sizes =
                        Logic { dim: 3, hidden: 5, relation_range: 1.0, ..Logic::default() };
                    // A gentle slope keeps every candidate's gradient away from zero.
                    all.push(Logic { depth, tnorm, bounds, attention, scale: 8.0, ..sizes });
                }
            }
        }
    }
    all
}

/// The 14 named shapes and others: many operands, deep nesting, complements everywhere.
const QUERIES: [&str; 20] = [
    "r1(e0)",
    "r2(r1(e1))",
    "r0(r3(r2(e2)))",
    "r1(e3) & r2(e4)",
    "r1(e3) & r2(e4) & r3(e5)",
    "r1(r2(e3)) & r0(e4)",
    "r3(r1(e3) & r2(e4))",
    "r1(e3) & !r2(e4)",
    "r1(e3) & r2(e4) & !r3(e5)",
    "r3(r1(e3) & !r2(e4))",
    "r1(r2(e3)) & !r0(e4)",
    "!r1(r2(e3)) & r0(e4)",
    "r1(e1) | r2(e2)",
    "r3(r1(e1) | r2(e2))",
    "r0(e0) & r1(e1) & r2(e2) & r3(e3) & !r0(e4) & r1(e5)",
    "r0(r1(r2(r3(e1) & !e2) & r1(!r2(e3))) & r3(e4))",
    "!r1(!r2(!e1))",
    "(r1(e1) | r2(e2)) & (r3(e3) | !r0(e4))",
    "e5 & r1(e6)",
    "e7",
];

fn batch(loss: Loss) -> Batch {
    let items: Vec<Item> = QUERIES
        .iter()
        .enumerate()
        .map(|(at, text)| Item {
            query: parse(text, &Numbers).unwrap(),
            weight: 1.0 / (1.0 + at as f32),
            positives: vec![(at % ENTITIES) as u32, ((at + 4) % ENTITIES) as u32],
            negatives: (0..3).map(|n| ((at * 5 + 3 * n) % ENTITIES) as u32).collect(),
            left_out: if at % 2 == 0 { vec![1] } else { vec![] },
        })
        .collect();
    let shared = if loss == Loss::Softmax { vec![2, 7, 5] } else { vec![] };
    let items: Vec<Item> = match loss {
        Loss::Softmax => items,
        Loss::Sigmoid => items.into_iter().map(|item| Item { left_out: vec![], ..item }).collect(),
    };
    Batch::new(&items, Shared::Listed(shared)).unwrap()
}

fn rules(loss: Loss) -> Rules {
    Rules {
        loss,
        smoothing: if loss == Loss::Softmax { 0.1 } else { 0.0 },
        seed: 0,
        precision: Precision::F32,
        threshold: 0.3,
        dropout: 0.2,
        negligible: 0.0,
        coarse: false,
        entity_rate: 1.0,
        adam: Adam::default(),
        lazy: false,
        most_loss: 1e9,
    }
}

fn learner<F: Real>(model: &Logic, loss: Loss, weights: Weights<F>) -> Learner<F, Logic> {
    let moments = Moments::new(&weights);
    Learner::new(model.clone(), weights, moments, rules(loss))
}

#[test]
fn gradients_of_whole_updates() {
    for (model, loss) in models().iter().flat_map(|model| Loss::ALL.map(|loss| (model, loss))) {
        let what = format!("{model:?} {loss}");
        let weights: Weights<f64> = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
        let batch = batch(loss);
        let mut exact = learner(model, loss, weights.clone());
        exact.gradients(&batch);
        let (rows, touched) = exact.entity_gradients(&batch);
        let width = weights.entities.shape[1];
        let mut all =
            vec![vec![0.0; weights.entities.data.len()], vec![0.0; weights.relations.data.len()]];
        for (row, entity) in rows.chunks(width).zip(touched) {
            all[0][entity as usize * width..][..width].copy_from_slice(row);
        }
        let d = weights.relations.shape[1];
        for (row, relation) in
            exact.last_gradients().relations.chunks(d).zip(&batch.program.relations)
        {
            all[1][relation.index() * d..][..d].copy_from_slice(row);
        }
        all.extend(exact.last_gradients().dense.iter().cloned());

        let mut rng = Rng::new(5);
        let (mut checked, mut kinks) = (0, 0);
        for (tensor, gradient) in all.iter().enumerate() {
            for _ in 0..6 {
                let at = rng.below(gradient.len());
                let slope = |step: f64| {
                    let mut moved = weights.clone();
                    moved.all_mut().nth(tensor).unwrap().data[at] += step;
                    learner(model, loss, moved).gradients(&batch)
                };
                let (above, below, here) = (slope(1e-6), slope(-1e-6), slope(0.0));
                let found = (above - below) / 2e-6;
                checked += 1;
                // |x|, relu, clamp and max have corners; a step across one has two slopes.
                if ((above - here) - (here - below)).abs() > 1e-9 {
                    kinks += 1;
                    continue;
                }
                let error = (found - gradient[at]).abs();
                assert!(
                    error < 1e-5 * (1.0 + found.abs()),
                    "{what} {tensor}[{at}]: {} but {found}",
                    gradient[at]
                );
            }
        }
        assert!(kinks * 10 < checked, "{what}: {kinks} of {checked} at a corner");
    }
}

#[test]
fn the_order_of_operands_does_not_matter() {
    for model in models() {
        let weights: Weights<f64> = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
        let embed = |text: &str| {
            let query = parse(text, &Numbers).unwrap();
            let program = Program::compile([&query], Union::DeMorgan).unwrap();
            let mut pass = Pass::default();
            pass.forward(&model, &weights, &program);
            pass.roots
        };
        for (one, other) in [
            ("r1(e1) & !r2(e2) & r3(e3)", "r3(e3) & r1(e1) & !r2(e2)"),
            ("r0(r1(e1) | r2(e2))", "r0(r2(e2) | r1(e1))"),
        ] {
            let (one, other) = (embed(one), embed(other));
            assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-12), "{model:?}");
            assert!(
                one.iter().all(|x| (-1e-9..=1.0 + 1e-9).contains(x)),
                "truth values: {model:?}"
            );
        }
    }
}

#[test]
fn a_query_is_embedded_the_same_alone_or_among_others() {
    let queries: Vec<Query> = QUERIES.iter().map(|text| parse(text, &Numbers).unwrap()).collect();
    for model in models() {
        let weights: Weights<f32> = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
        let together = Program::compile(&queries, Union::Disjuncts).unwrap();
        let mut pass = Pass::default();
        pass.forward(&model, &weights, &together);
        let all = pass.roots.clone();
        let width = weights.entities.shape[1];
        for (at, query) in queries.iter().enumerate() {
            let alone = Program::compile([query], Union::Disjuncts).unwrap();
            pass.forward(&model, &weights, &alone);
            let roots = together.roots_of(at);
            let among = &all[roots.start * width..roots.end * width];
            let close = pass.roots.iter().zip(among).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close && pass.roots.len() == among.len(), "{model:?} {}", QUERIES[at]);
        }
    }
}

/// All edges of a small graph as queries, against all entities.
fn small() -> (Graph, Batch) {
    let mut builder = skolem_kg::GraphBuilder::default();
    let mut rng = Rng::new(1);
    for _ in 0..24 {
        let [head, tail] = [(); 2].map(|()| format!("e{}", rng.below(8)));
        builder.edge_named(Split::Train, &head, &format!("r{}", rng.below(2)), &tail).unwrap();
    }
    let graph = builder.finish().unwrap().0;
    let edges = graph.edges(Split::Train).unwrap();
    let mut items = Vec::new();
    for run in 0..edges.run_count() {
        let (entity, relation) = edges.run_at(run).unwrap();
        let answers: Vec<u32> =
            edges.neighbours(entity, relation).iter().map(|entity| entity.0).collect();
        let query = Query::Anchor(entity).follow(relation);
        items.push(Item {
            query,
            weight: 1.0,
            left_out: answers.clone(),
            positives: answers,
            negatives: vec![],
        });
    }
    let batch = Batch::new(&items, Shared::All).unwrap();
    (graph, batch)
}

fn small_learner(graph: &Graph, bounds: bool, rules: Rules) -> Learner<f32, Logic> {
    let model = Logic { dim: 16, hidden: 32, bounds, relation_range: 1.0, ..Logic::default() };
    let weights: Weights<f32> =
        model.weights(graph.entity_count(), graph.relation_count(), &mut Rng::new(2));
    let moments = Moments::new(&weights);
    Learner::new(model, weights, moments, Rules { smoothing: 0.0, dropout: 0.0, ..rules })
}

#[test]
fn a_small_graph_is_learnt_by_heart() {
    let (graph, batch) = small();
    let exact = rules(Loss::Softmax);
    let quick = Rules { coarse: true, negligible: 0.1, lazy: true, ..exact.clone() };
    for (bounds, rules) in [false, true]
        .into_iter()
        .flat_map(|bounds| [exact.clone(), quick.clone()].map(|rules| (bounds, rules)))
    {
        let mut learner = small_learner(&graph, bounds, rules.clone());
        let first = learner.update(&batch, 1e-2, 1).unwrap();
        let mut last = first;
        for update in 2..=200 {
            last = learner.update(&batch, 1e-2, update).unwrap();
        }
        assert!(last < 0.05 && first > 0.5, "{rules:?}, bounds {bounds}: {first} to {last}");
    }
}

#[test]
fn entities_as_bytes_give_nearly_the_same_loss_and_gradients() {
    let (graph, batch) = small();
    for bounds in [false, true] {
        let [mut exact, mut coarse] = [false, true]
            .map(|coarse| small_learner(&graph, bounds, Rules { coarse, ..rules(Loss::Softmax) }));
        for update in 1..=20 {
            let losses = [&mut exact, &mut coarse].map(|learner| learner.gradients(&batch));
            assert!((losses[0] - losses[1]).abs() < 0.05 * losses[0], "{losses:?}");
            let dense = [&exact, &coarse].map(|learner| learner.last_gradients().dense[0].clone());
            let [apart, size] = [(&dense[0], &dense[1]), (&dense[0], &vec![0.0; dense[0].len()])]
                .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt());
            assert!(apart < 0.1 * size, "{apart} of {size}");
            exact.update(&batch, 1e-2, update).unwrap();
            let (weights, moments) = (exact.weights.clone(), exact.moments.clone());
            coarse = Learner::new(coarse.model.clone(), weights, moments, coarse.rules.clone());
        }
    }
}

#[test]
fn bytes_follow_the_entities_from_update_to_update() {
    let (graph, batch) = small();
    let quick = Rules { coarse: true, lazy: true, negligible: 0.1, ..rules(Loss::Softmax) };
    let [mut kept, mut anew] = [0, 1].map(|_| small_learner(&graph, false, quick.clone()));
    for update in 1..=20 {
        // The same weights in a fresh learner, which has no bytes yet.
        let (weights, moments) = (anew.weights.clone(), anew.moments.clone());
        anew = Learner::new(anew.model.clone(), weights, moments, anew.rules.clone());
        let losses = [&mut kept, &mut anew].map(|learner| learner.update(&batch, 1e-2, update));
        assert_eq!(losses[0].as_ref().unwrap().to_bits(), losses[1].as_ref().unwrap().to_bits());
        assert!(kept.weights == anew.weights && kept.moments == anew.moments);
    }
}

#[test]
fn a_gain_makes_sets_matter_more_and_a_set_of_halves_not_at_all() {
    let plain = Logic { dim: 8, hidden: 10, ..Logic::default() };
    let raised = Logic { input_gain: 6.0, ..plain.clone() };
    let [plain, raised]: [Weights<f64>; 2] =
        [plain, raised].map(|model| model.weights(ENTITIES, RELATIONS, &mut Rng::new(4)));
    let [(weight, bias), (raised_weight, raised_bias)] =
        [&plain, &raised].map(|weights| (&weights.dense[0].data, &weights.dense[1].data));
    for (row, (bias, raised_bias)) in bias.iter().zip(raised_bias).enumerate() {
        let [row, raised_row] = [weight, raised_weight].map(|weight| &weight[row * 24..][..24]);
        let (of_set, of_relation) = raised_row.split_at(16);
        assert!(of_set.iter().zip(row).all(|(raised, plain)| (raised - 6.0 * plain).abs() < 1e-12));
        assert_eq!(of_relation, &row[16..]);
        let halves: f64 = of_set.iter().map(|weight| 0.5 * weight).sum();
        assert!((raised_bias + halves - bias).abs() < 1e-12);
    }
}
