//! Opens query sets for reading, packed or not.

use std::fs::File;
use std::io::{BufRead, BufReader, Error as IoError, ErrorKind};
use std::path::Path;

use crate::error::{Error, Result};
use crate::unpack::{Compression, Growth, Unpacked, give_back};

/// The content of a file, unpacked if its name says that it is packed.
pub(super) fn open_unpacked(path: &Path) -> Result<impl BufRead + Send + use<>> {
    let file = File::open(path).map_err(Error::io(path))?;
    if file.metadata().map_err(Error::io(path))?.is_dir() {
        return Err(Error::unusable(path, "is a folder (name a file in it)"));
    }
    let unpacked = Unpacked::new(file, path, Compression::of(path), Growth::default())?;
    Ok(BufReader::with_capacity(1 << 16, unpacked))
}

/// An error of reading, told apart from damage to what was read.
pub(super) fn failed(path: &Path, error: IoError) -> Error {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            Error::corrupt(path, error.to_string())
        }
        _ => give_back(path)(error),
    }
}
