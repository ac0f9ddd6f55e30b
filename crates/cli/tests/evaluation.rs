//! Measuring as a whole program: every way to print the same figures, and what is refused.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use serde_json::Value;
use support::Folder;

const TINY: [&str; 8] = [
    "model.dim=8",
    "model.hidden=16",
    "model.bounds=true",
    "train.batch=16",
    "train.positives=4",
    "train.warmup=10",
    "evaluate.times=0",
    "evaluate.queries=2",
];

/// Trains a tiny model of `world.kg`.
fn train(folder: &Folder, out: &str, settings: &[&str], more: &[&str]) {
    let mut args = vec!["train", "world.kg", "--out", out, "--updates", "8"];
    args.extend(TINY.iter().chain(settings).flat_map(|pair| ["--set", pair]));
    args.extend(more);
    folder.run(&args).done();
}

/// A folder with `world.kg`, a model of it, and query sets.
fn with_model() -> Folder {
    let folder = Folder::with_world();
    train(&folder, "model", &[], &[]);
    folder.run(&["sample", "world.kg", "--count", "12", "--out", "sets"]).done();
    folder
}

fn eval(folder: &Folder, more: &[&str]) -> support::Run {
    folder.run(&[&["eval", "model", "--queries", "sets"][..], more].concat())
}

/// The cells of a CSV by row and column; empty ones are left out.
fn cells(csv: &str) -> BTreeMap<(String, String), f64> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let mut all = BTreeMap::new();
    for line in lines {
        assert_eq!(line.len(), header.len(), "{line:?}");
        for (column, cell) in header.iter().zip(&line).skip(1).filter(|(_, cell)| !cell.is_empty())
        {
            all.insert((line[0].to_owned(), (*column).to_owned()), cell.parse().unwrap());
        }
    }
    all
}

#[test]
fn tables_json_and_csv_say_the_same() {
    let folder = with_model();
    let json = eval(&folder, &["--json", "--cardinality", "--csv", "all.csv"]).json();
    let csv = String::from_utf8(folder.read("all.csv")).unwrap();
    assert_eq!(eval(&folder, &["--cardinality", "--csv", "-"]).done(), csv);
    let cells = cells(&csv);
    let mut seen = 0;
    let mut same = |row: &str, column: &str, value: &Value| {
        let cell = cells.get(&(row.to_owned(), column.to_owned()));
        // The JSON reader of this test may lose the last bit.
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-15 * a.abs().max(1.0);
        let same = match (cell, value.as_f64()) {
            (Some(cell), Some(value)) => near(*cell, value),
            (cell, value) => cell.is_none() && value.is_none(),
        };
        assert!(same, "{row} {column}: {cell:?} and {value}");
        seen += usize::from(cell.is_some());
    };
    let ranks = ["queries", "mrr", "hits1", "hits3", "hits10"];
    assert_eq!(json["shapes"].as_object().unwrap().len(), 14);
    for (shape, of) in json["shapes"].as_object().unwrap() {
        ranks.iter().for_each(|name| same(shape, name, &of[name]));
    }
    assert!(json["de_morgan"].as_object().unwrap().keys().eq(["2u", "up"]));
    for (shape, of) in json["de_morgan"].as_object().unwrap() {
        ranks.iter().for_each(|name| same(&format!("{shape}-DM"), name, &of[name]));
    }
    for (row, name) in
        [("mean without negation", "epfo"), ("mean with negation", "negation"), ("mean", "all")]
    {
        ranks.iter().for_each(|figure| same(row, figure, &json["means"][name][figure]));
    }
    for measure in ["entropy", "interval"] {
        let of = &json["uncertainty"][measure];
        assert_eq!(of["shapes"].as_object().unwrap().len(), 12);
        let shapes = of["shapes"].as_object().unwrap().iter();
        for (shape, of) in shapes.map(|(shape, of)| (&shape[..], of)).chain([("mean", &of["mean"])])
        {
            for name in ["queries", "spearman", "pearson", "error"] {
                same(shape, &format!("{measure}_{name}"), &of[name]);
            }
            assert!(of["error"].as_f64().unwrap() > 0.0);
        }
    }
    assert_eq!(seen, cells.len(), "the CSV says more");
    // A mean is one of the rows', and De Morgan's rows are in none.
    let epfo = ["1p", "2p", "3p", "2i", "3i", "pi", "ip", "2u", "up"];
    let sum: f64 = epfo.iter().map(|shape| json["shapes"][shape]["hits3"].as_f64().unwrap()).sum();
    assert!((json["means"]["epfo"]["hits3"].as_f64().unwrap() - sum / 9.0).abs() < 1e-12);

    let tables = eval(&folder, &["--cardinality"]).done();
    for word in
        ["2u-DM", "mean with negation", "entropy: Spearman", "interval: Spearman", "error %"]
    {
        assert!(tables.contains(word), "{word} is not in {tables}");
    }
    assert!(!eval(&folder, &[]).done().contains("error %"));
}

#[test]
fn figures_do_not_depend_on_threads_or_the_format_of_the_set() {
    let folder = with_model();
    let json = eval(&folder, &["--json", "--cardinality"]).done();
    for threads in ["1", "3"] {
        assert_eq!(eval(&folder, &["--json", "--cardinality", "--threads", threads]).done(), json);
    }
    for format in ["pickle", "jsonl-gz"] {
        folder
            .run(&["sample", "world.kg", "--count", "12", "--out", format, "--format", format])
            .done();
        let found = folder.run(&["eval", "model", "--queries", format, "--json"]).json();
        let told: Value = serde_json::from_str(&json).unwrap();
        for (shape, of) in told["shapes"].as_object().unwrap() {
            // Pickled sets have an order of their own, in which figures are added up.
            for name in ["queries", "mrr", "hits1", "hits3", "hits10"] {
                let [a, b] =
                    [&of[name], &found["shapes"][shape][name]].map(|x| x.as_f64().unwrap());
                assert!((a - b).abs() < 1e-12, "{format} {shape} {name}: {a} {b}");
            }
        }
    }
}

#[test]
fn points_have_no_uncertainty() {
    let folder = with_model();
    train(&folder, "points", &["model.bounds=false"], &[]);
    let args = ["eval", "points", "--queries", "sets", "--cardinality"];
    let tables = folder.run(&args).done();
    assert!(tables.contains("up-DM") && !tables.contains("Spearman"), "{tables}");
    let json = folder.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(json["uncertainty"], serde_json::json!({}));
}

#[test]
fn entailment_ranks_all_answers_of_a_model_that_was_shown_all_edges() {
    let folder = with_model();
    let hard = |out: &str| serde_json::from_str::<Value>(out).unwrap()["shapes"]["2p"].clone();
    let run = eval(&folder, &["--json"]);
    assert_eq!(run.err, "");
    let predicted = hard(&run.done());
    let entailed = hard(&eval(&folder, &["--json", "--entailment"]).done());
    assert_eq!(predicted["queries"], entailed["queries"]);
    assert_ne!(predicted["mrr"], entailed["mrr"]);
    // Also queries of train, which have no hard answers otherwise.
    let train_set = eval(&folder, &["--json", "--entailment", "--split", "train"]).json();
    assert_eq!(train_set["shapes"]["2i"]["queries"], 12);
    // Sampled on all edges, and read: train, valid and test sets together.
    for (out, more) in [("sampled", &[][..]), ("read", &["--queries", "sets"])] {
        train(&folder, out, &["train.split=test"], more);
        let args = ["eval", out, "--queries", "sets"];
        let run = folder.run(&args);
        assert!(run.err.contains("note: the model learnt from the test edges"), "{}", run.err);
        let run = folder.run(&[&args[..], &["--entailment"]].concat());
        assert_eq!((run.code, &run.err[..]), (0, ""));
    }
    let card = String::from_utf8(folder.read("read/README.md")).unwrap();
    assert!(card.contains("It was shown the test edges, too"), "{card}");
    let description = String::from_utf8(folder.read("read/model.toml")).unwrap();
    // 10 shapes to train with, and 14 to measure with twice.
    assert!(description.contains(&format!("examples = {}", 12 * (10 + 2 * 14))), "{description}");
    std::fs::remove_file(folder.path("sets/test.skq")).unwrap();
    let mut args = vec!["train", "world.kg", "--out", "x", "--queries", "sets"];
    args.extend(["--set", "train.split=test"]);
    folder.run(&args).fails(4, "sets: there is no query set with 'test' in its name");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let folder = with_model();
    folder.write("empty.jsonl", "");
    folder.write("other.jsonl", "{\"q\":[0,[0]],\"hard\":[1],\"easy\":[]}\n{\"q\":[100000,[0]]}");
    folder.write("count.jsonl", r#"{"q":[0,[0]],"nh":100}"#);
    folder.write("none.jsonl", r#"{"q":[0,[0]],"easy":[1],"hard":[]}"#);
    std::fs::create_dir(folder.path("nothing")).unwrap();
    let with = |queries: &str, more: &[&str]| {
        folder.run(&[&["eval", "model", "--queries", queries][..], more].concat())
    };
    with("empty.jsonl", &[]).fails_with(4, "error: empty.jsonl: there is no query in it");
    with("nothing", &[]).fails(4, "nothing: there is no query set with 'test' in its name");
    with("nowhere.skq", &[]).fails(4, "nowhere.skq: No such file");
    with("world.kg", &[]).fails(4, "world.kg: its name is that of no query set");
    with("other.jsonl", &[]).fails(4, "other.jsonl: query 2 names an entity or a relation");
    with("count.jsonl", &[]).fails(4, "count.jsonl: query 1 has 100 hard answers as the file says");
    with("none.jsonl", &[]).fails(4, "none.jsonl: no query has a hard answer on the test split");
    with("sets/valid.skq", &[]).fails(4, "sets/valid.skq: this is a valid set, and test queries");
    with("sets", &["--split", "train"]).fails(2, "train queries have no hard answers");
    with("sets", &["--json", "--csv", "-"]).fails_with(2, "error: --json or --csv -, not both");
    with("sets", &["--csv", "nowhere/x.csv"]).fails(4, "nowhere/x.csv: there is no folder nowhere");
    // A set of another graph with as many entities.
    let args = ["import", support::WORLD, "--holdout", "0.2,0.2", "--out", "new.kg"];
    folder.run(&args).done();
    folder.run(&["sample", "new.kg", "--count", "3", "--out", "new"]).done();
    with("new", &[]).fails(4, "new/test.skq: this query set was made from another graph");
    // Which sets of a folder are taken is said where there are several.
    std::fs::copy(folder.path("sets/test.skq"), folder.path("sets/my-test.skq")).unwrap();
    let run = with("sets", &["--json"]);
    assert_eq!(run.err, "note: ranking the queries of sets/my-test.skq, sets/test.skq\n");
    assert_eq!(run.json()["shapes"]["2i"]["queries"], 24);
    // Queries without hard answers are left out, and named.
    folder.write("some.jsonl", "{\"q\":[0,[0]],\"easy\":[1],\"hard\":[]}\n{\"q\":[[0,[0]],[0,[1]]],\"easy\":[],\"hard\":[1]}");
    let run = with("some.jsonl", &["--json"]);
    assert_eq!(run.err, "note: left out 1 1p query without hard answers on the test split\n");
    let json = run.json();
    assert!(json["shapes"].as_object().unwrap().keys().eq(["2i"]));
    assert_eq!(json["means"]["all"], json["shapes"]["2i"]);
}
