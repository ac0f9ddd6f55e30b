//! Query sets: drawing, checking, answering, comparing and converting them.

mod support;

use support::Folder;

/// A folder with `world.kg` and query sets of it under `drawn`.
fn drawn() -> Folder {
    let folder = Folder::with_world();
    folder.run(&["sample", "world.kg", "--out", "drawn", "--count", "3"]).done();
    folder
}

#[test]
fn the_same_seed_draws_the_same_queries() {
    let folder = Folder::with_world();
    // All shapes in one format are enough: what is drawn does not depend on the format.
    let few: &[&str] = &["--shape", "2p", "--shape", "pni"];
    for (format, shapes) in [("skq", &[][..]), ("jsonl", few), ("jsonl-gz", few), ("pickle", few)] {
        let draw = |out: &str, seed: &str, threads: &str| {
            let args = ["--count", "3", "--format", format, "--seed", seed, "--threads", threads];
            folder.run(&[&["sample", "world.kg", "--out", out], &args[..], shapes].concat()).done();
            let read = |name: String| {
                let bytes = folder.read(&format!("{out}/{name}"));
                (name, bytes)
            };
            folder.files(out).into_iter().map(read).collect::<Vec<_>>()
        };
        let name = |run: &str| format!("{format}-{run}");
        let one = draw(&name("one"), "5", "1");
        assert_eq!(one.len(), if format == "pickle" { 8 } else { 3 });
        assert!(one == draw(&name("again"), "5", "1"), "{format} differs when drawn again");
        assert!(one == draw(&name("two"), "5", "2"), "{format} differs with two threads");
        assert!(one != draw(&name("other"), "6", "1"), "{format} does not depend on the seed");
    }
}

#[test]
fn any_pattern_can_be_drawn() {
    let folder = Folder::with_world();
    let args = ["sample", "world.kg", "--out", "q", "--split", "valid,test", "--count", "4"];
    let shapes = ["--shape", "2i", "--shape", "p(p(e) & p(p(e)) & !p(e))", "--json"];
    let rows = folder.run(&[&args[..], &shapes].concat()).json();
    let drawn: Vec<_> = rows.as_array().unwrap().iter().map(|row| &row["drawn"]).collect();
    assert_eq!(drawn, [4, 4, 4, 4]);
    assert_eq!(folder.files("q"), ["test.skq", "valid.skq"]);
    let stats = folder.run(&["dataset", "stats", "q/test.skq", "--json"]).json();
    assert_eq!(stats.as_array().unwrap().len(), 2);
    assert!(stats[0]["mean_hard"].as_f64().unwrap() >= 1.0);

    folder.run(&[&args[..], &["--shape", "p(e"]].concat()).fails(2, "1:4: expected ')'");
    folder.run(&[&args[..], &["--shape", "4q"]].concat()).fails(2, "1p 2p 3p 2i 3i pi ip");
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let folder = Folder::with_world();
    // An entity by itself has no hard answers.
    let run = folder.run(&[
        "sample", "world.kg", "--out", "q", "--split", "test", "--shape", "e", "--count", "2",
    ]);
    assert_eq!(run.err, "note: found only 0 of the 2 e queries wanted for test\n");
    assert!(run.done().ends_with(" s\n"));
    folder
        .run(&["sample", "@world", "--out", "q", "--split", "test", "--count", "2"])
        .fails(2, "the graph has no test edges");
}

#[test]
fn sets_drawn_are_right() {
    let folder = drawn();
    for (split, queries) in [("train", 30), ("valid", 42), ("test", 42)] {
        let file = format!("drawn/{split}.skq");
        let said = folder
            .run(&["dataset", "verify", "world.kg", &file, "--split", split, "--json"])
            .json();
        let expected = serde_json::json!(
            { "queries": queries, "checked": queries, "different": 0, "differences": [] }
        );
        assert_eq!(said, expected, "{split}");
    }
}

#[test]
fn wrong_answers_are_found() {
    let folder = drawn();
    // Held to another split, the answers are others.
    let run = folder.run(&["dataset", "verify", "world.kg", "drawn/valid.skq", "--split", "test"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("the file says") && run.out.contains("differences\n"), "{}", run.out);

    // One answer less, in a file that is otherwise right.
    folder.run(&["dataset", "convert", "drawn/test.skq", "test.jsonl"]).done();
    let text = String::from_utf8(folder.read("test.jsonl")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut first: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    first["hard"].as_array_mut().unwrap().pop();
    first["nh"] = first["hard"].as_array().unwrap().len().into();
    lines[0] = first.to_string();
    folder.write("wrong.jsonl", lines.join("\n"));
    let args = ["dataset", "verify", "world.kg", "wrong.jsonl", "--split", "test", "--json"];
    let run = folder.run(&args);
    let said: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &said["different"]), (1, &1.into()));

    let run = folder.run(&["dataset", "compare", "test.jsonl", "wrong.jsonl", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &said["same"]), (1, &false.into()));
    assert!(said["first"].is_string());
}

#[test]
fn answering_gives_the_answers_drawn() {
    let folder = drawn();
    for threads in ["1", "2"] {
        let out = format!("{threads}.skq");
        let args = ["dataset", "answer", "world.kg", "drawn/test.skq", &out, "--split", "test"];
        let said = folder.run(&[&args[..], &["--threads", threads]].concat()).done();
        assert_eq!(said, format!("{out}: 42 queries with answers\n"));
        assert!(folder.read(&out) == folder.read("drawn/test.skq"), "{threads} threads");
    }
}

#[test]
fn a_set_for_another_graph_is_refused() {
    let folder = drawn();
    folder.write("small.tsv", "a\tr\tb\n");
    folder.run(&["import", "small.tsv", "--out", "small.kg"]).done();
    folder
        .run(&["dataset", "verify", "small.kg", "drawn/train.skq", "--split", "train"])
        .fails(2, "is it the graph that the queries were made for?");
}

#[test]
fn every_format_becomes_every_other() {
    let folder = drawn();
    let names = ["test.skq", "test.jsonl", "test.jsonl.gz", "test-queries.pkl"];
    for from in names {
        std::fs::create_dir(folder.path(from)).unwrap();
        let first = format!("{from}/{from}");
        folder.run(&["dataset", "convert", "drawn/test.skq", &first]).done();
        for to in names.into_iter().filter(|to| *to != from) {
            let second = format!("{from}/{to}");
            let said = folder.run(&["dataset", "convert", &first, &second]).done();
            assert_eq!(said, format!("{second}: 42 queries\n"));
            let same = folder.run(&["dataset", "compare", "drawn/test.skq", &second]);
            assert_eq!((same.code, same.out.ends_with("\nthe same\n")), (0, true), "{second}");
        }
    }
}

#[test]
fn different_sets_are_told_apart() {
    let folder = drawn();
    let compare = |more: &[&str]| {
        let args = ["dataset", "compare", "drawn/train.skq", "drawn/test.skq"];
        folder.run(&[&args[..], more].concat())
    };
    let run = compare(&[]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("\n  2u   "), "{}", run.out);
    let shared = compare(&["--shared-shapes"]);
    assert!(!shared.out.contains("\n  2u   "), "{}", shared.out);
}

#[test]
fn damaged_sets_are_refused() {
    let folder = drawn();
    let whole = folder.read("drawn/test.skq");
    let damaged = (0..whole.len()).step_by(whole.len() / 12).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        bytes
    });
    let cut = [0, 1, 20, whole.len() / 2, whole.len() - 1].map(|at| whole[..at].to_vec());
    folder.write("out.jsonl", "what was there");
    for bytes in damaged.chain(cut) {
        folder.write("bad.skq", &bytes);
        folder.run(&["dataset", "stats", "bad.skq"]).fails(4, "error: bad.skq: ");
        folder.run(&["dataset", "convert", "bad.skq", "out.jsonl"]).fails(4, "error: bad.skq: ");
    }
    assert_eq!(folder.read("out.jsonl"), b"what was there");
    folder.write("bad.jsonl", "{\"t\": \"1p\", \"q\": [0, [0]]}\n{\"t\": ");
    folder.run(&["dataset", "stats", "bad.jsonl"]).fails(4, "error: bad.jsonl:2:");
    folder.write("test-queries.pkl", b"\x80\x04c__builtin__\neval\n.");
    folder.run(&["dataset", "stats", "test-queries.pkl"]).fails(4, "error: test-queries.pkl: ");
}
