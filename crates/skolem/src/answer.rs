//! Answers to one question, as a model ranks them.

use std::cmp::Ordering;

use skolem_kg::exact::Answering;
use skolem_kg::{Entity, Graph, Query, Split};

use crate::error::{Error, Result};
use crate::evaluate::best_scores;
use crate::model::{Model, Weights, ready_entities, ready_sets};
use crate::pass::Pass;
use crate::program::{Program, Union};

/// An entity as the answer to a question.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answer {
    /// The entity.
    pub entity: Entity,
    /// How well it fits the question; more is better.
    pub score: f32,
    /// How true it is that it belongs to the answers, if the model has truth values: 1 − the mean distance of
    /// its own from those of the question's set.
    pub satisfiability: Option<f32>,
    /// Whether the graph entails it; otherwise it is predicted.
    pub known: bool,
}

/// The entities that answer a question best, the best first: at most `top`. Those that the edges of `split`
/// entail are marked as known. A model without complements refuses a question with a negation.
pub fn answer<M: Model<f32>>(
    model: &M,
    weights: &Weights<f32>,
    graph: &Graph,
    query: &Query,
    split: Split,
    top: usize,
) -> Result<Vec<Answer>> {
    if !model.has_complement() && Union::Disjuncts.takes_complement(query) {
        return Err(Error::Setting(format!(
            "the question has a negation, and a model of {} has no complement: ask it without 'not', or ask \
             another kind of model",
            model.card()
        )));
    }
    let known = Answering::new(graph.edges(split)?).answers(query)?;
    let program = Program::compile([query], Union::Disjuncts)?;
    let mut pass = Pass::default();
    pass.forward(model, weights, &program);
    let count = weights.entities.shape[0];
    let mut scores = vec![0.0; program.roots.len() * count];
    let [mut sets, mut entities] = [Vec::new(), Vec::new()];
    model.scores(
        ready_sets(model, &pass.roots, &mut sets),
        ready_entities(model, &weights.entities.data, &mut entities),
        &mut scores,
    );
    let best = best_scores(&scores, count);

    // Ties go to the smaller number, so that the order is always the same.
    let order = |a: &u32, b: &u32| -> Ordering {
        best[*b as usize].total_cmp(&best[*a as usize]).then(a.cmp(b))
    };
    let mut ranked: Vec<u32> = (0..count as u32).collect();
    if top < count {
        ranked.select_nth_unstable_by(top, order);
        ranked.truncate(top);
    }
    ranked.sort_unstable_by(order);
    let answer = |number: u32| {
        let (entity, score) = (Entity(number), best[number as usize]);
        let satisfiability = model.satisfiability(score);
        Answer { entity, score, satisfiability, known: known.binary_search(&entity).is_ok() }
    };
    Ok(ranked.into_iter().map(answer).collect())
}

#[cfg(test)]
mod tests {
    use skolem_kg::GraphBuilder;
    use skolem_kg::query::text;
    use skolem_kg::rng::Rng;

    use super::*;
    use crate::model::{Gqe, Logic};

    fn graph() -> Graph {
        let mut builder = GraphBuilder::default();
        for (split, head, tail) in [
            (Split::Train, "a", "b"),
            (Split::Train, "a", "c"),
            (Split::Train, "d", "e"),
            (Split::Test, "a", "d"),
        ] {
            builder.edge_named(split, head, "r", tail).unwrap();
        }
        builder.finish().unwrap().0
    }

    #[test]
    fn entities_are_ranked_and_marked() {
        let graph = graph();
        let model = Logic { dim: 6, hidden: 8, ..Logic::default() };
        let (entities, relations) = (graph.entity_count(), graph.relation_count());
        let weights = model.weights(entities, relations, &mut Rng::new(1));
        for (question, train, all) in
            [("r(a)", 2, 3), ("r(a) | ^r(b)", 3, 4), ("!r(a) & r(d)", 1, 1), ("r(r(a))", 0, 1)]
        {
            let query = text::parse(question, &graph).unwrap();
            let ask = |split, top| answer(&model, &weights, &graph, &query, split, top).unwrap();
            let ranked = ask(Split::Train, entities);
            assert_eq!(ranked.len(), entities);
            assert!(ranked.is_sorted_by(|a, b| a.score >= b.score), "{question}: {ranked:?}");
            assert_eq!(ranked.iter().filter(|answer| answer.known).count(), train, "{question}");
            let known = ask(Split::Test, entities).into_iter().filter(|answer| answer.known);
            assert_eq!(known.count(), all, "{question}");
            // The first few of all are the first few, and more than there are is all.
            for top in 0..entities {
                assert_eq!(ask(Split::Train, top), ranked[..top]);
            }
            assert_eq!(ask(Split::Train, 1000), ranked);
        }
    }

    #[test]
    fn what_a_model_cannot_answer_it_refuses() {
        let graph = graph();
        let model = Gqe { dim: 6, ..Gqe::default() };
        let weights = model.weights(graph.entity_count(), graph.relation_count(), &mut Rng::new(1));
        let ask = |question: &str| {
            let query = text::parse(question, &graph).unwrap();
            answer(&model, &weights, &graph, &query, Split::Train, 9)
        };
        let ranked = ask("r(a) | ^r(b)").unwrap();
        assert!(ranked.iter().all(|answer| answer.satisfiability.is_none()));
        let error = ask("r(a) & !r(d)").unwrap_err().to_string();
        assert!(error.contains("negation") && error.contains("GQE"), "{error}");
    }

    #[test]
    fn satisfiability_is_closeness() {
        let graph = graph();
        let model = Logic { dim: 6, hidden: 8, ..Logic::default() };
        let weights = model.weights(graph.entity_count(), graph.relation_count(), &mut Rng::new(1));
        // The set of an anchor is its entity, which is at no distance from itself.
        let query = text::parse("c", &graph).unwrap();
        let ranked = answer(&model, &weights, &graph, &query, Split::Train, 9).unwrap();
        assert_eq!(ranked[0].entity, graph.entity("c").unwrap());
        assert!((ranked[0].satisfiability.unwrap() - 1.0).abs() < 1e-6 && ranked[0].known);
        let width = 2 * model.dim;
        for answer in &ranked {
            let rows = [ranked[0].entity, answer.entity].map(|entity| weights.entity(entity.0));
            let distance: f32 = rows[0].iter().zip(rows[1]).map(|(a, b)| (a - b).abs()).sum();
            assert!(
                (answer.satisfiability.unwrap() - (1.0 - distance / width as f32)).abs() < 1e-5
            );
        }
    }
}
