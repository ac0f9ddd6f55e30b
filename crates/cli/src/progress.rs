//! Progress bars: on the error stream, and only where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over a known number of bytes.
pub fn bytes(total: u64, what: &str) -> ProgressBar {
    bar(total, what, "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
}

/// A bar over a known number of things.
pub fn items(total: u64, what: &str) -> ProgressBar {
    bar(total, what, "{msg} {wide_bar} {human_pos}/{human_len} {per_sec} {eta}")
}

/// A bar over a share of something, in parts of 10,000.
pub fn share() -> ProgressBar {
    bar(10_000, "", "{bar:30} {percent} % {msg}")
}

/// A count of things whose number is not known.
pub fn counter(what: &str) -> ProgressBar {
    let counter = ProgressBar::new_spinner().with_message(what.to_owned());
    counter.set_style(style("{spinner} {msg} {human_pos} {per_sec} {elapsed}"));
    counter.enable_steady_tick(Duration::from_millis(120));
    counter
}

/// A sign of life during a step that cannot say how far it is.
pub fn waiting(what: &str) -> ProgressBar {
    let waiting = ProgressBar::new_spinner().with_message(what.to_owned());
    waiting.set_style(style("{spinner} {msg} {elapsed}"));
    waiting.enable_steady_tick(Duration::from_millis(120));
    waiting
}

fn bar(total: u64, what: &str, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(what.to_owned());
    bar.set_style(style(template));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
