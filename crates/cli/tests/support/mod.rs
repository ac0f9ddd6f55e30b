//! Runs the program in a folder of its own, and says what it said.

// Each test file uses its own part of this.
#![allow(dead_code)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The triples of the built-in graph.
pub const WORLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/world.tsv");

/// What a run of the program said, and how it ended.
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    /// What it printed; it must have done its work.
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        serde_json::from_str(&self.done()).expect("valid JSON")
    }

    /// It must have failed with this code, one line of error, and nothing printed.
    #[track_caller]
    pub fn fails(&self, code: i32, message: &str) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        assert!(self.err.contains(message), "{message:?} is not in {:?}", self.err);
    }

    /// It must have failed with just this on the error stream.
    #[track_caller]
    pub fn fails_with(&self, code: i32, whole: &str) {
        assert_eq!((self.code, self.err.trim_end()), (code, whole));
        assert_eq!(self.out, "");
    }
}

/// A temporary folder in which the program runs.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// A folder with `world.kg`, the built-in graph with a tenth held out for valid and for test.
    pub fn with_world() -> Folder {
        let folder = Folder::new();
        folder.run(&["import", WORLD, "--holdout", "0.1,0.1", "--out", "world.kg"]).done();
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("can write");
    }

    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("can read")
    }

    /// The names of all files in a folder, in order.
    pub fn files(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, b"")
    }

    /// Runs the program with this on its standard input.
    #[track_caller]
    pub fn run_with(&self, args: &[&str], input: &[u8]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("starts");
        // It need not read all of its input.
        let _ = child.stdin.take().expect("its input").write_all(input);
        let output = child.wait_with_output().expect("ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert!(!err.contains("panicked"), "{args:?}: {err}");
        Run { code: output.status.code().expect("ended by itself"), out, err }
    }

    /// The program with these arguments, to be started by the test.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skolem"));
        command.args(args).current_dir(self.0.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Runs the program where it needs no files.
#[track_caller]
pub fn skolem(args: &[&str]) -> Run {
    Folder::new().run(args)
}

/// Asks a question about the built-in graph.
#[track_caller]
pub fn ask(question: &str) -> Run {
    skolem(&["ask", "@world", question])
}

/// The names a question has as answers.
#[track_caller]
pub fn answers(question: &str) -> Vec<String> {
    let reply = skolem(&["ask", "@world", question, "--top", "0", "--json"]).json();
    let list = reply["answers"].as_array().expect("a list");
    assert_eq!(reply["count"], list.len());
    list.iter().map(|answer| answer["name"].as_str().expect("a name").to_owned()).collect()
}
