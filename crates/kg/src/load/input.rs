//! The text of a file: unpacked, without a byte order mark, its reading reported on the way.

use std::io::{self, Read};
use std::path::Path;

use super::Progress;
use super::options::Limits;
use crate::error::{Error, Result};
use crate::unpack::{Compression, Unpacked, first_bytes, give_back};

/// How many bytes go by between two calls of the progress function.
const STEP: u64 = 1 << 20;
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// A file's text. Errors that reading gives hold an [`Error`]; see [`give_back`].
pub(super) struct Input<'a> {
    unpacked: Unpacked<&'a mut dyn Read>,
    next_step: u64,
    /// The first bytes, read ahead to find a byte order mark.
    ahead: Vec<u8>,
    pub(super) path: &'a Path,
    pub(super) limits: &'a Limits,
    progress: &'a mut Progress<'a>,
}

impl<'a> Input<'a> {
    /// Looks at the first bytes, and refuses a file that is not what its name claims.
    pub fn new(
        reader: &'a mut dyn Read,
        path: &'a Path,
        compression: Compression,
        limits: &'a Limits,
        progress: &'a mut (dyn FnMut(u64) + '_),
    ) -> Result<Input<'a>> {
        let unpacked = Unpacked::new(reader, path, compression, limits.growth)?;
        let mut input =
            Input { unpacked, next_step: STEP, ahead: Vec::new(), path, limits, progress };
        let mut ahead = first_bytes(&mut input, 3).map_err(give_back(path))?;
        if ahead == BYTE_ORDER_MARK {
            ahead.clear();
        }
        if let [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] = ahead[..] {
            return Err(Error::unusable(path, "is UTF-16 text (save it as UTF-8)"));
        }
        input.ahead = ahead;
        Ok(input)
    }
}

impl Read for Input<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(to.len());
            to[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Ok(count);
        }
        let count = self.unpacked.read(to)?;
        let taken = self.unpacked.taken();
        if count == 0 || taken >= self.next_step {
            (self.progress)(taken);
            self.next_step = taken + STEP;
        }
        Ok(count)
    }
}
