use std::path::Path;

use super::*;
use crate::dataset::{Answers, Example, ExampleWriter};
use crate::id::Entity;
use crate::query::tuple::Tuple;
use crate::split::Split;

fn read(queries: &[u8], easy: Option<&[u8]>) -> Result<Vec<Example>> {
    let easy = easy.map(|bytes| (Path::new("easy.pkl"), bytes));
    let path = Path::new("test-queries.pkl");
    Reader::from_files(&Files { path, queries, easy, hard: None, training: false })?.collect()
}

fn example(json: &str, easy: &[u32], hard: &[u32]) -> Example {
    let list = |ids: &[u32]| Answers::listed(ids.iter().copied().map(Entity).collect());
    let query = serde_json::from_str::<Tuple>(json).unwrap().to_query().unwrap();
    Example { query, easy: list(easy), hard: list(hard) }
}

/// `('e', ('r',))` and `(5, (7,))`
const SHAPE: &[u8] = b"X\x01\0\0\0eX\x01\0\0\0r\x85\x86";
const QUERY: &[u8] = b"K\x05K\x07\x85\x86";

fn dict(parts: &[&[u8]]) -> Vec<u8> {
    [&b"\x80\x03}("[..], &parts.concat(), b"u."].concat()
}

#[test]
fn repeated_queries_and_keys_count_as_in_python() {
    let set = [b"\x8f(", QUERY, QUERY, b"\x90"].concat();
    let list = [b"](", QUERY, QUERY, b"e"].concat();
    assert_eq!(read(&dict(&[SHAPE, &set]), None).unwrap().len(), 1);
    assert_eq!(read(&dict(&[SHAPE, &list]), None).unwrap().len(), 2);
    assert_eq!(read(&dict(&[SHAPE, &list, SHAPE, &set]), None).unwrap().len(), 1);
    let answers = dict(&[QUERY, b"\x8f(K\x01\x90", QUERY, b"\x8f(K\x03K\x02K\x03\x90"]);
    let found = read(&dict(&[SHAPE, &set]), Some(&answers)).unwrap();
    assert_eq!(found[0].easy, Answers::Listed(vec![Entity(2), Entity(3)]));
    assert_eq!(found[0].hard, Answers::Unknown);
}

#[test]
fn a_shape_may_be_a_name_and_must_be_that_of_its_queries() {
    let set = [b"\x8f(", QUERY, b"\x90"].concat();
    assert_eq!(read(&dict(&[b"U\x021p", &set]), None).unwrap().len(), 1);
    let error = read(&dict(&[b"U\x022p", &set]), None).unwrap_err().to_string();
    assert_eq!(error, "test-queries.pkl: has a query of shape 1p under 2p");
}

#[test]
fn what_is_no_query_set_is_refused() {
    for (bytes, why) in [
        (b"].".to_vec(), "should hold a dict"),
        (dict(&[b"N", b"\x8f"]), "None in the place of a tuple"),
        (dict(&[SHAPE, b"K\x05"]), "a number in the place of a set"),
        (dict(&[SHAPE, b"\x8f(K\x05\x90"]), "bare number"),
        (dict(&[SHAPE, b"\x8f(K\x05]\x86\x90"]), "a list in the place of a tuple"),
        (dict(&[SHAPE, b"\x8f(K\x05J\xfd\xff\xff\xff\x85\x86\x90"]), "-3 is no entity"),
    ] {
        let error = read(&bytes, None).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let queries = dict(&[SHAPE, b"\x8f(", QUERY, b"\x90"]);
    for (answers, why) in [
        (dict(&[QUERY, b"\x8f(J\xff\xff\xff\xff\x90"]), "not the number of an entity"),
        (
            dict(&[b"K\x05K\x08\x85\x86", b"\x8f"]),
            "answers none of the queries of test-queries.pkl",
        ),
    ] {
        let error = read(&queries, Some(&answers)).unwrap_err().to_string();
        assert!(error.starts_with("easy.pkl: ") && error.contains(why), "{error}");
    }
}

#[test]
fn small_files_that_stand_for_much_are_not_unfolded() {
    // t = (t, t), again and again: 2⁶⁰ parts in 200 bytes.
    let bomb = [QUERY, &b"2\x86".repeat(60)].concat();
    let error = read(&dict(&[SHAPE, b"\x8f(", &bomb, b"\x90"]), None).unwrap_err().to_string();
    assert!(error.contains("too many times over") || error.contains("too deep"), "{error}");
    let steps = [b"K\x01(".to_vec(), b"K\x01".repeat(1_000_000), b"t\x86".to_vec()].concat();
    let error = read(&dict(&[SHAPE, b"\x8f(", &steps, b"\x90"]), None).unwrap_err().to_string();
    assert!(error.contains("depth"), "{error}");
    // A set of 10,000 answers that 6,000 queries share.
    let set = [b"\x8f(".to_vec(), b"K\x01".repeat(10_000), b"\x90q\x01".to_vec()].concat();
    let mut answers = [&b"}("[..], b"K\x01K\x01\x85\x86", &set].concat();
    let mut queries = [&b"}("[..], SHAPE, b"]("].concat();
    for at in 0..6_000u32 {
        let query = [b"J", &at.to_le_bytes()[..], b"K\x07\x85\x86"].concat();
        answers.extend([&query[..], b"h\x01"].concat());
        queries.extend(query);
    }
    answers.extend(b"u.");
    queries.extend(b"eu.");
    let error = read(&queries, Some(&answers)).unwrap_err().to_string();
    assert!(error.contains("too many times over"), "{error}");
}

#[test]
fn a_folder_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let examples = [
        example("[[1,[2]],[3,[4,-2]]]", &[5, 70_000], &[]),
        example("[9,[8]]", &[], &[u32::MAX]),
        example("[[[1,[2]],[3,[4]],[-1]],[6]]", &[1], &[2]),
    ];
    let mut writer = Box::new(Writer::create(folder.path(), Split::Test).unwrap());
    for example in examples.iter().chain(&examples[..1]) {
        writer.write(example).unwrap();
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().filter(is_visible).count(), 0);
    writer.finish().unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    files.sort_by_key(|file| file.as_ref().unwrap().file_name());
    let files: Vec<_> = files.into_iter().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["test-easy-answers.pkl", "test-hard-answers.pkl", "test-queries.pkl"]);
    let found: Vec<Example> =
        open(&folder.path().join("test-queries.pkl")).unwrap().map(Result::unwrap).collect();
    assert_eq!(found.len(), 3);
    assert!(examples.iter().all(|example| found.contains(example)));
}

fn is_visible(file: &std::io::Result<std::fs::DirEntry>) -> bool {
    !file.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')
}

#[test]
fn answers_come_with_all_queries_or_with_none() {
    let folder = tempfile::tempdir().unwrap();
    let listed = example("[9,[8]]", &[1], &[]);
    let unknown = Example { easy: Answers::Unknown, hard: Answers::Unknown, ..listed.clone() };
    let counted = Example { easy: Answers::Count(3), ..unknown.clone() };
    let path = folder.path().join("train-queries.pkl");
    let mut writer = Box::new(Writer::at(&path).unwrap());
    writer.write(&unknown).unwrap();
    assert!(writer.write(&listed).unwrap_err().to_string().contains("others have not"));
    assert!(writer.write(&counted).unwrap_err().to_string().contains("must be listed"));
    writer.finish().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(open(&path).unwrap().next().unwrap().unwrap(), unknown);

    let mut writer = Box::new(Writer::at(&path).unwrap());
    writer.write(&listed).unwrap();
    let other = example("[9,[8]]", &[2], &[]);
    assert!(writer.write(&other).unwrap_err().to_string().contains("comes twice"));
    let hard = example("[9,[7]]", &[2], &[4]);
    assert!(writer.write(&hard).unwrap_err().to_string().contains("no hard answers"));
    writer.finish().unwrap();
    assert_eq!(open(&path).unwrap().next().unwrap().unwrap(), listed);
    assert!(Writer::at(Path::new("other-queries.pkl")).is_err());
    assert!(open(Path::new("train-answers.pkl")).is_err());
}
