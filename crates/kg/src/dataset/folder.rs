//! Which files hold the queries of a split, and whether they belong to a graph.

use std::path::{Path, PathBuf};

use super::{Format, origin};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::id::Entity;
use crate::query::Query;
use crate::split::Split;

/// The query sets of a split in a folder: the files with its name as a word in theirs, such as `train.skq`,
/// `betae.valid.jsonl.gz` or `test-queries.pkl`.
pub fn files(folder: &Path, split: Split) -> Result<Vec<PathBuf>> {
    let found = files_if_any(folder, split)?;
    match found.is_empty() {
        true => {
            let message = format!("there is no query set with '{split}' in its name");
            Err(Error::unusable(folder, message))
        }
        false => Ok(found),
    }
}

/// The same, where there may be none.
pub fn files_if_any(folder: &Path, split: Split) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if has_word(&path, split.name()) && Format::of(&path).is_ok() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether the name of a file has a word in it.
pub fn has_word(file: &Path, word: &str) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.split(['.', '-', '_']).any(|part| part == word)
}

/// Refuses a query set that says that it was made from another graph, or for another split.
pub fn check_origin(path: &Path, graph: &Graph, split: Split) -> Result<()> {
    let origin = origin(path)?;
    let refused = |message: String| Err(Error::unusable(path, message));
    match origin.split {
        _ if ![0, graph.fingerprint()].contains(&origin.graph) => {
            refused("this query set was made from another graph".into())
        }
        Some(other) if other != split => {
            refused(format!("this is a {other} set, and {split} queries are asked for"))
        }
        _ => Ok(()),
    }
}

/// Whether a graph has all entities and relations that a query and its answers name.
pub fn fits(graph: &Graph, query: &Query, answers: impl IntoIterator<Item = Entity>) -> bool {
    let has = |entity: Entity| entity.index() < graph.entity_count();
    let fits = |term: &Query| match term {
        Query::Anchor(entity) => has(*entity),
        Query::Follow(relation, _) => relation.index() < graph.relation_count(),
        _ => true,
    };
    query.terms().into_iter().all(fits) && answers.into_iter().all(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GraphBuilder;
    use crate::dataset::{Origin, create};
    use crate::id::Relation;

    #[test]
    fn sets_are_found_by_the_name_of_their_split() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["test.skq", "my_test.jsonl", "test-queries.pkl", "test.txt", "latest.skq"];
        names.iter().for_each(|name| std::fs::write(folder.path().join(name), "").unwrap());
        let found = files(folder.path(), Split::Test).unwrap();
        let found: Vec<_> = found.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(found, ["my_test.jsonl", "test-queries.pkl", "test.skq"]);
        let error = files(folder.path(), Split::Valid).unwrap_err().to_string();
        assert!(error.ends_with("there is no query set with 'valid' in its name"), "{error}");
        assert!(files(Path::new("nowhere"), Split::Test).is_err());
    }

    #[test]
    fn sets_of_other_graphs_and_splits_are_refused() {
        let mut builder = GraphBuilder::default();
        builder.edge_named(Split::Train, "a", "r", "b").unwrap();
        let graph = builder.finish().unwrap().0;
        let follow = |entity, relation| Query::Anchor(Entity(entity)).follow(Relation(relation));
        assert!(fits(&graph, &follow(1, 1), [Entity(0)]));
        assert!(!fits(&graph, &follow(2, 1), []));
        assert!(!fits(&graph, &follow(1, 2), []));
        assert!(!fits(&graph, &follow(1, 1), [Entity(2)]));

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("set.skq");
        let check = |origin: Origin| {
            create(&file, origin).unwrap().finish().unwrap();
            check_origin(&file, &graph, Split::Test).map_err(|error| error.to_string())
        };
        let own = graph.fingerprint();
        check(Origin::default()).unwrap();
        check(Origin { graph: own, split: Some(Split::Test) }).unwrap();
        let error = check(Origin { graph: own, split: Some(Split::Valid) }).unwrap_err();
        assert!(error.contains("this is a valid set, and test queries"), "{error}");
        let error = check(Origin { graph: own + 1, split: None }).unwrap_err();
        assert!(error.contains("another graph"), "{error}");
    }
}
