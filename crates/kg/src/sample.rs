//! Draws queries of any shape from a graph, by the rules of BetaE's data sets.
//!
//! A query grows backwards from an answer: at each step a relation uniform over those that lead to
//! the entity, then a head uniform over that relation's heads, and never a relation followed by its
//! own inverse. All operands grow from the same answer, negated ones too. For train, chains grow
//! forwards from an anchor, and the operands of an intersection end in different relations where
//! there are enough.
//!
//! Attempts are numbered and each has random numbers of its own; they run on all threads and are
//! looked at in order, so that a seed gives the same queries whatever the number of threads.

use std::collections::HashSet;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::exact::{Answering, EntitySet};
use crate::graph::{Edges, Graph};
use crate::id::{Entity, Relation};
use crate::query::{Query, Shape};
use crate::rng::Rng;
use crate::split::Split;

/// What to draw.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The shape of the queries.
    pub shape: Shape,
    /// Train queries have answers on the train graph; valid and test queries have answers that the
    /// smaller split does not entail.
    pub split: Split,
    /// How many; for `1p` without a number, every one there is.
    pub count: Option<usize>,
    /// Valid and test queries with more hard answers are left out, as are those with more answers
    /// that the larger split takes back.
    pub most_hard: usize,
    /// Same seed, same queries.
    pub seed: u64,
}

/// A drawn query with its answers, sorted; for train all answers are easy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawn {
    /// The query.
    pub query: Query,
    /// Answers on the smaller split.
    pub easy: Vec<Entity>,
    /// Answers that only the split itself has.
    pub hard: Vec<Entity>,
}

/// What happened to the attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Outcome {
    /// Kept.
    pub drawn: usize,
    /// Grew into a dead end, or had two equal operands.
    pub broken: usize,
    /// No hard answer (train: no answer), or no answer taken back where there is a negation.
    pub unfit: usize,
    /// More hard answers than allowed.
    pub too_many: usize,
    /// The same as one before.
    pub repeated: usize,
}

/// Attempts that run at once; their answers are held until they are looked at.
const CHUNK: usize = 1024;
/// Attempts without a single new query after which the shape counts as exhausted.
const MOST_FRUITLESS: usize = 200 * CHUNK;

/// Draws queries and hands them to `keep` in order.
pub fn sample(
    graph: &Graph,
    settings: &Settings,
    mut keep: impl FnMut(Drawn) -> Result<()>,
) -> Result<Outcome> {
    let sampler = Sampler::new(graph, settings.clone())?;
    let mut outcome = Outcome::default();
    let is_1p = settings.shape == Shape::Follow(Box::new(Shape::Anchor));
    let Some(count) = settings.count else {
        if !is_1p {
            let message =
                format!("how many queries of shape {}? (only 1p has a last one)", settings.shape);
            return Err(Error::Setting(message));
        }
        return sampler.every_1p(outcome, keep);
    };
    let mut seen = HashSet::new();
    let mut fruitless = 0;
    let mut start = 0u64;
    while outcome.drawn < count && fruitless < MOST_FRUITLESS {
        let numbers: Vec<u64> = (start..start + CHUNK as u64).collect();
        start += CHUNK as u64;
        fruitless += CHUNK;
        for attempt in sampler.all(&numbers, |number| sampler.grow(number))? {
            if outcome.drawn == count {
                break;
            }
            if outcome.counts(attempt, |drawn| {
                // As written: the published sets too hold a query and its mirror image. Long lists
                // of queries are remembered by a number each.
                let text = format!("{:?}", drawn.query);
                match seen.insert(xxh3_64(text.as_bytes())) {
                    true => keep(drawn).map(|()| true),
                    false => Ok(false),
                }
            })? {
                fruitless = 0;
            }
        }
    }
    Ok(outcome)
}

/// Queries to learn from of one shape by number, for those who want a few at a time and mind no repetition:
/// drawn by the rules of train, with all their answers on the edges of a split.
///
/// A pair of an entity and a relation, `1p`, is uniform over all there are; other shapes are drawn as by
/// [`sample`].
pub struct Stream<'a> {
    sampler: Sampler<'a>,
    answering: Answering<'a>,
    is_1p: bool,
}

impl<'a> Stream<'a> {
    /// The queries of a shape and a seed on the edges of a split.
    pub fn new(graph: &'a Graph, split: Split, shape: Shape, seed: u64) -> Result<Stream<'a>> {
        let is_1p = shape == Shape::Follow(Box::new(Shape::Anchor));
        let settings =
            Settings { shape, split: Split::Train, count: None, most_hard: usize::MAX, seed };
        let sampler = Sampler { big: graph.edges(split)?, ..Sampler::new(graph, settings)? };
        let answering = Answering::new(sampler.big);
        Ok(Stream { sampler, answering, is_1p })
    }

    /// The query of a number, unless the attempt came to nothing.
    pub fn draw(&mut self, number: u64) -> Result<Option<Drawn>> {
        let Stream { sampler, answering, is_1p } = self;
        let query = match is_1p {
            true => {
                let mut rng = Rng::stream(sampler.settings.seed, sampler.part, number);
                let run = sampler.big.run_at(rng.below(sampler.big.run_count()));
                run.map(|(entity, relation)| Query::Anchor(entity).follow(relation))
            }
            false => sampler.grow(&number),
        };
        let Some(query) = query else { return Ok(None) };
        match sampler.judge(query, answering, None)? {
            Attempt::Fit(drawn) => Ok(Some(drawn)),
            _ => Ok(None),
        }
    }
}

/// How an attempt ended.
enum Attempt {
    Fit(Drawn),
    Broken,
    Unfit,
    TooMany,
}

impl Outcome {
    /// Counts an attempt; whether it was kept.
    fn counts(
        &mut self,
        attempt: Attempt,
        keep: impl FnOnce(Drawn) -> Result<bool>,
    ) -> Result<bool> {
        match attempt {
            Attempt::Broken => self.broken += 1,
            Attempt::Unfit => self.unfit += 1,
            Attempt::TooMany => self.too_many += 1,
            Attempt::Fit(drawn) => {
                let new = keep(drawn)?;
                *(if new { &mut self.drawn } else { &mut self.repeated }) += 1;
                return Ok(new);
            }
        }
        Ok(false)
    }
}

struct Sampler<'a> {
    settings: Settings,
    /// The split itself, and the smaller one.
    big: Edges<'a>,
    small: Option<Edges<'a>>,
    /// Tells the random numbers of one shape and split from those of another.
    part: u64,
}

impl<'a> Sampler<'a> {
    fn new(graph: &'a Graph, settings: Settings) -> Result<Self> {
        let split = settings.split;
        let part = format!("{}\n{}", settings.shape.pattern(), split);
        if graph.entity_count() == 0 {
            return Err(Error::Setting("the graph has no entities to draw queries from".into()));
        }
        if split != Split::Train && graph.edges_added_by(split) == 0 {
            return Err(Error::Setting(format!(
                "the graph has no {split} edges, so no query has hard answers \
                 (import it with its {split} file or with --holdout)"
            )));
        }
        let small = split.smaller().map(|split| graph.edges(split)).transpose()?;
        let big = graph.edges(split)?;
        Ok(Sampler { settings, big, small, part: xxh3_64(part.as_bytes()) })
    }

    /// Runs attempts on all threads; the results are in order.
    fn all<T: Sync>(
        &self,
        numbers: &[T],
        grow: impl Fn(&T) -> Option<Query> + Sync,
    ) -> Result<Vec<Attempt>> {
        let evaluators = || [Some(self.big), self.small].map(|edges| edges.map(Answering::new));
        let run = |[big, small]: &mut [Option<Answering<'_>>; 2], number: &T| {
            let (Some(query), Some(big)) = (grow(number), big) else { return Ok(Attempt::Broken) };
            self.judge(query, big, small.as_mut())
        };
        numbers.par_iter().with_min_len(8).map_init(evaluators, run).collect()
    }

    /// Every pair of an entity and a relation.
    fn every_1p(
        &self,
        mut outcome: Outcome,
        mut keep: impl FnMut(Drawn) -> Result<()>,
    ) -> Result<Outcome> {
        for start in (0..self.big.entity_count() as u32).step_by(CHUNK) {
            let end = (start + CHUNK as u32).min(self.big.entity_count() as u32);
            let pairs: Vec<(Entity, Relation)> = (start..end)
                .map(Entity)
                .flat_map(|entity| self.big.relations_of(entity).iter().map(move |r| (entity, *r)))
                .collect();
            let grow = |&(entity, relation): &(Entity, Relation)| {
                Some(Query::Anchor(entity).follow(relation))
            };
            for attempt in self.all(&pairs, grow)? {
                outcome.counts(attempt, |drawn| keep(drawn).map(|()| true))?;
            }
        }
        Ok(outcome)
    }

    /// Answers a query and decides whether it is worth asking.
    fn judge(
        &self,
        query: Query,
        big: &mut Answering<'_>,
        small: Option<&mut Answering<'_>>,
    ) -> Result<Attempt> {
        let count = self.big.entity_count();
        let all = big.set(&query)?;
        let Some(small) = small else {
            let easy = all.into_sorted(count);
            return Ok(match easy.is_empty() {
                true => Attempt::Unfit,
                false => Attempt::Fit(Drawn { query, easy, hard: Vec::new() }),
            });
        };
        if all.len(count) == 0 {
            return Ok(Attempt::Unfit);
        }
        let easy = small.set(&query)?;
        let hard = all.clone().intersection(easy.clone().complement());
        let taken_back = match query.has_negation() {
            true => easy.count_without(&all, count),
            false => 0,
        };
        let found = hard.len(count);
        if found == 0 || (query.has_negation() && taken_back == 0) {
            return Ok(Attempt::Unfit);
        }
        if found.max(taken_back) > self.settings.most_hard {
            return Ok(Attempt::TooMany);
        }
        let [easy, hard] = [easy, hard].map(|set: EntitySet| set.into_sorted(count));
        Ok(Attempt::Fit(Drawn { query, easy, hard }))
    }

    /// Grows the query of one attempt.
    fn grow(&self, number: &u64) -> Option<Query> {
        let mut rng = Rng::stream(self.settings.seed, self.part, *number);
        let start = Entity(rng.below(self.big.entity_count()) as u32);
        if self.settings.split == Split::Train
            && let Some(hops) = hops(&self.settings.shape)
        {
            return self.forwards(start, hops, &mut rng);
        }
        self.backwards(&self.settings.shape, start, None, &mut rng)
    }

    /// A chain from an anchor.
    fn forwards(&self, anchor: Entity, hops: usize, rng: &mut Rng) -> Option<Query> {
        let mut query = Query::Anchor(anchor);
        let mut at = anchor;
        let mut before = None;
        for _ in 0..hops {
            let relation = self.relation_from(at, before.map(Relation::inverse), rng)?;
            at = *rng.pick(self.big.neighbours(at, relation))?;
            query = query.follow(relation);
            before = Some(relation);
        }
        Some(query)
    }

    /// A query that an entity answers, negations aside.
    fn backwards(
        &self,
        shape: &Shape,
        answer: Entity,
        after: Option<Relation>,
        rng: &mut Rng,
    ) -> Option<Query> {
        match shape {
            Shape::Anchor => Some(Query::Anchor(answer)),
            Shape::Not(inner) => Some(self.backwards(inner, answer, after, rng)?.not()),
            Shape::Follow(inner) => {
                // Leading here by a relation is leaving here by its inverse; the relation that comes
                // after must not be undone by this one.
                let leaving = self.relation_from(answer, after, rng)?;
                self.through(leaving, inner, answer, rng)
            }
            Shape::And(parts) => Some(Query::And(self.operands(parts, answer, rng)?)),
            Shape::Or(parts) => Some(Query::Or(self.operands(parts, answer, rng)?)),
        }
    }

    /// A query that ends by the inverse of a relation that leaves the answer.
    fn through(
        &self,
        leaving: Relation,
        inner: &Shape,
        answer: Entity,
        rng: &mut Rng,
    ) -> Option<Query> {
        let head = *rng.pick(self.big.neighbours(answer, leaving))?;
        let relation = leaving.inverse();
        Some(self.backwards(inner, head, Some(relation), rng)?.follow(relation))
    }

    /// Operands that all grow from the same answer.
    fn operands(&self, parts: &[Shape], answer: Entity, rng: &mut Rng) -> Option<Vec<Query>> {
        let one_hop = |part: &Shape| matches!(part, Shape::Follow(_));
        let known = self.big.relations_of(answer);
        let distinct = self.settings.split == Split::Train
            && parts.iter().all(one_hop)
            && known.len() >= parts.len();
        let mut left = if distinct { known.to_vec() } else { Vec::new() };
        let mut queries: Vec<Query> = Vec::new();
        for part in parts {
            let query = match part {
                Shape::Follow(inner) if distinct => {
                    let leaving = left.swap_remove(rng.below(left.len()));
                    self.through(leaving, inner, answer, rng)?
                }
                other => self.backwards(other, answer, None, rng)?,
            };
            if queries.contains(&query) {
                return None;
            }
            queries.push(query);
        }
        Some(queries)
    }

    /// A relation that leaves an entity, uniform over those there are, but not this one.
    fn relation_from(
        &self,
        entity: Entity,
        except: Option<Relation>,
        rng: &mut Rng,
    ) -> Option<Relation> {
        let known = self.big.relations_of(entity);
        let barred = except.and_then(|except| known.binary_search(&except).ok());
        let at = rng.below(known.len() - usize::from(barred.is_some()));
        known.get(at + usize::from(barred.is_some_and(|barred| at >= barred))).copied()
    }
}

/// The length of a chain from an anchor.
fn hops(shape: &Shape) -> Option<usize> {
    match shape {
        Shape::Anchor => Some(0),
        Shape::Follow(inner) => hops(inner).map(|hops| hops + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphBuilder;
    use crate::exact::naive;

    fn graph() -> Graph {
        let mut builder = GraphBuilder::default();
        let mut rng = Rng::new(4);
        for _ in 0..400 {
            let [head, tail] = [(); 2].map(|()| format!("e{}", rng.below(40)));
            builder.edge_named(Split::Train, &head, &format!("r{}", rng.below(6)), &tail).unwrap();
        }
        builder.hold_out(0.15, 0.15, 2).unwrap();
        builder.finish().unwrap().0
    }

    fn drawn(shape: &str, split: Split, count: Option<usize>, seed: u64) -> Vec<Drawn> {
        let settings =
            Settings { shape: shape.parse().unwrap(), split, count, most_hard: 12, seed };
        let mut all = Vec::new();
        let outcome = sample(&graph(), &settings, |drawn| {
            all.push(drawn);
            Ok(())
        })
        .unwrap();
        assert_eq!(outcome.drawn, all.len());
        all
    }

    #[test]
    fn answers_and_conditions_hold_for_every_kind() {
        let graph = graph();
        let shapes =
            ["2p", "3p", "2i", "3i", "pi", "ip", "2in", "3in", "inp", "pin", "pni", "2u", "up"];
        let other = ["p(p(p(e) & !p(e))) & p(e)", "p(e) | p(p(e)) | p(e)"];
        for shape in shapes.into_iter().chain(other) {
            for split in Split::ALL {
                let queries = drawn(shape, split, Some(30), 1);
                assert_eq!(queries.len(), 30, "{shape} {split}");
                for Drawn { query, easy, hard } in queries {
                    assert_eq!(
                        query.shape().to_string(),
                        shape.parse::<Shape>().unwrap().to_string()
                    );
                    let answers = |split| naive::answers(&graph.edges(split).unwrap(), &query);
                    let (all, known) = (answers(split), split.smaller().map(answers));
                    let Some(known) = known else {
                        assert_eq!((easy, hard), (all, vec![]));
                        continue;
                    };
                    assert_eq!(easy, known);
                    let new: Vec<_> =
                        all.iter().copied().filter(|answer| !known.contains(answer)).collect();
                    assert_eq!(hard, new);
                    assert!((1..=12).contains(&hard.len()));
                    let taken_back = known.iter().any(|answer| !all.contains(answer));
                    assert_eq!(taken_back, query.has_negation());
                }
            }
        }
    }

    #[test]
    fn every_1p_query_is_found_once() {
        let graph = graph();
        let queries = drawn("1p", Split::Train, None, 0);
        assert_eq!(queries.len(), graph.edges(Split::Train).unwrap().run_count());
        let distinct: HashSet<_> = queries.iter().map(|drawn| &drawn.query).collect();
        assert_eq!(distinct.len(), queries.len());
    }

    #[test]
    fn no_relation_is_followed_by_its_own_inverse() {
        for split in [Split::Train, Split::Test] {
            for Drawn { query, .. } in drawn("3p", split, Some(200), 3) {
                let relations: Vec<Relation> = query
                    .terms()
                    .into_iter()
                    .filter_map(|term| match term {
                        Query::Follow(relation, _) => Some(*relation),
                        _ => None,
                    })
                    .collect();
                assert!(relations.windows(2).all(|pair| pair[0] != pair[1].inverse()));
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_queries_whatever_the_threads() {
        let with = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| drawn("pin", Split::Test, Some(60), seed))
        };
        let one = with(1, 5);
        assert_eq!(one, with(2, 5));
        assert_eq!(one, with(7, 5));
        assert_ne!(one, with(1, 6));
    }

    #[test]
    fn a_stream_gives_a_query_by_its_number() {
        let graph = graph();
        let splits = [Split::Train, Split::Test];
        for (shape, split) in ["1p", "3p", "pin"].into_iter().zip(splits.into_iter().cycle()) {
            let stream = || Stream::new(&graph, split, shape.parse().unwrap(), 3).unwrap();
            let (mut forwards, mut backwards) = (stream(), stream());
            let numbers: Vec<u64> = (0..50).collect();
            let one: Vec<_> = numbers.iter().map(|n| forwards.draw(*n).unwrap()).collect();
            let mut other: Vec<_> =
                numbers.iter().rev().map(|n| backwards.draw(*n).unwrap()).collect();
            other.reverse();
            assert_eq!(one, other);
            let drawn: Vec<_> = one.into_iter().flatten().collect();
            assert!(drawn.len() > 20);
            for Drawn { query, easy, .. } in drawn {
                assert_eq!(naive::answers(&graph.edges(split).unwrap(), &query), easy);
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        let settings = |shape: &str, count| Settings {
            shape: shape.parse().unwrap(),
            split: Split::Test,
            count,
            most_hard: 10,
            seed: 0,
        };
        let error = sample(&graph(), &settings("2p", None), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("how many"), "{error}");
        let mut builder = GraphBuilder::default();
        builder.edge_named(Split::Train, "a", "r", "b").unwrap();
        let unsplit = builder.finish().unwrap().0;
        let error = sample(&unsplit, &settings("2p", Some(1)), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("--holdout"), "{error}");
        // A shape of which there is nothing to be had comes to an end.
        let settings = Settings { split: Split::Train, ..settings("3i", Some(5)) };
        assert_eq!(sample(&unsplit, &settings, |_| Ok(())).unwrap().drawn, 0);
    }
}
