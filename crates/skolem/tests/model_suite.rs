//! What every model must be: gradients of a whole update as finite differences have them, for any shape and
//! number of operands; the same whatever the order of operands; able to learn a small graph by heart.

// Tests may unwrap.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use skolem::answer::answer;
use skolem::config::Config;
use skolem::model::{Kind, Logic, Model, Settings, Weights};
use skolem::pass::Pass;
use skolem::program::{Program, Union};
use skolem::store::Folder;
use skolem::train::batch::{Batch, Item, Shared};
use skolem::train::run::{Limit, Plan, train};
use skolem::train::update::{Learner, Moments, Rules};
use skolem::with_model;
use skolem_kg::query::{names::Numbers, text::parse};
use skolem_kg::rng::Rng;
use skolem_kg::{Entity, Graph, Query, Split};
use skolem_nn::Real;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::loss::Loss;
use skolem_nn::op::tnorm::TNorm;
use skolem_nn::optim::Adam;

const ENTITIES: usize = 9;
const RELATIONS: usize = 4;

/// A kind with a few settings that are not the published ones.
fn kind(name: &str, set: &[&str]) -> Kind {
    let mut all = vec![format!("model.kind={name}"), "train.recipe=paper".to_owned()];
    all.extend(set.iter().map(|knob| format!("model.{knob}")));
    Config::layered(None, &all).unwrap().model
}

/// Every kind, made small. Those with a γ in units of their distance have one that no score is far above.
fn kinds(dim: usize) -> impl Iterator<Item = Kind> {
    let (dim, hidden) = (format!("dim={dim}"), format!("hidden={}", 2 * dim));
    Kind::NAMES.iter().map(move |name| {
        let small: &[&str] = match *name {
            "logic" => &[&dim, &hidden, "relation_range=1", "scale=8"],
            "beta" => &[&dim, &hidden, "gamma=1"],
            _ => &[&dim, "gamma=1"],
        };
        kind(name, small)
    })
}

/// Every mode of every model.
fn models() -> Vec<Kind> {
    let mut all: Vec<Kind> = kinds(3).collect();
    for tnorm in TNorm::ALL {
        for (bounds, attention) in [(false, false), (false, true), (true, false), (true, true)] {
            for depth in [1, 2, 3] {
                // Depth has nothing to do with the rest.
                if depth == 2 || (tnorm == TNorm::Lukasiewicz && attention) {
                    let sizes =
                        Logic { dim: 3, hidden: 5, relation_range: 1.0, ..Logic::default() };
                    // A gentle slope keeps every candidate's gradient away from zero.
                    let mode = Logic { depth, tnorm, bounds, attention, scale: 8.0, ..sizes };
                    all.push(mode.into());
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

/// Those that a model can answer, unions one disjunct at a time.
fn queries(model: &impl Settings) -> Vec<Query> {
    let mut all: Vec<Query> = QUERIES.iter().map(|text| parse(text, &Numbers).unwrap()).collect();
    all.retain(|query| model.has_complement() || !Union::Disjuncts.takes_complement(query));
    all
}

fn batch(model: &impl Settings, loss: Loss) -> Batch {
    let items: Vec<Item> = queries(model)
        .into_iter()
        .enumerate()
        .map(|(at, query)| Item {
            query,
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

fn learner<F: Real, M: Model<F>>(model: &M, loss: Loss, weights: Weights<F>) -> Learner<F, M> {
    let moments = Moments::new(&weights);
    Learner::new(model.clone(), weights, moments, rules(loss))
}

#[test]
fn gradients_of_whole_updates() {
    for (model, loss) in models().iter().flat_map(|model| Loss::ALL.map(|loss| (model, loss))) {
        with_model!(model, |model| gradients_of_an_update(model, loss));
    }
}

fn gradients_of_an_update<M: Model<f64>>(model: &M, loss: Loss) {
    let what = format!("{model:?} {loss}");
    let weights: Weights<f64> = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
    let batch = batch(model, loss);
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
    for (row, relation) in exact.last_gradients().relations.chunks(d).zip(&batch.program.relations)
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

#[test]
fn the_order_of_operands_does_not_matter() {
    for model in models() {
        with_model!(&model, |model| any_order(model));
    }
}

fn any_order<M: Model<f64>>(model: &M) {
    let weights = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
    let embed = |text: &str| {
        let query = parse(text, &Numbers).unwrap();
        let union = if model.has_complement() { Union::DeMorgan } else { Union::Disjuncts };
        let program = Program::compile([&query], union).unwrap();
        let mut pass = Pass::default();
        pass.forward(model, &weights, &program);
        let mut roots: Vec<Vec<f64>> =
            pass.roots.chunks(model.width()).map(<[f64]>::to_vec).collect();
        // Disjuncts are a set.
        roots.sort_by(|a, b| a[0].total_cmp(&b[0]));
        roots.concat()
    };
    let not = if model.has_complement() { "!" } else { "" };
    for (one, other) in [
        ("r1(e1) & !r2(e2) & r3(e3)", "r3(e3) & r1(e1) & !r2(e2)"),
        ("r0(r1(e1) | r2(e2))", "r0(r2(e2) | r1(e1))"),
    ] {
        let [one, other] = [one, other].map(|text| embed(&text.replace('!', not)));
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-12), "{model:?}");
        let is_truth = model.satisfiability(0.0).is_some();
        let within = one.iter().all(|x| (-1e-9..=1.0 + 1e-9).contains(x));
        assert!(!is_truth || within, "truth values: {model:?}");
    }
}

#[test]
fn a_query_is_embedded_the_same_alone_or_among_others() {
    for model in models() {
        with_model!(&model, |model| alone_or_among_others(model));
    }
}

fn alone_or_among_others<M: Model<f32>>(model: &M) {
    let queries = queries(model);
    let weights = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
    let together = Program::compile(&queries, Union::Disjuncts).unwrap();
    let mut pass = Pass::default();
    pass.forward(model, &weights, &together);
    let all = pass.roots.clone();
    let width = model.width();
    for (at, query) in queries.iter().enumerate() {
        let alone = Program::compile([query], Union::Disjuncts).unwrap();
        pass.forward(model, &weights, &alone);
        let roots = together.roots_of(at);
        let among = &all[roots.start * width..roots.end * width];
        let close =
            pass.roots.iter().zip(among).all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs()));
        assert!(close && pass.roots.len() == among.len(), "{model:?} {query:?}");
    }
}

/// The scores of the roots of queries with all entities, each found with all others and alone.
fn scores<M: Model<f32>>(model: &M, queries: &[Query]) -> Vec<[Vec<f32>; 2]> {
    let weights = model.weights(ENTITIES, RELATIONS, &mut Rng::new(3));
    let program = Program::compile(queries, Union::Disjuncts).unwrap();
    let mut pass = Pass::default();
    pass.forward(model, &weights, &program);
    let ready = |rows: &[f32], step: usize, make: &dyn Fn(&[f32], &mut [f32])| {
        let Some(width) = model.ready_width() else { return rows.to_vec() };
        let mut all = vec![0.0; rows.len() / step * width];
        all.chunks_mut(width).zip(rows.chunks(step)).for_each(|(to, from)| make(from, to));
        all
    };
    let sets = ready(&pass.roots, model.width(), &|from, to| model.ready_set(from, to));
    let (table, step) = (&weights.entities.data, model.entity_width());
    let entities = ready(table, step, &|from, to| model.ready_entity(from, to));
    let mut all = vec![0.0; program.roots.len() * ENTITIES];
    model.scores(&sets, &entities, &mut all);
    let rows = all.chunks(ENTITIES).zip(sets.chunks(sets.len() / program.roots.len()));
    let rows = rows.map(|(together, set)| {
        let alone = entities.chunks(entities.len() / ENTITIES);
        [together.to_vec(), alone.map(|entity| model.score(set, entity)).collect()]
    });
    rows.collect()
}

#[test]
fn scores_of_all_entities_are_those_of_single_pairs() {
    for model in models() {
        let rows = with_model!(&model, |model| scores(model, &queries(model)));
        for (together, alone) in rows.iter().flat_map(|[a, b]| a.iter().zip(b)) {
            assert!((together - alone).abs() < 1e-4 * (1.0 + alone.abs()), "{model:?}");
        }
    }
}

#[test]
fn an_entity_fits_its_own_set_best() {
    let own: Vec<Query> = (0..ENTITIES as u32).map(|at| Query::Anchor(Entity(at))).collect();
    for model in models() {
        let rows = with_model!(&model, |model| scores(model, &own));
        for (own, [row, _]) in rows.iter().enumerate() {
            assert!(row.iter().all(|score| *score <= row[own]), "{model:?}: {own} in {row:?}");
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
    let bounds = kind("logic", &["dim=16", "hidden=32", "bounds=true", "relation_range=1"]);
    let scaled = kind("logic", &["dim=16", "hidden=32", "relation_range=1"]);
    let others = kinds(16).filter(|kind| kind.name() != "logic");
    for (model, rules) in
        others.chain([bounds, scaled]).flat_map(|model| [(model.clone(), &exact), (model, &quick)])
    {
        let [first, last] = with_model!(&model, |model| learn(model, &graph, &batch, rules));
        // Without a network, a relation moves all sets alike: it cannot have any answers whatever.
        let most = if model.has_complement() { 0.1 } else { 0.5 };
        assert!(last < most && first > 0.5, "{model:?} {rules:?}: {first} to {last}");
    }
}

/// The first and the last loss of 300 updates.
fn learn<M: Model<f32>>(model: &M, graph: &Graph, batch: &Batch, rules: &Rules) -> [f64; 2] {
    let weights = model.weights(graph.entity_count(), graph.relation_count(), &mut Rng::new(2));
    let moments = Moments::new(&weights);
    let rules = Rules { smoothing: 0.0, dropout: 0.0, threshold: 0.0, ..rules.clone() };
    let mut learner = Learner::new(model.clone(), weights, moments, rules);
    let losses = (1..=300).map(|update| learner.update(batch, 1e-2, update).unwrap());
    let losses: Vec<f64> = losses.collect();
    [losses[0], losses[losses.len() - 1]]
}

/// One and two threads learn the same bits; what is saved and opened again is the same, too.
#[test]
fn whatever_the_threads_and_saved_or_not_it_is_the_same() {
    let graph = small().0;
    for model in kinds(6) {
        let mut config = Config::layered(None, &[format!("model.kind={}", model.name())]).unwrap();
        (config.model, config.mix) = (
            model.clone(),
            [("1p", 3.0), ("2i", 1.0), ("2u", 1.0)]
                .map(|(shape, weight)| (shape.to_owned(), weight))
                .into(),
        );
        (config.train.batch, config.evaluate.times) = (16, 0);
        let folder = tempfile::tempdir().unwrap();
        let learnt = [1, 2].map(|threads| {
            let folder = Folder::at(folder.path().join(threads.to_string()));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let plan = Plan {
                graph: &graph,
                config: &config,
                limit: Limit::Updates(12),
                examples: None,
                tests: Vec::new(),
                folder: &folder,
                resume: false,
                cancelled: &AtomicBool::new(false),
            };
            pool.install(|| train(plan, |_| ())).unwrap();
            folder.open().unwrap()
        });
        let [(one_config, one_graph, one), (_, _, two)] = learnt;
        assert_eq!(one_config, config);
        assert!(one == two, "{model:?}");
        let query = parse("r1(e1) | r0(e2)", &Numbers).unwrap();
        let answers = with_model!(&one_config.model, |model| {
            answer(model, &one, &one_graph, &query, Split::Train, 9)
        });
        let answers = answers.unwrap();
        assert!(answers.is_sorted_by(|a, b| a.score >= b.score) && answers.len() == 8);
        assert_eq!(answers[0].satisfiability.is_some(), model.name() == "logic");
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
