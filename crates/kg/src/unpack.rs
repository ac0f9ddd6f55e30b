//! Files packed with gzip or zstd: unpacked as a stream, checked to be what the name claims, and
//! bounded, so that no file can grow without end.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};

/// How much is asked of the file at a time.
const CHUNK: usize = 1 << 18;
/// What a zstd frame may ask to remember, 128 MiB: the reference program's own limit.
const LARGEST_WINDOW_LOG: u32 = 27;
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// How a file is packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or more.
    Gzip,
    /// Zstandard, one frame or more.
    Zstd,
}

impl Compression {
    /// What the ending of a file's name says.
    pub fn of(path: &Path) -> Compression {
        match path.extension().map(|ending| ending.to_ascii_lowercase()) {
            Some(ending) if ending == "gz" => Compression::Gzip,
            Some(ending) if ending == "zst" => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// How much a file may unpack to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Most bytes in all.
    pub total: u64,
    /// Most bytes that one packed byte may stand for, once there are `unratioed` bytes.
    pub ratio: u64,
    /// Bytes up to which the ratio does not matter.
    pub unratioed: u64,
}

impl Default for Growth {
    fn default() -> Self {
        Growth { total: 64 << 30, ratio: 1000, unratioed: 1 << 30 }
    }
}

/// A file's unpacked bytes. Errors that reading gives hold an [`Error`]; see [`give_back`].
pub(crate) struct Unpacked<R: Read> {
    decoder: Decoder<R>,
    compression: Compression,
    /// Bytes taken from the file so far.
    taken: Arc<AtomicU64>,
    /// Bytes given out so far.
    given: u64,
    growth: Growth,
    path: PathBuf,
}

enum Decoder<R: Read> {
    Plain(Packed<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Packed<R>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Packed<R>>>>),
}

/// The bytes as they are in the file, the first few of which were looked at already.
type Packed<R> = io::Chain<io::Cursor<Vec<u8>>, Counted<R>>;

struct Counted<R> {
    reader: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(to)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: Read> Unpacked<R> {
    /// Looks at the first bytes, and refuses a file that is not packed as its name claims.
    pub fn new(reader: R, path: &Path, compression: Compression, growth: Growth) -> Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut counted = Counted { reader, taken: taken.clone() };
        let magic = first_bytes(&mut counted, 4).map_err(Error::io(path))?;
        check_magic(&magic, compression, path)?;
        let packed = io::Cursor::new(magic).chain(counted);
        let buffered = |packed| BufReader::with_capacity(CHUNK, packed);
        let decoder = match compression {
            Compression::None => Decoder::Plain(packed),
            Compression::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(buffered(packed)))),
            Compression::Zstd => {
                let mut decoder =
                    zstd::Decoder::with_buffer(buffered(packed)).map_err(Error::io(path))?;
                decoder.window_log_max(LARGEST_WINDOW_LOG).map_err(Error::io(path))?;
                Decoder::Zstd(Box::new(decoder))
            }
        };
        Ok(Unpacked { decoder, compression, taken, given: 0, growth, path: path.to_owned() })
    }

    /// Bytes taken from the file so far.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Tells damaged packing from a disk that fails.
    fn explain(&self, error: io::Error) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        let name = match self.compression {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::None => return Error::io(&self.path)(error),
        };
        let message = match error.kind() {
            UnexpectedEof => format!("the {name} data is cut off (fetch or pack the file again)"),
            // The zstd decoder's own complaints are of no kind; those of the disk are.
            Other if self.compression != Compression::Zstd => {
                return Error::io(&self.path)(error);
            }
            InvalidData | InvalidInput | Other => {
                format!("damaged {name} data: {error} (fetch or pack the file again)")
            }
            _ => return Error::io(&self.path)(error),
        };
        Error::unusable(&self.path, message)
    }

    fn check_size(&self) -> Result<()> {
        let Growth { total, ratio, unratioed } = self.growth;
        if self.given > total {
            let message = format!("holds more than the limit of {} (split the file)", size(total));
            return Err(Error::unusable(&self.path, message));
        }
        let packed = self.compression != Compression::None;
        if packed && self.given > unratioed && self.given / ratio.max(1) > self.taken() {
            let message = format!(
                "unpacks to more than {ratio} times its size, the limit beyond {} \
                 (unpack it yourself if that is right)",
                size(unratioed)
            );
            return Err(Error::unusable(&self.path, message));
        }
        Ok(())
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let result = loop {
            let result = match &mut self.decoder {
                Decoder::Plain(packed) => packed.read(to),
                Decoder::Gzip(decoder) => decoder.read(to),
                Decoder::Zstd(decoder) => decoder.read(to),
            };
            match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let count = result.map_err(|error| io::Error::other(self.explain(error)))?;
        self.given += count as u64;
        self.check_size().map_err(io::Error::other)?;
        Ok(count)
    }
}

/// The crate's error that an error of reading holds.
pub(crate) fn give_back(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::io(path)(error),
    }
}

/// Up to `count` bytes; fewer at the end only.
pub(crate) fn first_bytes(reader: &mut dyn Read, count: u64) -> io::Result<Vec<u8>> {
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

/// A size for people: `64 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    fn unpack(bytes: &[u8], compression: Compression, growth: Growth) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut reader = Unpacked::new(bytes, Path::new("x"), compression, growth)?;
        reader.read_to_end(&mut all).map_err(give_back(Path::new("x")))?;
        Ok(all)
    }

    #[test]
    fn parts_are_read_one_after_the_other_and_cuts_are_found() {
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
        let gzipped = [gzip(b"one "), gzip(b"two")].concat();
        let zstded = [zstd(b"one "), zstd(b"two")].concat();
        for (packed, compression) in [(gzipped, Compression::Gzip), (zstded, Compression::Zstd)] {
            let growth = Growth::default();
            assert_eq!(unpack(&packed, compression, growth).unwrap(), b"one two");
            let cut = unpack(&packed[..packed.len() - 3], compression, growth).unwrap_err();
            assert!(cut.to_string().contains("is cut off"), "{cut}");
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        // Deflate can shrink zeros about 1,030 times, and nothing else as much.
        let bomb = gzip(&vec![0; 16 << 20]);
        let growth = Growth { unratioed: 1 << 20, ..Growth::default() };
        let error = unpack(&bomb, Compression::Gzip, growth).unwrap_err();
        assert!(error.to_string().contains("1000 times"), "{error}");
        let growth = Growth { total: 1 << 20, ..Growth::default() };
        let error = unpack(&bomb, Compression::Gzip, growth).unwrap_err();
        assert!(error.to_string().contains("limit of 1 MiB"), "{error}");
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(64 << 10), "64 KiB");
        assert_eq!(size(1 << 30), "1 GiB");
        assert_eq!(size(100), "100 bytes");
    }
}
