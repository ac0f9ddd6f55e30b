//! Skolem's own format for query sets, `.skq`: small, read and written as a stream, and such that
//! no damage goes unnoticed.
//!
//! ```text
//! magic "SKOLEMQS" · version u32 · split u8 (255: none) · zero u8 × 3 · graph's fingerprint u64
//! checksum of the 24 bytes before u64
//! blocks: payload length u32 · examples u32 · checksum u64 · payload
//! end: a block of no examples, whose payload is the number of all examples u64
//! ```
//!
//! A block's checksum covers its place among the blocks, its length and count, and its payload.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::code::{Bytes, put_example};
use super::input::{failed, open_unpacked};
use super::{Example, ExampleWriter, Origin, check, until_failed};
use crate::error::{Error, Result};
use crate::split::Split;
use crate::store::{AtomicFile, number32, number64};

const MAGIC: &[u8; 8] = b"SKOLEMQS";
/// Version of the layout; readers refuse any other.
pub const VERSION: u32 = 1;
const HEADER: usize = 32;
const BLOCK_HEAD: usize = 16;
/// A block is written once it has this many bytes.
const BLOCK: usize = 256 << 10;
/// Bounds what a hostile header can ask for, and how large one example can be.
const MOST_BLOCK: usize = 64 << 20;
const NO_SPLIT: u8 = 255;

/// Opens a file.
pub fn open(path: &Path) -> Result<Reader<impl Read + Send + use<>>> {
    Reader::new(open_unpacked(path)?, path)
}

/// Reads examples one by one; a block is believed only once its checksum was compared.
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    origin: Origin,
    block: Vec<u8>,
    /// How much of the block is read.
    at: usize,
    /// Examples left in the block.
    left: u32,
    blocks: u64,
    examples: u64,
    done: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header; the path is for messages.
    pub fn new(mut input: R, path: &Path) -> Result<Reader<R>> {
        let mut header = [0; HEADER];
        input.read_exact(&mut header).map_err(|error| failed(path, error))?;
        if &header[..8] != MAGIC {
            return Err(Error::unusable(path, "is not a Skolem query set"));
        }
        if xxh3_64(&header[..24]) != number64(&header, 24) {
            return Err(Error::corrupt(path, "the checksum of the header differs"));
        }
        let version = number32(&header, 8);
        if version != VERSION {
            let message = format!("has format version {version}, this program reads {VERSION}");
            return Err(Error::unusable(path, message + " (make the query set again)"));
        }
        let split = match usize::from(header[12]) {
            at if at < Split::ALL.len() => Some(Split::ALL[at]),
            at if at == usize::from(NO_SPLIT) => None,
            _ => return Err(Error::corrupt(path, "the split is unknown")),
        };
        Ok(Reader {
            input,
            path: path.to_owned(),
            origin: Origin { graph: number64(&header, 16), split },
            block: Vec::new(),
            at: 0,
            left: 0,
            blocks: 0,
            examples: 0,
            done: false,
        })
    }

    /// Where the query set comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    fn step(&mut self) -> Result<Option<Example>> {
        if self.left == 0 {
            if self.at != self.block.len() {
                return Err(self.corrupt("is longer than its examples"));
            }
            if !self.next_block()? {
                return Ok(None);
            }
        }
        let mut bytes = Bytes(&self.block[self.at..]);
        let example = bytes.example();
        let rest = bytes.0.len();
        let example = example.map_err(|what| self.corrupt(what))?;
        self.at = self.block.len() - rest;
        self.left -= 1;
        Ok(Some(example))
    }

    /// Reads a block; false at the end.
    fn next_block(&mut self) -> Result<bool> {
        let mut head = [0; BLOCK_HEAD];
        self.input.read_exact(&mut head).map_err(|error| failed(&self.path, error))?;
        let (len, count) = (number32(&head, 0) as usize, number32(&head, 4));
        if len > MOST_BLOCK {
            return Err(self.corrupt("is too large"));
        }
        // Grows as bytes arrive, so that a wrong length costs no more than the file has.
        self.block.clear();
        let mut payload = (&mut self.input).take(len as u64);
        payload.read_to_end(&mut self.block).map_err(|error| failed(&self.path, error))?;
        if self.block.len() < len {
            return Err(self.corrupt("is cut short"));
        }
        if checksum(self.blocks, &head[..8], &self.block) != number64(&head, 8) {
            return Err(self.corrupt("has another checksum"));
        }
        (self.at, self.left) = (0, count);
        self.blocks += 1;
        self.examples += u64::from(count);
        if count > 0 {
            return Ok(true);
        }
        if self.block.len() != 8 || number64(&self.block, 0) != self.examples {
            return Err(self.corrupt("tells another number of examples"));
        }
        self.at = self.block.len();
        match self.input.read_exact(&mut [0]) {
            Ok(()) => Err(self.corrupt("is not the end of the file")),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(failed(&self.path, error)),
        }
    }

    fn corrupt(&self, what: &str) -> Error {
        Error::corrupt(&self.path, format!("block {}: {what}", self.blocks))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Example>;

    fn next(&mut self) -> Option<Self::Item> {
        until_failed(self, |reader| &mut reader.done, Self::step)
    }
}

/// Writes examples one by one.
pub struct Writer {
    out: AtomicFile,
    block: Vec<u8>,
    count: u32,
    blocks: u64,
    examples: u64,
}

impl Writer {
    /// Starts a file.
    pub fn create(path: &Path, origin: Origin) -> Result<Writer> {
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.push(origin.split.map_or(NO_SPLIT, |split| split.index() as u8));
        header.extend_from_slice(&[0; 3]);
        header.extend_from_slice(&origin.graph.to_le_bytes());
        header.extend_from_slice(&xxh3_64(&header).to_le_bytes());
        let mut out = AtomicFile::create(path)?;
        out.write_all(&header).map_err(Error::io(path))?;
        Ok(Writer { out, block: Vec::new(), count: 0, blocks: 0, examples: 0 })
    }

    fn put_block(&mut self) -> Result<()> {
        let mut head = [0; BLOCK_HEAD];
        head[..4].copy_from_slice(&(self.block.len() as u32).to_le_bytes());
        head[4..8].copy_from_slice(&self.count.to_le_bytes());
        let checksum = checksum(self.blocks, &head[..8], &self.block);
        head[8..].copy_from_slice(&checksum.to_le_bytes());
        let written = self.out.write_all(&head).and_then(|()| self.out.write_all(&self.block));
        written.map_err(Error::io(self.out.path()))?;
        self.block.clear();
        self.blocks += 1;
        self.examples += u64::from(std::mem::take(&mut self.count));
        Ok(())
    }
}

impl ExampleWriter for Writer {
    fn write(&mut self, example: &Example) -> Result<()> {
        check(example)?;
        let before = self.block.len();
        put_example(&mut self.block, example);
        let len = self.block.len() - before;
        if len > MOST_BLOCK - BLOCK {
            self.block.truncate(before);
            return Err(Error::TooLarge {
                what: format!("a query with answers of {len} bytes"),
                limit: format!("{} bytes", MOST_BLOCK - BLOCK),
            });
        }
        self.count += 1;
        if self.block.len() >= BLOCK {
            self.put_block()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.count > 0 {
            self.put_block()?;
        }
        self.block.extend_from_slice(&self.examples.to_le_bytes());
        self.put_block()?;
        self.out.commit()
    }
}

fn checksum(place: u64, head: &[u8], payload: &[u8]) -> u64 {
    let mut hash = Xxh3::with_seed(place);
    hash.update(head);
    hash.update(payload);
    hash.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Answers;
    use crate::id::{Entity, Relation};
    use crate::query::Query;

    fn example(at: u32) -> Example {
        Example {
            query: Query::Anchor(Entity(at)).follow(Relation(at % 7)),
            easy: Answers::listed((0..at % 5).map(|step| Entity(at + step * 300)).collect()),
            hard: Answers::Count(at as usize),
        }
    }

    fn file(examples: u32) -> (Vec<u8>, Origin) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.skq");
        let origin = Origin { graph: 77, split: Some(Split::Valid) };
        let mut writer = Box::new(Writer::create(&path, origin).unwrap());
        (0..examples).for_each(|at| writer.write(&example(at)).unwrap());
        writer.finish().unwrap();
        (std::fs::read(&path).unwrap(), origin)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Example>> {
        Reader::new(bytes, Path::new("x"))?.collect()
    }

    #[test]
    fn many_blocks_come_back() {
        let (bytes, origin) = file(60_000);
        assert!(bytes.len() > 2 * BLOCK);
        let mut reader = Reader::new(&bytes[..], Path::new("x")).unwrap();
        assert_eq!(reader.origin(), origin);
        for at in 0..60_000 {
            assert_eq!(reader.next().unwrap().unwrap(), example(at));
        }
        assert!(reader.next().is_none() && reader.next().is_none());
        assert!(read(&file(0).0).unwrap().is_empty());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let (whole, _) = file(20);
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes).is_err(), "bit {bit}");
        }
        for len in 0..whole.len() {
            assert!(read(&whole[..len]).is_err(), "{len}");
        }
        assert!(read(&[&whole[..], b"x"].concat()).is_err());
    }

    #[test]
    fn a_hostile_length_is_not_believed() {
        let (mut bytes, _) = file(20);
        bytes[HEADER..HEADER + 4].copy_from_slice(&(MOST_BLOCK as u32).to_le_bytes());
        assert!(read(&bytes).unwrap_err().to_string().contains("cut short"));
        bytes[HEADER..HEADER + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read(&bytes).unwrap_err().to_string().contains("too large"));
    }

    #[test]
    fn a_block_that_is_right_and_makes_no_sense_is_refused() {
        let (mut bytes, _) = file(0);
        bytes.truncate(HEADER);
        let mut head = [0; 8];
        head[0] = 3;
        head[4] = 1;
        let payload = [7, 7, 7];
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&checksum(0, &head, &payload).to_le_bytes());
        bytes.extend_from_slice(&payload);
        assert!(read(&bytes).unwrap_err().to_string().contains("unknown kind"));
    }
}
