//! The three nested graphs that learning and measuring need.

use std::fmt;
use std::str::FromStr;

/// Which edges of a graph are seen: each split holds the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Split {
    /// The edges to learn from.
    Train,
    /// Train, and the edges to choose settings by.
    Valid,
    /// Every edge.
    Test,
}

impl Split {
    /// From the smallest to the largest.
    pub const ALL: [Split; 3] = [Split::Train, Split::Valid, Split::Test];

    /// Position in [`Split::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The next smaller split, whose answers are the *easy* ones of this one.
    pub fn smaller(self) -> Option<Split> {
        match self {
            Split::Train => None,
            Split::Valid => Some(Split::Train),
            Split::Test => Some(Split::Valid),
        }
    }

    /// `train`, `valid` or `test`.
    pub fn name(self) -> &'static str {
        ["train", "valid", "test"][self.index()]
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Split::ALL.into_iter().find(|split| split.name() == text);
        found.ok_or_else(|| format!("unknown split '{text}' (one of train, valid, test)"))
    }
}
