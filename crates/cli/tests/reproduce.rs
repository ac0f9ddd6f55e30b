//! Models compared as a whole program: what was done stays, and what was not goes on.
#![allow(clippy::unwrap_used)]

mod support;

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Folder, Run};

/// A tiny model, and few queries.
const TINY: [&str; 7] = [
    "model.dim=8",
    "model.hidden=16",
    "train.batch=16",
    "train.warmup=10",
    "train.positives=4",
    "evaluate.queries=2",
    "evaluate.times=2",
];

fn reproduce(folder: &Folder, models: &str, more: &[&str]) -> Run {
    let args = [
        "reproduce",
        "world.kg",
        "--out",
        "report",
        "--updates",
        "30",
        "--most",
        "3",
        "--models",
        models,
    ];
    let tiny = TINY.iter().flat_map(|pair| ["--set", pair]);
    folder.run(&args.into_iter().chain(tiny).chain(more.iter().copied()).collect::<Vec<_>>())
}

fn findings(folder: &Folder, label: &str) -> Value {
    serde_json::from_slice(&folder.read(&format!("report/findings/{label}.json"))).unwrap()
}

fn modified(folder: &Folder, file: &str) -> std::time::SystemTime {
    folder.path(file).metadata().unwrap().modified().unwrap()
}

#[test]
fn models_are_measured_once() {
    let folder = Folder::with_world();
    let said = reproduce(&folder, "logic-point", &["--seed", "3"]).done();
    assert!(said.contains("LogicE") && said.contains("report/report.html"), "{said}");
    let point = findings(&folder, "logic-point");
    assert_eq!(point["training"]["updates"], 30);
    assert_eq!(point["training"]["curve"].as_array().unwrap().len(), 2);
    assert_eq!((&point["seed"], &point["data"]["name"]), (&Value::from(3), &Value::from("world")));
    assert_eq!(point["test"]["shapes"].as_object().unwrap().len(), 14);
    assert_eq!(point["test"]["shapes"]["2in"]["queries"], 3);
    let unions: Vec<_> = point["de_morgan"].as_object().unwrap().keys().collect();
    assert_eq!(unions, ["2u", "up"]);
    assert!(
        point["command"].as_str().unwrap().starts_with("skolem reproduce world.kg --out report ")
    );
    assert!(point["settings"].as_str().unwrap().contains("dim = 8"));

    // A second model; the first one stays as it is.
    let model = "report/models/logic-point/state.safetensors";
    let file = "report/findings/logic-point.json";
    let before = [model, file].map(|file| modified(&folder, file));
    reproduce(&folder, "logic-point,logic-bounds", &["--seed", "3"]).done();
    assert_eq!([model, file].map(|file| modified(&folder, file)), before);
    // Points are not uncertain.
    assert!(point["uncertainty"].as_array().unwrap().is_empty());
    let bounds = findings(&folder, "logic-bounds");
    for (at, measure) in ["entropy", "interval"].into_iter().enumerate() {
        let of = &bounds["uncertainty"][at];
        assert_eq!(of["measure"], measure);
        assert_eq!(of["shapes"].as_object().unwrap().len(), 12);
        assert_eq!(of["points"].as_array().unwrap().len(), 36);
        assert!(bounds["cardinality"][at]["shapes"]["1p"].is_number());
    }
    let page = String::from_utf8(folder.read("report/report.html")).unwrap();
    assert!(
        page.contains("Uncertainty and answers")
            && page.contains("LogicE + bounds")
            && page.contains("none of the paper’s data sets")
    );
    let page = String::from_utf8(folder.read("report/report.md")).unwrap();
    assert!(page.contains("| LogicE + bounds |"), "{page}");

    // Nothing is mixed with what was measured in another way.
    let report =
        "report/findings/logic-point.json: measured with other settings: name another folder";
    reproduce(&folder, "logic-point", &["--seed", "4"]).fails(4, report);
    reproduce(&folder, "logic-point", &["--seed", "3", "--most", "2"])
        .fails(2, "cannot be used multiple times");
}

#[test]
fn every_kind_is_measured() {
    let folder = Folder::with_world();
    let mut args =
        vec!["reproduce", "world.kg", "--out", "report", "--updates", "4", "--most", "2"];
    let tiny = TINY.iter().filter(|pair| **pair != "model.hidden=16");
    args.extend(tiny.flat_map(|pair| ["--set", pair]));
    folder.run(&args).done();
    let labels = ["beta", "gqe", "logic-bounds", "logic-point", "query2box"];
    assert_eq!(folder.files("report/findings"), labels.map(|label| format!("{label}.json")));
    for (label, shapes, measures) in
        [("beta", 14, &["entropy"][..]), ("query2box", 9, &["size"]), ("gqe", 9, &[])]
    {
        let found = findings(&folder, label);
        assert_eq!(found["kind"], label);
        assert_eq!(found["test"]["shapes"].as_object().unwrap().len(), shapes);
        let measured = found["uncertainty"].as_array().unwrap();
        assert_eq!(measured.iter().map(|of| &of["measure"]).collect::<Vec<_>>(), measures);
    }
    let page = String::from_utf8(folder.read("report/report.md")).unwrap();
    assert!(page.contains("LogicE, LogicE + bounds, BetaE, Query2Box and GQE learnt"), "{page}");
}

#[test]
fn what_was_killed_goes_on() {
    let folder = Folder::with_world();
    reproduce(&folder, "logic-bounds", &[]).done();
    let whole = findings(&folder, "logic-bounds");
    // As if it was killed before it was measured: the model is there.
    std::fs::remove_file(folder.path("report/findings/logic-bounds.json")).unwrap();
    let state = folder.read("report/models/logic-bounds/weights.safetensors");
    reproduce(&folder, "logic-bounds", &[]).done();
    assert!(folder.read("report/models/logic-bounds/weights.safetensors") == state);
    assert_eq!(findings(&folder, "logic-bounds")["test"], whole["test"]);
    // A model of other settings is not gone on with.
    std::fs::remove_file(folder.path("report/findings/logic-bounds.json")).unwrap();
    let other = reproduce(&folder, "logic-bounds", &["--set", "train.rate=0.5"]);
    other.fails(4, "begun with another graph, other settings or another time");
}

#[test]
fn a_killed_run_learns_on_from_its_state() {
    let folder = Folder::with_world();
    let mut args =
        vec!["reproduce", "world.kg", "--out", "report", "--updates", "300", "--most", "1"];
    args.extend(["--models", "logic-point", "--set", "save.seconds=0"]);
    args.extend(TINY.iter().flat_map(|pair| ["--set", pair]));
    let mut child =
        folder.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let state = folder.path("report/models/logic-point/state.safetensors");
    let limit = Instant::now() + Duration::from_secs(60);
    while !state.exists() && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < limit, "nothing happens");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path("report/findings").exists(), "killed before it was done");
    let run = folder.run(&args);
    assert!(run.err.contains("from update"), "{}", run.err);
    run.done();
    let found = findings(&folder, "logic-point");
    assert_eq!(found["training"]["updates"], 300);
    let curve: Vec<_> = found["training"]["curve"]
        .as_array()
        .unwrap()
        .iter()
        .map(|at| at["update"].as_u64().unwrap())
        .collect();
    assert_eq!(curve, [150, 300]);
}

#[test]
fn query_sets_of_a_folder_are_found() {
    let folder = Folder::new();
    let edges = |from: u32| -> String {
        let edge =
            |at: u32| format!("{at}\t0\t{}\n{}\t1\t{at}\n", (at * 7 + 1) % 20, (at * 7 + 1) % 20);
        (from..20).step_by(3).map(edge).collect()
    };
    std::fs::create_dir(folder.path("tiny")).unwrap();
    folder.write("tiny/stats.txt", "numentity: 20\nnumrelations: 2\n");
    folder.write("tiny/train.txt", edges(0) + &edges(1));
    folder.write(
        "tiny/valid.txt",
        edges(2).lines().take(6).map(|line| format!("{line}\n")).collect::<String>(),
    );
    folder.write(
        "tiny/test.txt",
        edges(2).lines().skip(6).map(|line| format!("{line}\n")).collect::<String>(),
    );
    let query = |anchor: u32| format!("{{\"t\": \"1p\", \"q\": [{anchor}, [0]]}}\n");
    folder.write("tiny/betae.test.sample.jsonl", query(17));
    folder.write("tiny/betae.test.jsonl", query(14) + &query(17));
    folder.write("tiny/q2b.test.jsonl", query(17));
    let mut args =
        vec!["reproduce", "tiny", "--out", "report", "--updates", "5", "--models", "logic-point"];
    args.extend(TINY.iter().flat_map(|pair| ["--set", pair]));
    folder.run(&args).done();
    let found = findings(&folder, "logic-point");
    assert_eq!(found["test"]["queries"]["file"], "betae.test.jsonl");
    assert_eq!(found["test"]["shapes"]["1p"]["queries"], 2);
    assert_eq!(found["generalization"]["shapes"]["1p"]["queries"], 1);
    folder.write("tiny/other.test.jsonl", query(14));
    folder.run(&args).fails(4, "are both test sets: name one with --test");
}

#[test]
fn mistakes_are_named() {
    let folder = Folder::with_world();
    let unknown = reproduce(&folder, "logic-point,transe", &[]);
    unknown.fails(2, "unknown model 'transe' (one of logic-point, logic-bounds,");
    folder
        .run(&["reproduce", "@world", "--out", "report"])
        .fails(4, "there are no valid edges to measure with");
    assert!(!folder.path("report").exists());
}
