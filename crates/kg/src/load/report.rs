//! What reading a file found.

use std::ops::AddAssign;

use super::options::Options;
use crate::error::{Error, Result};

/// What reading a file found; reports of several files can be added up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Edges given to the graph, duplicates included.
    pub edges: u64,
    /// Statements left out because they end in a literal.
    pub literals_skipped: u64,
    /// Malformed lines or statements left out.
    pub bad_lines: u64,
    /// The first of them: where and what.
    pub first_bad: Option<String>,
    /// Labels given to entities and relations.
    pub labels: u64,
    /// Labels of things that no edge mentions so far, left out.
    pub labels_unused: u64,
}

impl Report {
    /// Counts a malformed line, or stops at it if bad lines are not to be skipped.
    pub(super) fn bad(&mut self, options: &Options, error: Error) -> Result<()> {
        if !options.skip_bad {
            return Err(error);
        }
        self.bad_lines += 1;
        self.first_bad.get_or_insert_with(|| error.to_string());
        Ok(())
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.edges += other.edges;
        self.literals_skipped += other.literals_skipped;
        self.bad_lines += other.bad_lines;
        self.first_bad = self.first_bad.take().or(other.first_bad);
        self.labels += other.labels;
        self.labels_unused += other.labels_unused;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_add_up_and_keep_the_first_bad_line() {
        let bad =
            |text: &str| Report { bad_lines: 1, first_bad: Some(text.into()), ..Report::default() };
        let mut sum = Report { edges: 2, ..Report::default() };
        sum += bad("one");
        sum += bad("two");
        assert_eq!(sum, Report { edges: 2, bad_lines: 2, ..bad("one") });
    }
}
