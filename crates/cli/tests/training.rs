//! Training as a whole program: same seed, same model; and whatever ends a run, nothing is lost.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Folder, Run};

/// Settings of a tiny model.
const TINY: [&str; 7] = [
    "model.dim=8",
    "model.hidden=16",
    "train.batch=16",
    "train.warmup=10",
    "evaluate.queries=2",
    "evaluate.times=0",
    "save.seconds=0",
];
const EVALUATED: &str = "evaluate.times=2";
/// All entities are negatives, looked through as bytes.
const FAST: [&str; 2] = ["train.recipe=fast", "train.positives=4"];
const PAPER: [&str; 2] = ["train.recipe=paper", "train.negatives=8"];

/// The arguments that train a tiny model of `world.kg`.
fn training<'a>(out: &'a str, updates: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["train", "world.kg", "--out", out, "--updates", updates];
    args.extend(TINY.iter().chain(settings).flat_map(|pair| ["--set", pair]));
    args
}

fn resuming(out: &str) -> [&str; 4] {
    ["train", "--out", out, "--resume"]
}

type Tensors = BTreeMap<String, Vec<u8>>;

/// The bytes of each tensor in a file.
#[track_caller]
fn tensors(folder: &Folder, file: &str) -> Tensors {
    let bytes = folder.read(file);
    let (length, rest) = bytes.split_first_chunk().expect("a length");
    let (header, data) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: BTreeMap<String, Value> = serde_json::from_slice(header).expect("a header");
    let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
    tensors
        .map(|(name, info)| {
            let [start, end] = [0, 1].map(|at| info["data_offsets"][at].as_u64().unwrap() as usize);
            (name, data[start..end].to_vec())
        })
        .collect()
}

/// What was measured on the way, without the time that it took.
fn metrics(folder: &Folder, model: &str) -> Vec<Value> {
    let text = String::from_utf8(folder.read(&format!("{model}/metrics.jsonl"))).unwrap();
    let rows = text.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row.as_object_mut().unwrap().remove("seconds").unwrap();
        row
    });
    rows.collect()
}

/// Everything about two models that may not differ.
#[track_caller]
fn assert_same(folder: &Folder, a: &str, b: &str) {
    for file in ["state.safetensors", "weights.safetensors"] {
        let [of_a, of_b] = [a, b].map(|model| tensors(folder, &format!("{model}/{file}")));
        assert!(of_a.keys().eq(of_b.keys()));
        for (name, bytes) in &of_a {
            assert!(of_b[name] == *bytes, "{file}: tensor {name} of {a} and {b} differs");
        }
    }
    assert_eq!(metrics(folder, a), metrics(folder, b));
}

/// Files that were being written when a run was killed.
fn partial(folder: &Folder, model: &str) -> Vec<String> {
    if !folder.path(model).exists() {
        return Vec::new();
    }
    let names = folder.files(model).into_iter();
    names.filter(|name| name.ends_with(".partial")).collect()
}

/// Starts a run whose words nobody reads.
fn start(folder: &Folder, args: &[&str]) -> Child {
    folder.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
}

/// Waits until something is so, or the run has ended.
fn wait_until(child: &mut Child, is_so: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !is_so() && child.try_wait().expect("a status").is_none() {
        assert!(Instant::now() < limit, "nothing happens");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Tells the files of a path apart, though they have the same name.
fn which(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| found.ino() ^ found.mtime_nsec() as u64)
}

/// Sends a signal to a run, which must end by itself.
fn signal(child: &mut Child, name: &str) -> i32 {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let sent = Instant::now();
    let code = child.wait().expect("it ends").code().expect("by itself");
    assert!(sent.elapsed() < Duration::from_secs(20), "{name}: it took {:?}", sent.elapsed());
    code
}

#[test]
fn same_seed_same_model_whatever_the_threads() {
    let folder = Folder::with_world();
    for (number, (recipe, bounds)) in [
        (FAST, "model.bounds=false"),
        (FAST, "model.bounds=true"),
        (PAPER, "model.bounds=false"),
        (PAPER, "model.bounds=true"),
    ]
    .into_iter()
    .enumerate()
    {
        let models = ["1", "2"].map(|threads| {
            let model = format!("{number}-{threads}");
            let mut args = training(&model, "12", &[bounds, EVALUATED]);
            args.extend(recipe.iter().flat_map(|pair| ["--set", pair]));
            args.extend(["--threads", threads]);
            folder.run(&args).done();
            model
        });
        assert_same(&folder, &models[0], &models[1]);
    }
    // Another seed is another model.
    let [a, b] = ["0-1", "other"].map(|model| format!("{model}/state.safetensors"));
    folder
        .run(&training("other", "12", &[&FAST[..], &["train.seed=1", EVALUATED]].concat()))
        .done();
    assert!(tensors(&folder, &a)["entities"] != tensors(&folder, &b)["entities"]);
}

/// What a kind has no complement for is said, and refused where somebody asks for it.
#[test]
fn every_kind_learns_and_says_what_it_cannot() {
    let folder = Folder::with_world();
    folder.run(&["sample", "world.kg", "--count", "3", "--out", "sets"]).done();
    let left_out = "shapes 2in, 3in, inp, pin, pni are left out";
    for (kind, complements) in [("gqe", false), ("query2box", false), ("beta", true)] {
        let model = format!("model.kind={kind}");
        let set = ["train.batch=16", "model.dim=8", "evaluate.queries=2", "evaluate.times=2"];
        let mut args = vec!["train", "world.kg", "--out", kind, "--updates", "6"];
        args.extend(set.iter().chain([&&model[..]]).flat_map(|pair| ["--set", pair]));
        let learnt = folder.run(&args);
        assert_eq!(learnt.code, 0, "{}", learnt.err);
        assert_eq!(learnt.err.contains(left_out), !complements, "{}", learnt.err);
        let longer = ["train", "--out", kind, "--resume", "--updates", "8", "--json"];
        assert_eq!(folder.run(&longer).json()["updates"], 8);
        let eval = ["eval", kind, "--queries", "sets/valid.skq", "--split", "valid", "--json"];
        let measured = folder.run(&eval);
        let said = format!("{kind} has no complement: {left_out}");
        assert_eq!(measured.err.contains(&said), !complements, "{}", measured.err);
        let shapes = measured.json()["shapes"].as_object().unwrap().len();
        assert_eq!(shapes, if complements { 14 } else { 9 });
        args[3] = "refused";
        args.extend(["--set", "mix.2in=1"]);
        if !complements {
            folder.run(&args).fails(2, "so it cannot learn shapes with a negation: leave 2in out");
        }
    }
    let other = training("refused", "4", &["model.kind=gqe"]);
    folder.run(&other).fails(2, "unknown knob 'model.hidden'");
    let other = training("refused", "4", &["model.kind=transe"]);
    folder.run(&other).fails(2, "unknown model.kind 'transe' (one of logic, gqe, query2box, beta)");
}

/// Numbers that differ from run to run, so that kills do.
fn random(end: u64) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() % end
}

/// Kills a run many times, each time going on; how many kills landed inside a save.
fn kill_often(folder: &Folder, model: &str, updates: &str, settings: &[&str], kills: u32) -> u32 {
    let (state, toml) = (format!("{model}/state.safetensors"), format!("{model}/model.toml"));
    let state = folder.path(&state);
    let (mut made, mut inside) = (0, 0);
    while made < kills {
        let mut child = match folder.path(&toml).exists() {
            true => start(folder, &resuming(model)),
            false => start(folder, &training(model, updates, settings)),
        };
        let began = Instant::now();
        if made % 5 == 0 {
            // Wherever it is: at its start, most likely.
            let pause = Duration::from_millis(random(600));
            wait_until(&mut child, || began.elapsed() >= pause);
        } else {
            let before = which(&state);
            wait_until(&mut child, || which(&state) != before);
            let (saved, pause) = (Instant::now(), Duration::from_micros(random(40_000)));
            wait_until(&mut child, || saved.elapsed() >= pause);
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended after {made} kills: more updates");
        child.kill().unwrap();
        child.wait().unwrap();
        made += 1;
        inside += u32::from(!partial(folder, model).is_empty());
    }
    folder.run(&resuming(model)).done();
    assert_eq!(partial(folder, model), [""; 0], "left behind");
    inside
}

/// `SKOLEM_KILLS=50 cargo test -p skolem-cli --test training kill -- --nocapture` kills more often.
#[test]
fn killed_at_any_moment_it_goes_on_to_the_same_model() {
    let kills = std::env::var("SKOLEM_KILLS").ok().map_or(10, |text| text.parse().unwrap());
    let folder = Folder::with_world();
    let updates = (12 * kills).to_string();
    for (recipe, kills) in [(FAST, kills - kills / 2), (PAPER, kills / 2)] {
        let settings = [&recipe[..], &["evaluate.times=8", "model.bounds=true"]].concat();
        folder.run(&training("whole", &updates, &settings)).done();
        let inside = kill_often(&folder, "killed", &updates, &settings, kills);
        assert_same(&folder, "whole", "killed");
        println!("{}: {kills} kills, {inside} inside a save: the same model", recipe[0]);
        for model in ["whole", "killed"] {
            std::fs::remove_dir_all(folder.path(model)).unwrap();
        }
    }
}

#[test]
fn what_killed_runs_leave_is_no_model_and_is_cleaned_up() {
    let folder = Folder::with_world();
    let args = training("model", "4", &[FAST[0], FAST[1], EVALUATED]);
    // Killed while the folder was made.
    let graph = folder.read("world.kg");
    std::fs::create_dir(folder.path("model")).unwrap();
    folder.write("model/.skolem-abc123.partial", &graph[..1000]);
    folder.write("model/graph.kg", &graph);
    folder
        .run(&resuming("model"))
        .fails_with(4, "error: model: there is no model here (no file model.toml)");
    folder.run(&args).done();
    assert_eq!(partial(&folder, "model"), [""; 0]);
    // Another graph is not ours to overwrite.
    std::fs::create_dir(folder.path("mine")).unwrap();
    folder.write("mine/graph.kg", &graph[..1000]);
    folder.run(&training("mine", "4", &FAST)).fails(4, "mine: this folder is not empty");
    assert_eq!(folder.files("mine"), ["graph.kg"]);
    // Killed while the state was saved, and before the first time.
    let state = folder.read("model/state.safetensors");
    let expected = tensors(&folder, "model/state.safetensors");
    for file in ["state.safetensors", "weights.safetensors", "README.md"] {
        std::fs::remove_file(folder.path("model").join(file)).unwrap();
    }
    folder.write("model/.skolem-state1.partial", &state);
    folder.write("queries.jsonl", "");
    folder
        .run(&["eval", "model", "--queries", "queries.jsonl"])
        .fails(4, "error: model/weights.safetensors: nothing is learnt yet");
    folder.run(&resuming("model")).done();
    assert_eq!(partial(&folder, "model"), [""; 0]);
    assert_eq!(metrics(&folder, "model").len(), 2);
    assert!(tensors(&folder, "model/state.safetensors") == expected);
}

/// Runs the program where no file may be larger than this.
fn run_with_most(folder: &Folder, kibibytes: u32, args: &[&str]) -> Run {
    let program = env!("CARGO_BIN_EXE_skolem");
    let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.args(["-c", &script, program]).args(args).current_dir(folder.path(""));
    let output = command.output().expect("bash runs");
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(!err.contains("panicked"), "{err}");
    Run { code: output.status.code().expect("ended by itself"), out, err }
}

#[test]
fn a_full_disk_costs_nothing_that_was_saved() {
    let folder = Folder::with_world();
    folder.run(&training("whole", "60", &FAST)).done();
    // Not even the graph fits: nothing is left behind.
    let failed = run_with_most(&folder, 100, &training("model", "60", &FAST));
    failed.fails_with(4, "error: model/graph.kg: File too large (os error 27)");
    assert!(!folder.path("model").exists());
    // A checkpoint on the way.
    let mut child = start(&folder, &training("model", "60", &FAST));
    wait_until(&mut child, || folder.path("model/state.safetensors").exists());
    assert_eq!(signal(&mut child, "INT"), 130);
    let saved = folder.read("model/state.safetensors");
    let files = folder.files("model");
    // The weights are 63 kB, the state is 192 kB.
    let failed = run_with_most(&folder, 100, &resuming("model"));
    failed.fails(4, "error: model/state.safetensors: File too large (os error 27)\n");
    assert!(!failed.err.contains("partial"), "{}", failed.err);
    assert!(folder.read("model/state.safetensors") == saved);
    // But for the curves of this run.
    let mut after = folder.files("model");
    after.retain(|name| !name.starts_with("events") || files.contains(name));
    assert_eq!(after, files);
    folder.run(&resuming("model")).done();
    assert_same(&folder, "whole", "model");
}

#[test]
fn a_run_that_diverges_keeps_its_last_good_state() {
    let folder = Folder::with_world();
    // A rate that soon makes the loss grow.
    let wild =
        ["train.rate=10", "train.threshold=0", "train.schedule=constant", "train.lazy=false"];
    let wild = [&FAST[..], &wild].concat();
    let limited = [&wild[..], &["train.most_loss=20"]].concat();
    let failed = folder.run(&training("model", "400", &limited));
    failed.fails(4, "error: learning diverged at update ");
    assert!(failed.err.contains("above train.most_loss"), "{}", failed.err);
    let (_, after) = failed.err.split_once("diverged at update ").unwrap();
    let update: u64 = after.split(':').next().unwrap().parse().unwrap();
    assert!(update > 1, "too early to tell");
    let good = tensors(&folder, "model/state.safetensors");
    folder.run(&training("good", &(update - 1).to_string(), &wild)).done();
    assert!(good == tensors(&folder, "good/state.safetensors"));
    // It goes on to the same end.
    folder.run(&resuming("model")).fails(4, &format!("diverged at update {update}: "));
    assert!(good == tensors(&folder, "model/state.safetensors"));
}

#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let folder = Folder::with_world();
    folder.write("empty.tsv", "");
    folder.write("r.tsv", "a\tr\tb\nb\tr\tc\nc\tr\ta\na\tr\tc\n");
    folder.write("s.tsv", "a\ts\tb\nb\ts\tc\n");
    folder.run(&["import", "empty.tsv", "--valid", "r.tsv", "--out", "empty.kg"]).done();
    folder.run(&["import", "r.tsv", "--valid", "s.tsv", "--out", "new.kg"]).done();
    std::fs::create_dir(folder.path("full")).unwrap();
    folder.write("full/letter.txt", "dear");
    std::fs::create_dir(folder.path("sets")).unwrap();
    folder.write("sets/valid.jsonl", "");
    let before = folder.files("");
    let set = |pair: &str| folder.run(&training("x", "4", &[pair]));
    set("model.dimm=3")
        .fails_with(2, "error: unknown knob 'model.dimm' (did you mean 'model.dim'?)");
    set("model.dim=wide").fails_with(2, "error: model.dim must be a whole number, not text");
    set("model.dim=0").fails_with(2, "error: model.dim = 0 is out of range (1 to 65536)");
    set("model.tnorm=godel").fails(2, "one of luk, prod, min");
    set("mix.4x=1").fails(2, "error: mix.4x is no shape: ");
    let many = format!("mix.\"{}\"=1", ["p(e)"; 2000].join(" & "));
    let large = ["train.batch=1048576", &many[..]];
    let refused = folder.run(&training("x", "4", &large));
    refused.fails(2, "MiB of memory and ");
    assert!(refused.err.contains("lower model.dim, model.hidden, train.batch"), "{}", refused.err);
    let from = |graph: &str, out: &str| {
        let mut args = training(out, "4", &FAST);
        args[1] = graph;
        folder.run(&args)
    };
    from("empty.kg", "x").fails_with(2, "error: the graph has no train edges to learn from");
    from("nowhere.kg", "x").fails(4, "error: nowhere.kg: No such file");
    from("r.tsv", "x").fails(4, "error: r.tsv: ");
    from("world.kg", "full")
        .fails_with(4, "error: full: this folder is not empty: name another one");
    from("world.kg", "r.tsv").fails_with(4, "error: r.tsv: this is a file: name a folder");
    from("world.kg", "r.tsv/x").fails(4, "error: r.tsv/x: Not a directory");
    folder.run(&resuming("full")).fails(4, "error: full: there is no model here");
    folder.run(&resuming("nowhere")).fails(4, "error: nowhere: there is no model here");
    let with = |more: &[&str]| folder.run(&[&training("x", "4", &FAST)[..], more].concat());
    with(&["--queries", "sets"]).fails(4, "sets: there is no query set with 'train' in its name");
    with(&["--queries", "nowhere"]).fails(4, "nowhere: No such file");
    with(&["--config", "nowhere.toml"]).fails(4, "nowhere.toml: No such file");
    // Queries of another graph.
    folder.write("sets/train.jsonl", r#"{"t":"1p","q":[100000,[0]],"easy":[1]}"#);
    with(&["--queries", "sets"]).fails(2, "the query sets belong to another graph");
    assert_eq!(folder.files(""), before, "something was left behind");
    // A relation that only valid edges have is fine, and so is a graph without valid edges.
    for (graph, out, rows) in [("new.kg", "new", 2), ("@world", "unsplit", 0)] {
        let mut args = training(out, "4", &[FAST[0], FAST[1], EVALUATED]);
        args[1] = graph;
        folder.run(&args).done();
        assert_eq!(metrics(&folder, out).len(), rows);
        tensors(&folder, &format!("{out}/weights.safetensors"));
    }
}

#[test]
fn damage_is_found_before_learning_goes_on() {
    let folder = Folder::with_world();
    folder.run(&training("model", "4", &FAST)).done();
    let longer = ["train", "--out", "model", "--resume", "--updates", "8"];
    // Of a graph, what is not needed is not looked at.
    for (file, part) in [("state.safetensors", 1), ("graph.kg", 1000)] {
        let file = format!("model/{file}");
        let whole = folder.read(&file);
        let description = folder.read("model/model.toml");
        for at in [9, 33, whole.len() / part / 3, whole.len() / part - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            folder.write(&file, &bytes);
            folder.run(&longer).fails(4, &format!("error: {file}: "));
            assert!(folder.read(&file) == bytes);
            assert!(folder.read("model/model.toml") == description);
        }
        folder.write(&file, whole);
    }
    let description = String::from_utf8(folder.read("model/model.toml")).unwrap();
    for (from, to, message) in [
        ("format_version = 1", "format_version = 2", "written by a newer version (format 2"),
        ("format_version = 1", "", "about.format_version is missing"),
        ("dim = 8", "dim = 0", "model/model.toml: model.dim = 0 is out of range"),
        ("dim = 8", "dim = 9", "has shape"),
        ("dim = 8", "dimm = 8", "model/model.toml: unknown knob 'model.dimm'"),
        ("[about]", "[about", "model/model.toml: "),
        ("graph = \"", "graph = \"x", "this is not the graph that the model was made from"),
    ] {
        assert!(description.contains(from));
        let changed = description.replacen(from, to, 1);
        folder.write("model/model.toml", &changed);
        folder.run(&longer).fails(4, message);
        assert_eq!(folder.read("model/model.toml"), changed.as_bytes());
    }
    folder.write("model/model.toml", description);
    folder.run(&longer).done();
}

#[test]
fn signals_save_and_end() {
    let folder = Folder::with_world();
    for (number, (name, recipe)) in [("INT", FAST), ("TERM", PAPER)].into_iter().enumerate() {
        let [whole, model] = ["whole", "stopped"].map(|model| format!("{model}{number}"));
        let recipe = [&recipe[..], &[EVALUATED]].concat();
        folder.run(&training(&whole, "80", &recipe)).done();
        let mut child = start(&folder, &training(&model, "80", &recipe));
        let state = folder.path(&model).join("state.safetensors");
        for _ in 0..3 {
            let before = which(&state);
            wait_until(&mut child, || which(&state) != before);
        }
        assert_eq!(signal(&mut child, name), 130);
        assert_eq!(partial(&folder, &model), [""; 0]);
        // What there is may be used at once.
        tensors(&folder, &format!("{model}/weights.safetensors"));
        let said = folder.run(&[&resuming(&model)[..], &["--json"]].concat()).json();
        assert_eq!((&said["updates"], &said["cancelled"]), (&80.into(), &false.into()));
        assert_same(&folder, &whole, &model);
    }
}

#[test]
fn a_finished_run_may_be_made_longer() {
    let folder = Folder::with_world();
    folder.run(&training("model", "10", &[FAST[0], FAST[1], EVALUATED])).done();
    let rows = metrics(&folder, "model").len();
    // Nothing is left to do.
    let before = tensors(&folder, "model/state.safetensors");
    folder.run(&resuming("model")).done();
    assert!(tensors(&folder, "model/state.safetensors") == before);
    assert_eq!(metrics(&folder, "model").len(), rows);
    let longer = ["train", "--out", "model", "--resume", "--updates", "20", "--json"];
    assert_eq!(folder.run(&longer).json()["updates"], 20);
    assert!(tensors(&folder, "model/state.safetensors") != before);
    let last = metrics(&folder, "model").pop().unwrap();
    assert!(last["update"] == 20 && last["mrr"].is_number(), "not evaluated: {last}");
    // Query sets must stay the same.
    folder.run(&["sample", "world.kg", "--count", "20", "--out", "sets"]).done();
    let sets = ["--queries", "sets"];
    folder.run(&[&longer[..], &sets].concat()).fails(2, "leave --queries out");
    let listed = [&training("listed", "4", &FAST)[..], &sets].concat();
    folder.run(&listed).done();
    folder.run(&resuming("listed")).fails(2, "name them with --queries");
    folder.run(&[&resuming("listed")[..], &sets, &["--updates", "8"]].concat()).done();
}

#[test]
fn it_stops_early_and_all_files_are_there() {
    let folder = Folder::with_world();
    // Without steps nothing gets better.
    let still = ["train.rate=0", "evaluate.times=10", "evaluate.patience=1"];
    let args = training("model", "40", &[&FAST[..], &still].concat());
    let said = folder.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!((&said["stopped_early"], &said["updates"]), (&true.into(), &8.into()));
    let mut files = folder.files("model");
    files.retain(|name| !name.starts_with("events.out.tfevents."));
    let expected = [
        "README.md",
        "graph.kg",
        "metrics.csv",
        "metrics.jsonl",
        "model.toml",
        "state.safetensors",
        "weights.safetensors",
    ];
    assert_eq!(files, expected);
    assert_eq!(folder.files("model").len(), expected.len() + 1, "and one file of events");
    assert_eq!(metrics(&folder, "model").len(), 2);
    let card = String::from_utf8(folder.read("model/README.md")).unwrap();
    assert!(card.contains("learnt for 4 updates") && card.contains("| 2in | 2 |"), "{card}");
    folder.run(&["sample", "world.kg", "--count", "3", "--out", "sets"]).done();
    let files = folder.files("sets");
    let valid = files.iter().find(|name| name.starts_with("valid")).expect("a valid set");
    let valid = format!("sets/{valid}");
    let eval = ["eval", "model", "--queries", &valid[..], "--split", "valid"];
    let table = folder.run(&eval).done();
    assert!(table.contains("Hits@10") && table.contains("pni"), "{table}");
    let figures = folder.run(&[&eval[..], &["--json"]].concat()).json();
    assert_eq!(figures["shapes"]["2i"]["queries"], 3);
    assert!(figures["means"]["all"]["mrr"].as_f64().unwrap() > 0.0);
}

/// A model made by the first version, with what `eval` said of it then. It is never made again: it must
/// stay readable.
///
/// ```text
/// skolem train family.kg --out v1 --updates 40 --set model.dim=2 --set model.hidden=4 …
/// ```
#[test]
fn a_model_of_the_first_version_stays_readable() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");
    let folder = Folder::new();
    std::fs::create_dir(folder.path("v1")).unwrap();
    for entry in std::fs::read_dir(format!("{kept}/v1")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path("v1").join(path.file_name().unwrap())).unwrap();
    }
    let queries = format!("{kept}/v1-valid.jsonl");
    let eval = ["eval", "v1", "--queries", &queries[..], "--split", "valid", "--json"];
    let figures = folder.run(&eval).json();
    let then = std::fs::read(format!("{kept}/v1-figures.json")).unwrap();
    let then: Value = serde_json::from_slice(&then).unwrap();
    let shapes = then["shapes"].as_object().unwrap();
    assert_eq!(shapes.len(), 14);
    for (shape, of) in shapes {
        for name in ["queries", "mrr", "hits1", "hits3", "hits10"] {
            let [was, is] =
                [&of[name], &figures["shapes"][shape][name]].map(|x| x.as_f64().unwrap());
            assert!((was - is).abs() < 1e-9, "{shape}: {name} was {was}, is {is}");
        }
    }
    // It can be learnt further, too.
    let before = tensors(&folder, "v1/state.safetensors");
    folder.run(&resuming("v1")).done();
    assert!(tensors(&folder, "v1/state.safetensors") == before);
    let longer = ["train", "--out", "v1", "--resume", "--updates", "60", "--json"];
    assert_eq!(folder.run(&longer).json()["updates"], 60);
    assert_eq!(metrics(&folder, "v1").len(), 3);
}
