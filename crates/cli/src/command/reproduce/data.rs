//! The graph and the query sets that models are compared on.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use skolem::config::Config;
use skolem::evaluate::{self, Test, Wanted, sample_tests};
use skolem::report::findings::{Data, Queries};
use skolem_kg::dataset::{files_if_any, has_word};
use skolem_kg::load::{self, Options};
use skolem_kg::{Graph, GraphBuilder, Split};

use super::super::open_graph;
use super::Args;
use crate::progress;

/// Test queries that are sampled of each shape where there is no file of them.
const SAMPLED: usize = 1000;

/// The query sets.
pub struct Sets {
    /// The graph.
    pub data: Data,
    /// To measure progress with.
    pub valid: Vec<Test>,
    /// To test on.
    pub test: Set,
    /// Query2Box's, where there are some.
    pub generalization: Option<Set>,
}

/// Queries to test on.
pub struct Set {
    /// Where they are from.
    pub queries: Queries,
    /// The queries.
    pub tests: Vec<Test>,
}

/// Reads a KGReasoning folder, or opens a graph.
pub fn graph(data: &Path) -> Result<Graph> {
    let graph = match data.is_dir() {
        false => open_graph(data)?,
        true if load::is_kgreasoning(data) => {
            let bar = progress::counter("reading bytes");
            let mut builder = GraphBuilder::default();
            let options = Options::default();
            load::load_kgreasoning(&mut builder, data, &options, &mut |bytes| {
                bar.set_position(bytes);
            })?;
            bar.finish_and_clear();
            builder.finish()?.0
        }
        true => bail!("{}: is a folder without stats.txt and train.txt", data.display()),
    };
    for split in [Split::Valid, Split::Test] {
        if graph.edges_added_by(split) == 0 {
            bail!(
                "{}: there are no {split} edges to measure with (`skolem import --holdout 0.1,0.1` holds some out)",
                data.display()
            );
        }
    }
    Ok(graph)
}

impl Sets {
    /// Reads those that are named or in the folder, and samples what is missing.
    pub fn find(args: &Args, graph: &Graph, config: &Config) -> Result<Sets> {
        let seed = config.train.seed;
        let (valid, test) =
            (named(args, &args.valid, Split::Valid)?, named(args, &args.test, Split::Test)?);
        let most = config.evaluate.queries;
        let waiting = progress::waiting("queries");
        let valid = match valid {
            Some(file) => read(graph, &file, Split::Valid, most)?,
            None => sample_tests(graph, Split::Valid, most, seed)?,
        };
        let test = match test {
            Some(file) => Set::read(args, graph, &file)?,
            None => {
                let most = args.most.unwrap_or(SAMPLED);
                let tests = sample_tests(graph, Split::Test, most, seed)?;
                Set { queries: Queries::of(&tests, None, Some(most)), tests }
            }
        };
        let generalization = query2box(args)?.map(|file| Set::read(args, graph, &file));
        waiting.finish_and_clear();
        let name = args.data.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Sets {
            data: Data::of(&name, graph),
            valid,
            test,
            generalization: generalization.transpose()?,
        })
    }
}

impl Set {
    fn read(args: &Args, graph: &Graph, file: &Path) -> Result<Set> {
        let tests = read(graph, file, Split::Test, args.most.unwrap_or(usize::MAX))?;
        if tests.is_empty() {
            bail!("{}: there are no queries in it", file.display());
        }
        Ok(Set { queries: Queries::of(&tests, Some(file), args.most), tests })
    }
}

/// Queries of a file with their answers.
fn read(graph: &Graph, file: &Path, split: Split, most: usize) -> Result<Vec<Test>> {
    let wanted = Wanted { split, most, entailment: false };
    let queries = evaluate::Queries::read(graph, vec![file.to_owned()], wanted, || Ok(()))?;
    Ok(queries.tests(|_| true)?.collect::<Result<_, _>>()?)
}

/// The file that is asked for, or the one in the folder that has the split in its name. Samples of a set do not
/// count, and of several the published one does.
fn named(args: &Args, asked: &Option<PathBuf>, split: Split) -> Result<Option<PathBuf>> {
    if asked.is_some() || !args.data.is_dir() {
        return Ok(asked.clone());
    }
    let mut found = files_if_any(&args.data, split)?;
    found.retain(|file| !has_word(file, "sample") && !has_word(file, "q2b"));
    if found.len() > 1 && found.iter().any(|file| has_word(file, "official")) {
        found.retain(|file| has_word(file, "official"));
    }
    match &found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        [first, second, ..] => bail!(
            "{} and {} are both {split} sets: name one with --{split}",
            first.display(),
            second.display()
        ),
    }
}

/// Query2Box's test queries in the folder.
fn query2box(args: &Args) -> Result<Option<PathBuf>> {
    if !args.data.is_dir() {
        return Ok(None);
    }
    let found = files_if_any(&args.data, Split::Test)?;
    Ok(found.into_iter().find(|file| has_word(file, "q2b")))
}
