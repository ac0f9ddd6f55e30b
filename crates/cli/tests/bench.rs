//! Whole runs of `skolem bench`, at sizes that take no time.

mod support;

use serde_json::Value;
use support::{Folder, Run};

const TINY: &str = "--dim 4 --hidden 6 --batch 14 --negatives 3 --entities 60 --relations 6 \
                    --updates 1 --most-entities 100";

#[track_caller]
fn bench(more: &[&str]) -> Run {
    let mut args = vec!["--threads", "2", "bench", "train"];
    args.extend(TINY.split_whitespace());
    args.extend(["--python", "no-such-python", "--torch-script", "here.py"]);
    args.extend(more);
    let folder = Folder::new();
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
    assert!(names.contains(&"memory point") && names.contains(&"bf16"), "{names:?}");
}

#[test]
fn one_row_as_a_table() {
    let run = bench(&["--only", "point-path", "--only", "bf16"]);
    let text = run.done();
    assert!(text.contains("SKIPPED: PyTorch was not measured"), "{text}");
    assert!(text.contains("point-path") && !text.contains("bounds-path"), "{text}");
    assert!(text.contains("bf16: "), "{text}");
    assert!(bench(&["--only", "point-paths"]).err.contains("point-path"));
}
