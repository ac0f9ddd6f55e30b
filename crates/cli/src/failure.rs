//! How errors look to people, and which exit code each has.

use std::process::ExitCode;

use skolem_kg::exact::Stop;
use skolem_kg::{Error, Place};

/// An error that points into a question.
#[derive(Debug)]
pub struct InQuestion {
    /// The question.
    pub text: String,
    /// What is wrong with it.
    pub error: Error,
}

impl std::fmt::Display for InQuestion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for InQuestion {}

/// Adds the question to an error that may point into it.
pub fn in_question(text: &str) -> impl FnOnce(Error) -> InQuestion + '_ {
    move |error| InQuestion { text: text.to_owned(), error }
}

/// Whether the reader of our output has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = |cause: &(dyn std::error::Error + 'static)| {
        let error = cause.downcast_ref::<std::io::Error>()?;
        Some(error.kind() == std::io::ErrorKind::BrokenPipe)
    };
    error.chain().any(|cause| io(cause) == Some(true))
}

/// Prints an error and says how the program ends.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {}", message(error));
    let asked = error.downcast_ref::<InQuestion>();
    if let Some(asked) = asked {
        show_place(&asked.text, &asked.error);
    }
    let known = asked.map(|asked| &asked.error).or_else(|| error.downcast_ref::<Error>());
    match error.downcast_ref::<skolem::Error>() {
        Some(skolem::Error::Graph(inner)) => ExitCode::from(code(inner)),
        Some(skolem::Error::Setting(_)) => ExitCode::from(2),
        Some(skolem::Error::Stopped) => ExitCode::from(130),
        _ => ExitCode::from(known.map_or(4, code)),
    }
}

/// An error and its causes, each said once: some errors already tell their cause.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// The exit code of an error, as `skolem --help` lists them.
fn code(error: &Error) -> u8 {
    match error {
        Error::Setting(_) => 2,
        Error::Syntax { .. }
        | Error::Unknown { .. }
        | Error::Ambiguous { .. }
        | Error::Invalid { .. }
        | Error::Unsupported { .. }
        | Error::TooLarge { .. } => 3,
        Error::Stopped(Stop::Cancelled) => 130,
        Error::Stopped(_) => 5,
        _ => 4,
    }
}

/// Shows the line of a question with a mark under the place an error points at.
fn show_place(text: &str, error: &Error) {
    let Some(Place { line, column }) = error.place() else { return };
    let Some(shown) = text.lines().nth(line - 1) else { return };
    // A long line is shown around the place only.
    let start = column.saturating_sub(60);
    let part: String = shown.chars().skip(start).take(100).collect();
    // Tabs stay tabs, so that the mark is under its place however wide they are.
    let blank = |sign: char| if sign == '\t' { '\t' } else { ' ' };
    let before = shown.chars().chain(std::iter::repeat(' '));
    let indent: String = before.skip(start).take(column - 1 - start).map(blank).collect();
    eprintln!("  | {part}\n  | {indent}^");
}
