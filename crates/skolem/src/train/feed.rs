//! Batches, made in background threads while the ones before them are learnt from.
//!
//! A batch is a function of the seed and its number alone. Each thread makes every n-th batch, and they
//! are taken in turn: whatever the number of threads, the same batches in the same order, and a run that
//! is resumed goes on with the very next one.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use skolem_kg::exact::Answering;
use skolem_kg::rng::Rng;
use skolem_kg::sample::Stream;
use skolem_kg::{Entity, Graph, Query, Shape, dataset};

use super::batch::{Batch, Item, Shared};
use crate::config::{Config, TrainConfig};
use crate::error::{Error, Result};

/// Attempts at a query before another shape is tried, and before a shape counts as impossible.
const TRIES: u64 = 1 << 10;
/// Batches that each thread may be ahead.
pub(super) const AHEAD: usize = 3;
/// Parts of the random numbers, so that no two uses share any.
const ITEMS: u64 = 0x6261_7463_6800;
const ORDER: u64 = 0x6f72_6465_7200;

/// A query to learn from.
#[derive(Clone, Debug)]
pub struct Example {
    /// What is asked.
    pub query: Query,
    /// Its answers, sorted; found on the edges that are learnt from where a file does not list them.
    pub answers: Option<Box<[u32]>>,
}

/// Where queries come from.
pub struct Source<'a> {
    graph: &'a Graph,
    config: &'a Config,
    /// Names of shapes, the shapes, and how often each comes.
    shapes: Vec<(String, Shape, f64)>,
    /// Examples of each shape; none of any if they are sampled.
    listed: Vec<Vec<Example>>,
}

impl<'a> Source<'a> {
    /// Queries sampled from a graph, or these examples. Shapes that the graph does not have are left out
    /// and named.
    pub fn new(
        graph: &'a Graph,
        config: &'a Config,
        examples: Option<Vec<Example>>,
    ) -> Result<(Source<'a>, Vec<String>)> {
        let mut source = Source { graph, config, shapes: Vec::new(), listed: Vec::new() };
        let mut missing = Vec::new();
        let mut by_shape = None;
        if let Some(examples) = examples {
            let by_shape = by_shape.insert(std::collections::HashMap::<Shape, Vec<Example>>::new());
            for example in examples {
                check(graph, &example)?;
                by_shape.entry(example.query.shape().canonical()).or_default().push(example);
            }
        }
        for (name, weight) in &config.mix {
            let shape: Shape = name.parse()?;
            let found = match &mut by_shape {
                Some(by_shape) => {
                    let listed = by_shape.remove(&shape.canonical()).unwrap_or_default();
                    let found = !listed.is_empty();
                    source.listed.extend(found.then_some(listed));
                    found
                }
                None => {
                    let (split, seed) = (config.train.split()?, config.train.seed);
                    let mut stream = Stream::new(graph, split, shape.clone(), seed)?;
                    let mut tries = 0..TRIES * 16;
                    tries
                        .try_fold(false, |found, number| match found {
                            true => Err(Ok(())),
                            false => stream.draw(number).map(|drawn| drawn.is_some()).map_err(Err),
                        })
                        .or_else(|end: skolem_kg::Result<()>| end.map(|()| true))?
                }
            };
            match found {
                true => source.shapes.push((name.clone(), shape, *weight)),
                false => missing.push(name.clone()),
            }
        }
        if source.shapes.is_empty() {
            return Err(Error::Setting(format!(
                "there is no query to learn from: none of shape {}",
                missing.join(", ")
            )));
        }
        Ok((source, missing))
    }

    /// Starts threads that make the batches from number `first` on.
    pub fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        first: u64,
    ) -> Result<Feed> {
        let mut channels = Vec::new();
        for thread in 0..threads as u64 {
            let (sender, receiver) = sync_channel(AHEAD);
            let maker = Maker::new(self)?;
            scope.spawn(move || maker.run(&sender, first + thread, threads as u64));
            channels.push(receiver);
        }
        Ok(Feed { channels, next: 0 })
    }

    /// One batch, made here and now.
    pub fn batch(&self, number: u64) -> Result<Batch> {
        Maker::new(self)?.batch(number)
    }
}

/// Refuses an example of another graph.
fn check(graph: &Graph, example: &Example) -> Result<()> {
    let answers = example.answers.iter().flatten().map(|entity| Entity(*entity));
    match dataset::fits(graph, &example.query, answers) {
        true => Ok(()),
        false => Err(Error::Setting(
            "a query to learn from names an entity or a relation that the graph does not have: the \
             query sets belong to another graph"
                .into(),
        )),
    }
}

/// Batches as they come.
pub struct Feed {
    channels: Vec<Receiver<Result<Batch>>>,
    next: usize,
}

impl Feed {
    /// The next batch.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Batch> {
        let receiver = &self.channels[self.next];
        self.next = (self.next + 1) % self.channels.len();
        receiver
            .recv()
            .unwrap_or_else(|_| Err(Error::Setting("the thread that makes batches ended".into())))
    }
}

/// Makes batches on one thread.
struct Maker<'a> {
    source: &'a Source<'a>,
    streams: Vec<Stream<'a>>,
    answering: Answering<'a>,
    /// Place of each entity in the shared negatives, plus one.
    place: Vec<u32>,
    /// Order of the examples of chains or of other shapes in an epoch.
    order: [(u64, Vec<(u32, u32)>); 2],
}

impl<'a> Maker<'a> {
    fn new(source: &'a Source<'a>) -> Result<Maker<'a>> {
        let (split, seed) = (source.config.train.split()?, source.config.train.seed);
        let streams = source
            .shapes
            .iter()
            .map(|(_, shape, _)| Stream::new(source.graph, split, shape.clone(), seed));
        Ok(Maker {
            source,
            streams: streams.collect::<skolem_kg::Result<_>>()?,
            answering: Answering::new(source.graph.edges(split)?),
            place: vec![0; source.graph.entity_count()],
            order: [const { (u64::MAX, Vec::new()) }; 2],
        })
    }

    fn run(mut self, sender: &SyncSender<Result<Batch>>, first: u64, step: u64) {
        let mut number = first;
        // Ends when nobody listens any more, or after an error.
        loop {
            let batch = self.batch(number);
            let failed = batch.is_err();
            if sender.send(batch).is_err() || failed {
                return;
            }
            number += step;
        }
    }

    fn batch(&mut self, number: u64) -> Result<Batch> {
        let train = &self.source.config.train;
        let mut rng = Rng::stream(train.seed, ITEMS, number);
        let shared = self.shared(train, &mut rng);
        let mut items = Vec::with_capacity(train.batch);
        for at in 0..train.batch as u64 {
            let (query, answers) = self.example(train, number, at, &mut rng)?;
            items.push(self.item(train, query, &answers, &shared, &mut rng));
        }
        if let Shared::Listed(shared) = &shared {
            shared.iter().for_each(|entity| self.place[*entity as usize] = 0);
        }
        Batch::new(&items, shared)
    }

    /// Entities that are negatives of all queries.
    fn shared(&mut self, train: &TrainConfig, rng: &mut Rng) -> Shared {
        let entities = self.place.len();
        if train.shared >= entities {
            return Shared::All;
        }
        let mut shared = Vec::with_capacity(train.shared);
        while shared.len() < train.shared {
            let entity = rng.below(entities);
            if self.place[entity] == 0 {
                shared.push(entity as u32);
                self.place[entity] = 1;
            }
        }
        shared.sort_unstable();
        for (place, entity) in shared.iter().enumerate() {
            self.place[*entity as usize] = place as u32 + 1;
        }
        Shared::Listed(shared)
    }

    /// A query and its answers.
    fn example(
        &mut self,
        train: &TrainConfig,
        number: u64,
        at: u64,
        rng: &mut Rng,
    ) -> Result<(Query, Vec<u32>)> {
        let turn = train.turns.then(|| Turn::of(number));
        if self.source.listed.is_empty() {
            return self.sampled(turn, number * train.batch as u64 + at, rng);
        }
        let (shape, place) = match turn {
            Some(turn) => self.in_turn(turn, turn.before(number) * train.batch as u64 + at),
            None => {
                let shape = self.shape(None, rng);
                (shape, rng.below(self.source.listed[shape].len()))
            }
        };
        let example = &self.source.listed[shape][place];
        let answers = match &example.answers {
            Some(answers) => answers.to_vec(),
            None => {
                self.answering.answers(&example.query)?.into_iter().map(|entity| entity.0).collect()
            }
        };
        Ok((example.query.clone(), answers))
    }

    /// A shape as often as the mix says.
    fn shape(&self, turn: Option<Turn>, rng: &mut Rng) -> usize {
        let shapes = &self.source.shapes;
        let has_turn = |shape: &Shape| turn.is_none_or(|turn| turn == Turn::of_shape(shape));
        // A turn without shapes of its own takes all.
        let any = shapes.iter().any(|(_, shape, _)| has_turn(shape));
        let weight = |at: usize| if !any || has_turn(&shapes[at].1) { shapes[at].2 } else { 0.0 };
        let total: f64 = (0..shapes.len()).map(weight).sum();
        let mut left = total * (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        for at in 0..shapes.len() {
            left -= weight(at);
            if left < 0.0 {
                return at;
            }
        }
        shapes.len() - 1
    }

    fn sampled(
        &mut self,
        turn: Option<Turn>,
        item: u64,
        rng: &mut Rng,
    ) -> Result<(Query, Vec<u32>)> {
        // Every shape was found to have queries; one that is rare may still come to nothing here.
        for _ in 0..64 {
            let shape = self.shape(turn, rng);
            for attempt in 0..TRIES {
                if let Some(drawn) = self.streams[shape].draw(item * TRIES + attempt)? {
                    return Ok((
                        drawn.query,
                        drawn.easy.into_iter().map(|entity| entity.0).collect(),
                    ));
                }
            }
        }
        Err(Error::Setting("the graph has too few queries of the shapes in the mix".into()))
    }

    /// The example at a position of the endless shuffled stream of a turn.
    fn in_turn(&mut self, turn: Turn, position: u64) -> (usize, usize) {
        let source = self.source;
        let (epoch, order) = &mut self.order[turn as usize];
        let is_mine = |at: usize| Turn::of_shape(&source.shapes[at].1) == turn;
        let any = (0..source.shapes.len()).any(is_mine);
        let mine = |at: &usize| !any || is_mine(*at);
        let len: usize =
            (0..source.shapes.len()).filter(mine).map(|at| source.listed[at].len()).sum();
        let wanted = position / len as u64;
        if *epoch != wanted {
            *epoch = wanted;
            order.clear();
            for shape in (0..source.shapes.len()).filter(mine) {
                order.extend((0..source.listed[shape].len() as u32).map(|at| (shape as u32, at)));
            }
            Rng::stream(source.config.train.seed, ORDER + turn as u64, wanted).shuffle(order);
        }
        let (shape, at) = order[(position % len as u64) as usize];
        (shape as usize, at as usize)
    }

    fn item(
        &self,
        train: &TrainConfig,
        query: Query,
        answers: &[u32],
        shared: &Shared,
        rng: &mut Rng,
    ) -> Item {
        let weight = if train.weighted { 1.0 / (4.0 + answers.len() as f32).sqrt() } else { 1.0 };
        let positives = some_of(answers, train.positives, rng);
        let entities = self.place.len();
        let mut negatives = Vec::with_capacity(train.negatives);
        while negatives.len() < train.negatives {
            let mut entity = rng.below(entities) as u32;
            // Nearly all entities may be answers; then one of them has to do.
            for _ in 0..if train.filtered { 20 } else { 0 } {
                if answers.binary_search(&entity).is_err() {
                    break;
                }
                entity = rng.below(entities) as u32;
            }
            negatives.push(entity);
        }
        let left_out = match shared {
            _ if !train.filtered => Vec::new(),
            Shared::All => answers.to_vec(),
            Shared::Listed(_) => {
                let places = answers.iter().map(|answer| self.place[*answer as usize]);
                places.filter(|place| *place > 0).map(|place| place - 1).collect()
            }
        };
        Item { query, weight, positives, negatives, left_out }
    }
}

/// Different ones of a list, as many as there are up to a number.
fn some_of(list: &[u32], most: usize, rng: &mut Rng) -> Vec<u32> {
    if list.len() <= most {
        return list.to_vec();
    }
    if most == 1 {
        return vec![list[rng.below(list.len())]];
    }
    // Floyd's way: every choice is equally likely.
    let mut chosen = HashSet::with_capacity(most);
    let mut all = Vec::with_capacity(most);
    for end in list.len() - most..list.len() {
        let at = rng.below(end + 1);
        let at = if chosen.insert(at) { at } else { end };
        chosen.insert(at);
        all.push(list[at]);
    }
    all
}

/// Whose turn it is: the paper's program makes three updates in a row, path, other, path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Path,
    Other,
}

impl Turn {
    fn of(number: u64) -> Turn {
        if number % 3 == 1 { Turn::Other } else { Turn::Path }
    }

    /// How many turns of this kind there were before an update.
    fn before(self, number: u64) -> u64 {
        let (rounds, rest) = (number / 3, number % 3);
        match self {
            Turn::Path => 2 * rounds + u64::from(rest >= 1),
            Turn::Other => rounds + u64::from(rest >= 2),
        }
    }

    fn of_shape(shape: &Shape) -> Turn {
        match shape {
            Shape::Anchor => Turn::Path,
            Shape::Follow(inner) => Turn::of_shape(inner),
            _ => Turn::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skolem_kg::{GraphBuilder, Split};

    fn graph() -> Graph {
        let mut builder = GraphBuilder::default();
        let mut rng = Rng::new(4);
        for _ in 0..300 {
            let [head, tail] = [(); 2].map(|()| format!("e{}", rng.below(40)));
            builder.edge_named(Split::Train, &head, &format!("r{}", rng.below(5)), &tail).unwrap();
        }
        builder.finish().unwrap().0
    }

    fn config(recipe: &str) -> Config {
        let pairs = ["train.batch=16", "train.shared=8", "train.positives=3"];
        let pairs = pairs.iter().map(|pair| (*pair).to_owned());
        Config::layered(None, &pairs.chain([format!("train.recipe={recipe}")]).collect::<Vec<_>>())
            .unwrap()
    }

    #[test]
    fn batches_do_not_depend_on_the_number_of_threads() {
        let graph = graph();
        for recipe in Config::RECIPES {
            let config = config(recipe);
            let (source, missing) = Source::new(&graph, &config, None).unwrap();
            assert!(missing.is_empty());
            let alone: Vec<String> =
                (5..11).map(|number| format!("{:?}", source.batch(number).unwrap())).collect();
            for threads in [1, 2, 3] {
                let several: Vec<String> = std::thread::scope(|scope| {
                    let mut feed = source.start(scope, threads, 5).unwrap();
                    (5..11).map(|_| format!("{:?}", feed.next().unwrap())).collect()
                });
                assert!(several == alone, "{recipe} with {threads}");
            }
        }
    }

    #[test]
    fn positives_are_answers_and_filtered_negatives_are_not() {
        let graph = graph();
        let config = config("fast");
        let (source, _) = Source::new(&graph, &config, None).unwrap();
        let mut maker = Maker::new(&source).unwrap();
        let mut rng = Rng::new(1);
        for at in 0..200 {
            let shared = maker.shared(&config.train, &mut rng);
            let (query, answers) = maker.example(&config.train, 0, at, &mut rng).unwrap();
            let item = maker.item(&config.train, query, &answers, &shared, &mut rng);
            let Shared::Listed(shared) = shared else { panic!("eight are not all") };
            assert!(item.positives.len() == answers.len().min(3));
            assert!(item.positives.iter().all(|entity| answers.binary_search(entity).is_ok()));
            for (place, entity) in shared.iter().enumerate() {
                let left_out = item.left_out.contains(&(place as u32));
                assert_eq!(left_out, answers.binary_search(entity).is_ok());
            }
            shared.iter().for_each(|entity| maker.place[*entity as usize] = 0);
        }
    }

    #[test]
    fn listed_queries_come_once_an_epoch_in_turns() {
        let graph = graph();
        let config = config("paper");
        let follow =
            |entity: u32| Query::Anchor(skolem_kg::Entity(entity)).follow(skolem_kg::Relation(0));
        let chains = (0..20).map(follow);
        let others = (0..20).map(|entity| Query::And(vec![follow(entity), follow(entity + 1)]));
        let examples =
            chains.chain(others).map(|query| Example { query, answers: Some([1].into()) });
        let (source, _) = Source::new(&graph, &config, Some(examples.collect())).unwrap();
        let mut maker = Maker::new(&source).unwrap();
        for turn in [Turn::Path, Turn::Other] {
            for epoch in 0..2 {
                let mut seen: Vec<_> =
                    (0..20).map(|at| maker.in_turn(turn, 20 * epoch + at)).collect();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), 20, "every query once");
            }
        }
        // path, other, path: how many of each came before.
        assert_eq!((0..7).map(|n| Turn::Path.before(n)).collect::<Vec<_>>(), [0, 1, 1, 2, 3, 3, 4]);
        assert_eq!(
            (0..7).map(|n| Turn::Other.before(n)).collect::<Vec<_>>(),
            [0, 0, 1, 1, 1, 2, 2]
        );
    }

    #[test]
    fn some_of_a_list_are_different_and_all_equally_likely() {
        let mut rng = Rng::new(2);
        let list: Vec<u32> = (0..10).collect();
        let mut counts = [0; 10];
        for _ in 0..2000 {
            let mut some = some_of(&list, 4, &mut rng);
            some.iter().for_each(|at| counts[*at as usize] += 1);
            some.sort_unstable();
            some.dedup();
            assert_eq!(some.len(), 4);
        }
        assert!(counts.iter().all(|count| (700..900).contains(count)), "{counts:?}");
    }
}
