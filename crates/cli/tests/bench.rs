//! Whole runs of `skolem bench`, at sizes that take no time.

mod support;

use serde_json::Value;
use support::{Folder, Run};

const TINY: &str = "--dim 4 --hidden 6 --batch 14 --negatives 3 --entities 60 --relations 6 \
                    --updates 1 --most-entities 100";

#[track_caller]
fn bench(more: &[&str]) -> Run {
    bench_in(&Folder::new(), "no-such-python", more)
}

#[track_caller]
fn bench_in(folder: &Folder, python: &str, more: &[&str]) -> Run {
    let mut args = vec!["--threads", "2", "bench", "train"];
    args.extend(TINY.split_whitespace());
    args.extend(["--python", python, "--torch-script", "here.py"]);
    args.extend(more);
    folder.write("here.py", "");
    folder.run(&args)
}

#[test]
fn without_pytorch_ours_is_measured_and_that_is_said() {
    let run = bench(&["--json"]);
    assert!(run.err.contains("SKIPPED: PyTorch is not measured"), "{}", run.err);
    assert!(run.err.contains("cannot start no-such-python"), "{}", run.err);
    let report = run.json();
    assert_eq!(report["torch"], Value::Null);
    assert!(report["skipped"].as_str().expect("a reason").contains("no-such-python"));
    let rows = report["rows"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().expect("a name")).collect();
    for mode in ["point", "bounds"] {
        for mix in ["path", "other"] {
            let name = format!("{mode}-{mix}");
            let row = &rows[names.iter().position(|found| **found == name).expect("a row")];
            assert!(row["ours"].as_f64().expect("seconds") > 0.0);
            assert_eq!([&row["torch"], &row["ratio"], &row["met"]], [&Value::Null; 3]);
        }
    }
    assert!(names.contains(&"entities 60") && names.contains(&"entities 100"), "{names:?}");
    // A row, or one for each mix where the processor has these products.
    let bf16 = names.iter().filter(|name| name.starts_with("bf16")).count();
    assert!(names.contains(&"memory point") && [1, 4].contains(&bf16), "{names:?}");
}

#[test]
fn one_row_as_a_table() {
    let run = bench(&["--only", "point-path", "--only", "avx2"]);
    let text = run.done();
    assert!(text.contains("SKIPPED: PyTorch was not measured"), "{text}");
    assert!(text.contains("point-path") && !text.contains("bounds-path"), "{text}");
    assert!(text.contains("avx2"), "{text}");
    assert!(!text.contains("FAILED"), "{text}");
    assert!(bench(&["--only", "point-paths"]).err.contains("point-path"));
}

/// A Python whose PyTorch takes an hour an update, or half an hour if it is tuned, and fails with bounds.
#[cfg(unix)]
#[test]
fn pytorch_is_compared_with_as_it_comes_and_tuned() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let script = r#"#!/bin/sh
case "$*" in
  -c*) echo 9.9 ;;
  *bounds*) echo 'no bounds today' >&2; exit 3 ;;
  *fused*) echo "{\"per_update\": $((1800 * THP_MEM_ALLOC_ENABLE)), \"peak_rss_mb\": 1}" ;;
  *) echo '{"per_update": 3600, "peak_rss_mb": 1}' ;;
esac
"#;
    folder.write("python", script);
    let path = folder.path("python");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("can set");
    let more = ["--json", "--only", "point-other", "--only", "bounds-path"];
    let run = bench_in(&folder, path.to_str().expect("UTF-8"), &more);
    assert_eq!(run.code, 1);
    let report: Value = serde_json::from_str(&run.out).expect("valid JSON");
    assert_eq!(report["torch"], "9.9");
    let [good, bad] = [0, 1].map(|at| &report["rows"][at]);
    assert_eq!([&good["torch"], &good["torch_tuned"]], [&Value::from(3600.0), &1800.0.into()]);
    let ratio = |name: &str| good[name].as_f64().expect("a ratio") * good["ours"].as_f64().unwrap();
    assert!((ratio("ratio") - 3600.0).abs() < 1e-6 && (ratio("ratio_tuned") - 1800.0).abs() < 1e-6);
    assert_eq!(good["met"], true);
    let note = bad["note"].as_str().expect("a note");
    assert!(note.starts_with("FAILED") && note.contains("no bounds today"), "{note}");
}
