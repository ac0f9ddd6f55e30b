//! The queries that a model is measured with: read from query sets, or drawn from a graph.

use std::collections::HashMap;
use std::path::PathBuf;

use rayon::prelude::*;
use skolem_kg::dataset::{self, Answers, Example};
use skolem_kg::exact::Answering;
use skolem_kg::query::shape::NAMED;
use skolem_kg::rng::Rng;
use skolem_kg::sample::{Settings, sample};
use skolem_kg::{Entity, Error, Graph, Query, Shape, Split};

use super::{CHUNK, Test};
use crate::error::Result;

/// Which queries of a set, and which of their answers, are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The split whose answers are to be found.
    pub split: Split,
    /// At most this many queries of each shape: the first ones.
    pub most: usize,
    /// Whether all answers on the edges of the split are to be found, not only those that the smaller
    /// split lacks: a model that learnt from these edges should entail them.
    pub entailment: bool,
}

/// Queries of some files. Answers that a file lists are taken from it; others are found on the graph when
/// their turn comes, and not kept.
pub struct Queries<'a> {
    graph: &'a Graph,
    wanted: Wanted,
    files: Vec<PathBuf>,
    names: Vec<String>,
    asked: Vec<Asked>,
}

struct Asked {
    example: Example,
    /// Its shape's place among the names.
    shape: usize,
    /// Where it is from: which file, and its number there.
    place: (usize, usize),
}

impl<'a> Queries<'a> {
    /// Reads files of queries; `each` is called for every one and may end it.
    pub fn read(
        graph: &'a Graph,
        files: Vec<PathBuf>,
        wanted: Wanted,
        mut each: impl FnMut() -> Result<()>,
    ) -> Result<Queries<'a>> {
        if wanted.split == Split::Train && !wanted.entailment {
            return Err(Error::Setting(
                "train queries have no hard answers: take another split, or measure entailment"
                    .into(),
            )
            .into());
        }
        let mut queries = Queries { graph, wanted, files, names: Vec::new(), asked: Vec::new() };
        // The number and the name of a shape as it is written, and how many queries of a name there are.
        let (mut numbers, mut counts) = (HashMap::<Shape, usize>::new(), Vec::new());
        for (file, path) in queries.files.clone().iter().enumerate() {
            dataset::check_origin(path, graph, wanted.split)?;
            for (number, example) in dataset::read(path)?.enumerate() {
                let mut example = example?;
                each()?;
                let place = (file, number + 1);
                let listed = [&example.easy, &example.hard].into_iter().flat_map(listed);
                if !dataset::fits(graph, &example.query, listed.copied()) {
                    let message = "names an entity or a relation that the graph does not have: the \
                                   query set belongs to another graph";
                    return Err(queries.wrong(place, message).into());
                }
                let written = example.query.shape();
                let shape = *numbers.entry(written).or_insert_with_key(|shape| {
                    let name = shape.to_string();
                    let known = queries.names.iter().position(|known| *known == name);
                    known.unwrap_or_else(|| {
                        queries.names.push(name);
                        counts.push(0);
                        counts.len() - 1
                    })
                });
                if counts[shape] == wanted.most {
                    continue;
                }
                counts[shape] += 1;
                if wanted.entailment {
                    // A file lists what holds on two splits; what holds on the larger is another list.
                    (example.easy, example.hard) = (Answers::Unknown, Answers::Unknown);
                }
                queries.asked.push(Asked { example, shape, place });
            }
        }
        Ok(queries)
    }

    /// How many there are that `keep` wants.
    pub fn count(&self, keep: impl Fn(&Query) -> bool) -> usize {
        self.asked.iter().filter(|asked| keep(&asked.example.query)).count()
    }

    /// Those that `keep` wants, with their answers.
    pub fn tests(
        &self,
        keep: impl Fn(&Query) -> bool,
    ) -> Result<impl Iterator<Item = Result<Test>>> {
        let Wanted { split, entailment, .. } = self.wanted;
        let edges = |split| self.graph.edges(split);
        let small = split.smaller().filter(|_| !entailment).map(edges).transpose()?;
        let big = edges(split)?;
        let kept = self.asked.iter().filter(|asked| keep(&asked.example.query));
        let kept: Vec<&Asked> = kept.collect();
        Ok((0..kept.len()).step_by(CHUNK).flat_map(move |first| {
            let chunk = &kept[first..kept.len().min(first + CHUNK)];
            let answering = || (small.map(Answering::new), Answering::new(big));
            let found = chunk
                .par_iter()
                .map_init(answering, |(small, big), asked| self.test(asked, small.as_mut(), big));
            found.collect::<Vec<_>>()
        }))
    }

    fn test(
        &self,
        asked: &Asked,
        small: Option<&mut Answering<'_>>,
        big: &mut Answering<'_>,
    ) -> Result<Test> {
        let Example { query, easy, hard } = &asked.example;
        let [easy, hard] = match (easy, hard) {
            (Answers::Listed(easy), Answers::Listed(hard)) => [easy, hard].map(|list| list.clone()),
            _ => {
                let known = small.map(|small| small.answers(query)).transpose()?;
                let known = known.unwrap_or_default();
                let mut new = big.answers(query)?;
                new.retain(|entity| known.binary_search(entity).is_err());
                for (what, told, found) in [("easy", easy, &known), ("hard", hard, &new)] {
                    if let Some(told) = told.count().filter(|told| *told != found.len()) {
                        let message = format!(
                            "has {told} {what} answers as the file says, and {} on the graph's {} \
                             split: the query set belongs to another split or graph",
                            found.len(),
                            self.wanted.split
                        );
                        return Err(self.wrong(asked.place, &message).into());
                    }
                }
                [known, new]
            }
        };
        let [easy, hard] = [easy, hard].map(numbers);
        Ok(Test { shape: self.names[asked.shape].clone(), query: query.clone(), easy, hard })
    }

    fn wrong(&self, (file, number): (usize, usize), message: &str) -> Error {
        Error::unusable(&self.files[file], format!("query {number} {message}"))
    }
}

/// The answers that a file lists.
fn listed(answers: &Answers) -> &[Entity] {
    match answers {
        Answers::Listed(entities) => entities,
        Answers::Unknown | Answers::Count(_) => &[],
    }
}

fn numbers(entities: Vec<Entity>) -> Vec<u32> {
    entities.into_iter().map(|entity| entity.0).collect()
}

/// Samples queries with hard answers from a graph: of each named shape as many, where there are enough. Those
/// of one step are drawn from all there are, as in published sets.
pub fn sample_tests(graph: &Graph, split: Split, count: usize, seed: u64) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (name, _) in NAMED {
        let shape: Shape = name.parse()?;
        let all = shape == Shape::Follow(Shape::Anchor.into());
        let settings =
            Settings { shape, split, count: (!all).then_some(count), most_hard: 100, seed };
        let mut drawn = Vec::new();
        sample(graph, &settings, |query| {
            drawn.push(query);
            Ok(())
        })?;
        if all {
            Rng::stream(seed, 0x7465_7374_7300, 0).shuffle(&mut drawn);
            drawn.truncate(count);
        }
        tests.extend(drawn.into_iter().map(|drawn| {
            let [easy, hard] = [drawn.easy, drawn.hard].map(numbers);
            Test { shape: name.to_owned(), query: drawn.query, easy, hard }
        }));
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use skolem_kg::GraphBuilder;

    use super::*;

    /// a leads to b on train edges, to c and d on valid ones, to e on test ones.
    fn graph() -> Graph {
        let mut builder = GraphBuilder::default();
        for (split, tail) in
            [(Split::Train, "b"), (Split::Valid, "c"), (Split::Valid, "d"), (Split::Test, "e")]
        {
            builder.edge_named(split, "a", "r", tail).unwrap();
        }
        builder.finish().unwrap().0
    }

    fn read(lines: &str, wanted: Wanted) -> Result<Vec<Test>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("set.jsonl");
        std::fs::write(&file, lines).unwrap();
        let graph = graph();
        let queries = Queries::read(&graph, vec![file], wanted, || Ok(()))?;
        assert_eq!(queries.count(|_| true), queries.tests(|_| true)?.count());
        queries.tests(|_| true)?.collect()
    }

    const ALL: Wanted = Wanted { split: Split::Valid, most: usize::MAX, entailment: false };

    #[test]
    fn answers_are_those_listed_or_else_those_of_the_graph() {
        let lines = r#"{"q":[0,[0]]}
            {"q":[0,[0]],"ne":1,"nh":2}
            {"q":[0,[0]],"easy":[3],"hard":[2]}
            {"q":[0,[0]],"hard":[2,3]}"#;
        let answers = |test: Test| (test.easy, test.hard);
        let found: Vec<_> = read(lines, ALL).unwrap().into_iter().map(answers).collect();
        let computed = (vec![1], vec![2, 3]);
        let listed = (vec![3], vec![2]);
        assert_eq!(found, [&computed, &computed, &listed, &computed].map(Clone::clone));
        // What all edges of the split entail, whatever the file says.
        let entailed = Wanted { entailment: true, ..ALL };
        for test in read(lines, entailed).unwrap() {
            assert_eq!(answers(test), (vec![], vec![1, 2, 3]));
        }
        let train = Wanted { split: Split::Train, entailment: true, ..ALL };
        assert_eq!(answers(read(lines, train).unwrap().remove(0)), (vec![], vec![1]));
    }

    #[test]
    fn the_first_queries_of_each_shape_are_kept() {
        let lines = r#"{"q":[0,[0]],"hard":[1],"easy":[]}
            {"q":[[0,[0]],[1,[0]]],"hard":[1],"easy":[]}
            {"q":[0,[0]],"hard":[2],"easy":[]}
            {"q":[0,[0]],"hard":[3],"easy":[]}"#;
        let tests = read(lines, Wanted { most: 2, ..ALL }).unwrap();
        let found: Vec<_> = tests.iter().map(|test| (&test.shape[..], test.hard[0])).collect();
        assert_eq!(found, [("1p", 1), ("2i", 1), ("1p", 2)]);
    }

    #[test]
    fn sets_of_other_graphs_and_splits_are_refused() {
        let error = |line: &str, wanted| read(line, wanted).unwrap_err().to_string();
        for line in [r#"{"q":[9,[0]]}"#, r#"{"q":[0,[9]]}"#, r#"{"q":[0,[0]],"hard":[9]}"#] {
            let error = error(line, ALL);
            assert!(error.contains("query 1 names an entity or a relation"), "{error}");
        }
        let error_of_split = error(r#"{"q":[0,[0]],"nh":1}"#, ALL);
        assert!(error_of_split.contains("1 hard answers as the file says, and 2 on"));
        let error = error("", Wanted { split: Split::Train, ..ALL });
        assert!(error.contains("train queries have no hard answers"), "{error}");
    }
}
