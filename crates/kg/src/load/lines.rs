//! Cuts a file into lines without copying them, holding one longest line at most.

use std::io::Read;

use memchr::memchr;

use super::input::Input;
use super::options::Options;
use crate::error::{Error, Place, Result};
use crate::unpack::{give_back, size};

/// How much is asked of the input at a time.
const CHUNK: usize = 1 << 20;
/// What any limit on lines is cut to.
const LONGEST: usize = 1 << 30;

/// The lines of a file, one after the other.
pub(super) struct Lines<'a> {
    input: Input<'a>,
    /// Longest line.
    limit: usize,
    /// Room for the longest line and a chunk.
    buffer: Vec<u8>,
    /// The bytes of the buffer that are not yet given out.
    start: usize,
    end: usize,
    /// Whether the input has no more bytes.
    ended: bool,
    /// Whether the rest of a line that was too long is still to be passed over.
    skipping: bool,
    /// The number of the last line given out, from 1.
    number: usize,
}

/// What comes next.
pub(super) enum Line<'b> {
    /// A line without its line feed.
    Text(&'b [u8]),
    /// A line longer than the limit; reading on passes over it.
    TooLong,
    /// Nothing.
    End,
}

/// Where a line ends, counted from the first byte not given out.
enum Ending {
    /// At this byte; the second number also takes in the line feed.
    At(usize, usize),
    TooLong,
    End,
}

impl<'a> Lines<'a> {
    pub fn new(input: Input<'a>) -> Lines<'a> {
        let limit = input.limits.line.min(LONGEST);
        Lines {
            input,
            limit,
            buffer: vec![0; limit + CHUNK],
            start: 0,
            end: 0,
            ended: false,
            skipping: false,
            number: 0,
        }
    }

    /// The number of the last line given out, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The next line.
    pub fn next(&mut self) -> Result<Line<'_>> {
        match self.find(0)? {
            Ending::At(end, after) => {
                let start = self.start;
                self.start += after;
                self.number += 1;
                Ok(Line::Text(&self.buffer[start..start + end]))
            }
            Ending::TooLong => {
                self.skipping = true;
                self.number += 1;
                Ok(Line::TooLong)
            }
            Ending::End => Ok(Line::End),
        }
    }

    /// All text that is not given out, up to the end of the line that begins after `from` bytes of
    /// it: several lines together. They are still to be given out.
    pub fn peek(&mut self, from: usize) -> Result<Line<'_>> {
        Ok(match self.find(from)? {
            Ending::At(end, _) => Line::Text(&self.buffer[self.start..self.start + end]),
            Ending::TooLong => Line::TooLong,
            Ending::End => Line::End,
        })
    }

    fn find(&mut self, from: usize) -> Result<Ending> {
        if self.skipping {
            self.skip()?;
        }
        let limit = self.limit;
        let mut seen = from;
        loop {
            let unseen = self.buffer.get(self.start + seen..self.end).unwrap_or(&[]);
            if let Some(at) = memchr(b'\n', unseen) {
                let end = seen + at;
                return Ok(if end > limit { Ending::TooLong } else { Ending::At(end, end + 1) });
            }
            seen = self.end - self.start;
            if seen > limit {
                return Ok(Ending::TooLong);
            }
            if self.ended {
                return Ok(if seen > from { Ending::At(seen, seen) } else { Ending::End });
            }
            self.fill()?;
        }
    }

    /// Passes over the rest of a line.
    fn skip(&mut self) -> Result<()> {
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.start..self.end]) {
                self.start += at + 1;
                break;
            }
            self.start = self.end;
            if self.ended {
                break;
            }
            self.fill()?;
        }
        self.skipping = false;
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        // There is room: nobody asks for more when a whole line is there or the limit is reached.
        let path = self.input.path;
        let count = self.input.read(&mut self.buffer[self.end..]).map_err(give_back(path))?;
        self.end += count;
        self.ended = count == 0;
        Ok(())
    }
}

/// What is wrong with a line or record.
#[derive(PartialEq, Debug)]
pub(super) struct Fault {
    /// Offset in bytes.
    pub at: usize,
    pub message: String,
}

impl Fault {
    pub fn new(at: usize, message: impl Into<String>) -> Fault {
        Fault { at, message: message.into() }
    }

    /// A line that was too long to look at.
    pub fn too_long(options: &Options) -> Fault {
        Fault::new(0, format!("the line is longer than {}", size(options.limits.line as u64)))
    }

    /// The error for a text that starts at this line of a file.
    pub fn in_file(self, path: &std::path::Path, line: usize, text: &[u8]) -> Error {
        let before = String::from_utf8_lossy(&text[..self.at.min(text.len())]);
        let Place { line: further, column } = Place::of(&before, before.len());
        Error::Malformed {
            path: path.to_owned(),
            place: Place { line: line + further - 1, column },
            message: format!("{} (fix it, or pass over such lines with --skip-bad)", self.message),
        }
    }
}

/// The text of a line.
pub(super) fn text(line: &[u8]) -> std::result::Result<&str, Fault> {
    std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to();
        Fault::new(at, format!("the byte 0x{:02X} is not UTF-8 text", line[at]))
    })
}
