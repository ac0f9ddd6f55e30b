//! Opens files for reading, compressed or not.

use std::fs::File;
use std::io::{BufRead, BufReader, Error as IoError, ErrorKind, Read, Result as IoResult};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

/// A small file that unpacks to more than this is suspicious…
const MOST_UNPACKED: u64 = 1 << 30;
/// …if it also grows by more than this; honest text stays far below.
const MOST_GROWTH: u64 = 1000;

/// The text of a file, unpacked if its name ends in `.gz`.
pub(super) fn open_decompressed(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let file = File::open(path).map_err(Error::io(path))?;
    let gzip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    Ok(match gzip {
        true => Box::new(BufReader::with_capacity(1 << 16, Unpacked::new(file, MOST_UNPACKED))),
        false => Box::new(BufReader::with_capacity(1 << 16, file)),
    })
}

/// An error of reading, told apart from damage to what was read.
pub(super) fn failed(path: &Path, error: IoError) -> Error {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            Error::corrupt(path, error.to_string())
        }
        _ => Error::io(path)(error),
    }
}

/// Unpacks gzip and stops at files made to unpack without end.
struct Unpacked<R> {
    gzip: MultiGzDecoder<BufReader<Counted<R>>>,
    read: u64,
    most: u64,
}

struct Counted<R>(R, u64);

impl<R: Read> Unpacked<R> {
    fn new(packed: R, most: u64) -> Unpacked<R> {
        let packed = BufReader::with_capacity(1 << 16, Counted(packed, 0));
        Unpacked { gzip: MultiGzDecoder::new(packed), read: 0, most }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> IoResult<usize> {
        let len = self.gzip.read(into)?;
        self.read += len as u64;
        let packed = self.gzip.get_ref().get_ref().1;
        if self.read > self.most && self.read / MOST_GROWTH > packed {
            let message = format!("unpacks to more than {MOST_GROWTH} times its size");
            return Err(IoError::new(ErrorKind::InvalidData, message));
        }
        Ok(len)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> IoResult<usize> {
        let len = self.0.read(into)?;
        self.1 += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn parts_are_read_one_after_the_other() {
        let both = [packed(b"one "), packed(b"two")].concat();
        let mut text = String::new();
        Unpacked::new(&both[..], 1).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
        assert!(Unpacked::new(&both[..both.len() - 3], 1).read_to_string(&mut text).is_err());
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        // Deflate can shrink zeros about 1,030 times, and nothing else as much.
        let bomb = packed(&vec![0; 16 << 20]);
        let mut all = Vec::new();
        let error = Unpacked::new(&bomb[..], 1 << 20).read_to_end(&mut all).unwrap_err();
        assert!(error.to_string().contains("1000 times"), "{error}");
    }
}
