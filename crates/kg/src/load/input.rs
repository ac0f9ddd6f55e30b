//! The bytes of a file: unpacked, checked to be what the name claims, counted and bounded.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

use super::Progress;
use super::options::{Compression, Limits, size};
use crate::error::{Error, Result};

/// How much is asked of the file at a time.
const CHUNK: usize = 1 << 18;
/// What a zstd frame may ask to remember, 128 MiB: the reference program's own limit.
const LARGEST_WINDOW_LOG: u32 = 27;
/// How many bytes go by between two calls of the progress function.
const STEP: u64 = 1 << 20;
const GZIP: [u8; 2] = [0x1F, 0x8B];
const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// A file's unpacked bytes. Errors that reading gives hold an [`Error`]; see [`give_back`].
pub(super) struct Input<'a> {
    unpacked: Unpacked<'a>,
    compression: Compression,
    /// Bytes taken from the file so far.
    taken: Rc<Cell<u64>>,
    /// Bytes given out so far.
    given: u64,
    next_step: u64,
    /// The first bytes, read ahead to find a byte order mark.
    ahead: Vec<u8>,
    pub(super) path: &'a Path,
    pub(super) limits: &'a Limits,
    progress: &'a mut Progress<'a>,
}

enum Unpacked<'a> {
    Plain(Packed<'a>),
    Gzip(Box<MultiGzDecoder<BufReader<Packed<'a>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Packed<'a>>>>),
}

/// The bytes as they are in the file, the first few of which were looked at already.
type Packed<'a> = io::Chain<io::Cursor<Vec<u8>>, Counted<'a>>;

struct Counted<'a> {
    reader: &'a mut dyn Read,
    taken: Rc<Cell<u64>>,
}

impl Read for Counted<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(to)?;
        self.taken.set(self.taken.get() + count as u64);
        Ok(count)
    }
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
        let taken = Rc::new(Cell::new(0));
        let mut counted = Counted { reader, taken: Rc::clone(&taken) };
        let magic = first_bytes(&mut counted, 4).map_err(Error::io(path))?;
        check_magic(&magic, compression, path)?;
        let packed = io::Cursor::new(magic).chain(counted);
        let buffered = |packed| BufReader::with_capacity(CHUNK, packed);
        let unpacked = match compression {
            Compression::None => Unpacked::Plain(packed),
            Compression::Gzip => Unpacked::Gzip(Box::new(MultiGzDecoder::new(buffered(packed)))),
            Compression::Zstd => {
                let mut decoder =
                    zstd::Decoder::with_buffer(buffered(packed)).map_err(Error::io(path))?;
                decoder.window_log_max(LARGEST_WINDOW_LOG).map_err(Error::io(path))?;
                Unpacked::Zstd(Box::new(decoder))
            }
        };
        let mut input = Input {
            unpacked,
            compression,
            taken,
            given: 0,
            next_step: STEP,
            ahead: Vec::new(),
            path,
            limits,
            progress,
        };
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

    fn unpack(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = match &mut self.unpacked {
                Unpacked::Plain(packed) => packed.read(to),
                Unpacked::Gzip(decoder) => decoder.read(to),
                Unpacked::Zstd(decoder) => decoder.read(to),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| self.explain(error)),
            }
        }
    }

    /// Tells damaged packing from a disk that fails.
    fn explain(&self, error: io::Error) -> io::Error {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let name = match self.compression {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::None => return io::Error::other(Error::io(self.path)(error)),
        };
        let message = match error.kind() {
            UnexpectedEof => format!("the {name} data is cut off (fetch or pack the file again)"),
            // The zstd decoder's own complaints are of no kind; those of the disk are.
            Other if self.compression != Compression::Zstd => {
                return io::Error::other(Error::io(self.path)(error));
            }
            InvalidData | InvalidInput | Other => {
                format!("damaged {name} data: {error} (fetch or pack the file again)")
            }
            _ => return io::Error::other(Error::io(self.path)(error)),
        };
        io::Error::other(Error::unusable(self.path, message))
    }

    fn check_size(&self) -> io::Result<()> {
        let Limits { total, ratio, unratioed, .. } = *self.limits;
        let refuse = |message| Err(io::Error::other(Error::unusable(self.path, message)));
        if self.given > total {
            let message = format!("holds more than the limit of {} (split the file)", size(total));
            return refuse(message);
        }
        let packed = self.compression != Compression::None;
        if packed && self.given > unratioed && self.given / ratio.max(1) > self.taken.get() {
            return refuse(format!(
                "unpacks to more than {ratio} times its size, the limit beyond {} \
                 (unpack it yourself if that is right)",
                size(unratioed)
            ));
        }
        Ok(())
    }
}

impl Read for Input<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(to.len());
            to[..count].copy_from_slice(&self.ahead[..count]);
            self.ahead.drain(..count);
            return Ok(count);
        }
        let count = self.unpack(to)?;
        self.given += count as u64;
        let taken = self.taken.get();
        if count == 0 || taken >= self.next_step {
            (self.progress)(taken);
            self.next_step = taken + STEP;
        }
        self.check_size()?;
        Ok(count)
    }
}

/// The crate's error that an error of an [`Input`] holds.
pub(super) fn give_back(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io(path)(error),
    }
}

/// Up to `count` bytes; fewer at the end only.
fn first_bytes(reader: &mut dyn Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether these bytes can start zstd data: a frame, or one of the sixteen kinds that hold none.
fn is_zstd(bytes: &[u8]) -> bool {
    let number = bytes.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    number.is_some_and(|number| number == 0xFD2F_B528 || number & !0xF == 0x184D_2A50)
}

fn check_magic(magic: &[u8], compression: Compression, path: &Path) -> Result<()> {
    let gzip = magic.starts_with(&GZIP);
    let zstd = is_zstd(magic);
    let message = match compression {
        Compression::Gzip if !gzip => "is named .gz and is not gzip data (rename or pack it)",
        Compression::Zstd if !zstd => "is named .zst and is not zstd data (rename or pack it)",
        Compression::None if gzip => "is gzip data (add .gz to its name)",
        Compression::None if zstd => "is zstd data (add .zst to its name)",
        _ => return Ok(()),
    };
    Err(Error::unusable(path, message))
}
