//! What goes wrong outside questions: files, folders, usage, and readers that go away.

mod support;

use std::io::{BufRead, BufReader};

use support::{Folder, skolem};

/// Every command that reads a graph.
fn readers(graph: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["stats", graph],
        vec!["stats", graph, "--verify"],
        vec!["find", graph, "France"],
        vec!["ask", graph, "borders(France)"],
        vec!["query", graph, "borders(France)"],
        vec!["sample", graph, "--out", "q", "--count", "2", "--shape", "2i", "--json"],
        vec!["dataset", "verify", graph, "q.jsonl", "--split", "test"],
        vec!["dataset", "answer", graph, "q.jsonl", "a.jsonl", "--split", "test"],
    ]
}

#[test]
fn what_is_no_graph_is_refused_by_every_command() {
    let folder = Folder::new();
    folder.write("empty.kg", "");
    folder.write("text.kg", "this is no graph\n".repeat(1000));
    folder.write("q.jsonl", "");
    for command in readers("missing.kg") {
        folder
            .run(&command)
            .fails_with(4, "error: missing.kg: No such file or directory (os error 2)");
    }
    for (graph, message) in [
        (".", "error: .: is a folder, not a graph file"),
        ("empty.kg", "error: empty.kg: is too short for a graph file"),
        ("text.kg", "error: text.kg: "),
    ] {
        for command in readers(graph) {
            folder.run(&command).fails(4, message);
        }
    }
}

#[test]
fn a_truncated_graph_is_refused_by_every_command() {
    let folder = Folder::with_world();
    let whole = folder.read("world.kg");
    folder.write("q.jsonl", "");
    for length in [1, 8, 64, 1000, whole.len() / 2, whole.len() - 1] {
        folder.write("cut.kg", &whole[..length]);
        for command in readers("cut.kg") {
            folder.run(&command).fails(4, "error: cut.kg: ");
        }
    }
}

/// What a command printed, without the lines that tell the time it took.
fn untimed(text: &str) -> String {
    let timed = |line: &&str| line.contains("\"seconds\"") || line.ends_with(" ms)");
    text.lines().filter(|line| !timed(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_damaged_graph_is_never_taken_for_whole() {
    let folder = Folder::with_world();
    let whole = folder.read("world.kg");
    folder.write("q.jsonl", "");
    let expected: Vec<_> =
        readers("world.kg").iter().map(|args| untimed(&folder.run(args).done())).collect();
    let find = |name: &[u8]| whole.windows(name.len()).position(|part| part == name).unwrap();
    let names = [find(b"capital^capital"), find(b"AfghanistanKabul")];
    for at in (0..24).map(|part| part * whole.len() / 24 + part % 8).chain(names) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        folder.write("bad.kg", &bytes);
        folder.run(&["stats", "bad.kg", "--verify"]).fails(4, "error: bad.kg: ");
        // Without --verify, only what a command needs is checked; then it says what it should.
        for (command, expected) in readers("bad.kg").iter().zip(&expected) {
            let run = folder.run(command);
            match run.code {
                0 => assert_eq!(untimed(&run.out), *expected, "byte {at}: {command:?}"),
                _ => run.fails(4, "error: bad.kg: "),
            }
        }
    }
}

#[test]
fn paths_that_cannot_be_written_are_named() {
    let folder = Folder::with_world();
    folder.write("t.tsv", "a\tr\tb\n");
    folder.write("q.jsonl", "");
    let before = folder.files("");
    let import = |out: &str| folder.run(&["import", "t.tsv", "--out", out]);
    import("nowhere/x.kg").fails_with(4, "error: nowhere/x.kg: there is no folder nowhere");
    import("t.tsv/x.kg").fails_with(4, "error: t.tsv/x.kg: there is no folder t.tsv");
    import(".").fails_with(4, "error: .: is a folder, not a file to write");
    let sample = |out: &str| folder.run(&["sample", "world.kg", "--count", "1", "--out", out]);
    sample("t.tsv").fails_with(4, "error: t.tsv: is a file, not a folder to write to");
    sample("t.tsv/q").fails(4, "error: t.tsv/q: ");
    let convert = |out: &str| folder.run(&["dataset", "convert", "q.jsonl", out]);
    convert("nowhere/x.skq").fails(4, "there is no folder nowhere");
    convert("x.txt").fails(4, "x.txt: its name is that of no query set");
    convert("x-queries.pkl").fails(4, "x-queries.pkl: unknown split 'x'");
    assert_eq!(folder.files(""), before, "something was left behind");
}

/// A folder that even its owner may not write to; the superuser may, so there this is passed over.
#[cfg(unix)]
#[test]
fn an_unwritable_folder_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("t.tsv", "a\tr\tb\n");
    let locked = folder.path("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
    let superuser = std::fs::write(locked.join("try"), "").is_ok();
    let run = folder.run(&["import", "t.tsv", "--out", "locked/x.kg"]);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
    if !superuser {
        run.fails(4, "error: locked/x.kg: Permission denied");
    }
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    folder.write("t.tsv", "a\tr\tb\n");
    folder.write("empty.tsv", "");
    folder.write("t.xyz", "");
    folder.write("open.csv", "a,\"b,c\n");
    folder.write("wide.tsv", b"\xff\xfea\0");
    let fails = |inputs: &[&str], message: &str| {
        folder.run(&[&["import", "--out", "x.kg"], inputs].concat()).fails(4, message);
    };
    fails(&["missing.tsv"], "error: missing.tsv: No such file or directory (os error 2)\n");
    fails(&["missing.xyz"], "error: missing.xyz: No such file or directory (os error 2)\n");
    fails(&["."], "error: .: is a folder without stats.txt and train.txt");
    fails(&["t.tsv", "."], "error: .: is a folder (name the files in it)");
    fails(&["t.xyz"], "error: t.xyz: the file's extension does not tell its format");
    fails(&["empty.tsv"], "error: empty.tsv: there are no edges in the input");
    fails(&["open.csv"], "error: open.csv:1:3: this quote is never closed");
    fails(&["wide.tsv"], "error: wide.tsv: is UTF-16 text");
    assert!(!folder.path("x.kg").exists());
}

#[test]
fn wrong_usage_has_code_two() {
    let world = support::WORLD;
    for (args, message) in [
        (&["frobnicate"][..], "unrecognized subcommand 'frobnicate'"),
        (&["ask", "@world"], "<QUESTION>"),
        (&["ask", "@world", "France", "--split", "all"], "unknown split 'all'"),
        (&["ask", "@world", "France", "--threads", "0"], "0 is not in 1..=1024"),
        (&["query", "@world", "France", "--to", "prose"], "possible values: set, unicode"),
        (&["import", world], "--out <GRAPH.kg>"),
        (&["import", world, "--out", "x.kg", "--holdout", "0.1"], "as in 0.1,0.1"),
        (&["import", world, "--out", "x.kg", "--holdout", "0.9,0.9"], "a sum < 1"),
        (&["import", world, "--out", "x.kg", "--holdout", "nan,0"], "a sum < 1"),
        (&["import", world, "--out", "x.kg", "--seed", "1"], "--holdout"),
        (&["import", world, "--out", "x.kg", "--format", "doc"], "unknown format 'doc'"),
        (&["completions", "tcl"], "possible values: bash"),
    ] {
        skolem(args).fails(2, message);
    }
}

#[test]
fn help_says_what_there_is() {
    let help = skolem(&["--help"]).done();
    for part in ["set logic", "first-order logic", "SPARQL", "@world", "Exit codes: 0 done; 1 "] {
        assert!(help.contains(part), "{part}");
    }
    let short = skolem(&["-h"]).done();
    assert!(short.starts_with("Answers logical questions over knowledge graphs\n"), "{short}");
    for command in ["demo", "import", "stats", "find", "ask", "query", "sample", "dataset"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        assert!(skolem(&[command, "--help"]).done().contains("Usage: "), "{command}");
    }
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = skolem(&["completions", shell]).done();
        for word in ["skolem", "dataset", "holdout"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

/// As in `skolem ask … | head -1`.
#[test]
fn a_reader_may_go_away() {
    let folder = Folder::with_world();
    for args in [
        &["ask", "world.kg", "!France", "--top", "0", "--json"][..],
        &["demo", "--updates", "1"],
        &["stats", "world.kg", "--json"],
        &["query", "--show", "--json"],
        &["completions", "bash"],
    ] {
        let mut child = folder.command(args).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_success() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Folder::new().command(&["demo"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: No space left on device"), "{err}");
}
