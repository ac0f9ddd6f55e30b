//! A graph's one file: sections of numbers and text behind a checksummed table.
//!
//! ```text
//! magic "SKOLEMKG" · version u32 · sections u32 · file length u64 · checksum of header and table u64
//! table: (kind u32, zero u32, offset u64, length u64, checksum u64) × sections
//! sections, each aligned to 64 bytes, little-endian
//! ```
//!
//! Opening maps the file and reads the table alone. A section's checksum is compared when it is
//! first used, so that damage is found before anything believes the bytes.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, cast_slice, cast_slice_mut, try_cast_slice};
use memmap2::Mmap;
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::{Error, Result};

#[cfg(target_endian = "big")]
compile_error!("the graph file is mapped as little-endian numbers");

const MAGIC: &[u8; 8] = b"SKOLEMKG";
/// Version of the layout; readers refuse any other.
pub const VERSION: u32 = 1;
const HEADER: usize = 32;
const ROW: usize = 32;
const ALIGN: usize = 64;
/// More sections than any version has; bounds what a hostile table can ask for.
const MOST_SECTIONS: usize = 256;

/// The bytes of a graph file, mapped or in memory, with their table read.
pub struct Image {
    bytes: Bytes,
    sections: Vec<Section>,
    path: PathBuf,
}

enum Bytes {
    Mapped(Mmap),
    /// Kept as `u64` so that every section is aligned for its numbers.
    Owned(Vec<u64>, usize),
}

struct Section {
    kind: u32,
    range: Range<usize>,
    checksum: u64,
}

impl Image {
    /// Maps a file and reads its table.
    pub fn open(path: &Path) -> Result<Image> {
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = file.metadata().map_err(Error::io(path))?;
        if metadata.is_dir() {
            return Err(Error::unusable(path, "is a folder, not a graph file (import it first)"));
        }
        if metadata.len() < HEADER as u64 {
            return Err(Error::unusable(path, "is too short for a graph file (import it first)"));
        }
        Image::read(Bytes::Mapped(map(&file).map_err(Error::io(path))?), path)
    }

    /// Reads the table of a file held in memory.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Image> {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Image::read(Bytes::Owned(words, bytes.len()), path)
    }

    fn read(bytes: Bytes, path: &Path) -> Result<Image> {
        let all = bytes.as_slice();
        if all.len() < HEADER || &all[..8] != MAGIC {
            return Err(Error::unusable(path, "is not a Skolem graph file (import it first)"));
        }
        let version = number32(all, 8);
        if version != VERSION {
            let message = format!("has format version {version}, this program reads {VERSION}");
            return Err(Error::unusable(path, message + " (import the graph again)"));
        }
        let count = number32(all, 12) as usize;
        let table_end = HEADER + count.min(MOST_SECTIONS) * ROW;
        if count > MOST_SECTIONS || table_end > all.len() {
            return Err(Error::corrupt(path, "the table of sections does not fit"));
        }
        if number64(all, 16) != all.len() as u64 {
            let message = format!("{} bytes long, should be {}", all.len(), number64(all, 16));
            return Err(Error::corrupt(path, message));
        }
        if header_checksum(&all[..24], &all[HEADER..table_end]) != number64(all, 24) {
            return Err(Error::corrupt(path, "the checksum of the header differs"));
        }
        let sections = (0..count)
            .map(|at| read_row(&all[HEADER + at * ROW..][..ROW], table_end..all.len()))
            .collect::<Option<Vec<Section>>>()
            .ok_or_else(|| Error::corrupt(path, "a section lies outside the file"))?;
        Ok(Image { sections, path: path.to_owned(), bytes })
    }

    /// The numbers of a section, without a look at its checksum (see [`Image::verify`]).
    /// A section that is absent is empty.
    pub fn section<T: Pod>(&self, kind: u32) -> Result<&[T]> {
        let Some(section) = self.find(kind) else { return Ok(&[]) };
        try_cast_slice(&self.bytes.as_slice()[section.range.clone()])
            .map_err(|_| Error::corrupt(&self.path, format!("section {kind} is misaligned")))
    }

    /// Compares the checksum of a section; an absent section is fine.
    pub fn verify(&self, kind: u32) -> Result<()> {
        let Some(section) = self.find(kind) else { return Ok(()) };
        match xxh3_64(&self.bytes.as_slice()[section.range.clone()]) == section.checksum {
            true => Ok(()),
            false => {
                Err(Error::corrupt(&self.path, format!("the checksum of section {kind} differs")))
            }
        }
    }

    fn find(&self, kind: u32) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == kind)
    }

    /// Path it was opened from, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A number that two images share exactly when they hold the same sections.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Xxh3::new();
        for section in &self.sections {
            hash.update(&section.kind.to_le_bytes());
            hash.update(&section.checksum.to_le_bytes());
        }
        hash.digest()
    }

    /// The whole file.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Writes the whole file so that a reader sees all of it or none.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_atomically(path, |out| out.write_all(self.as_bytes()))
    }
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(words, len) => &cast_slice(words)[..*len],
        }
    }
}

/// Collects sections into an [`Image`] in memory.
#[derive(Default)]
pub struct ImageBuilder {
    sections: Vec<(u32, Box<dyn AsBytes>)>,
}

/// Numbers of whatever kind, kept as they were made until they are laid out.
trait AsBytes {
    fn bytes(&self) -> &[u8];
}

impl<T: Pod> AsBytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        cast_slice(self)
    }
}

impl ImageBuilder {
    /// Adds a section.
    pub fn add<T: Pod>(&mut self, kind: u32, numbers: Vec<T>) {
        self.sections.push((kind, Box::new(numbers)));
    }

    /// Lays the sections out as a file would be.
    pub fn finish(self) -> Image {
        let mut offset = HEADER + self.sections.len() * ROW;
        let mut rows = Vec::new();
        for (kind, numbers) in &self.sections {
            let bytes = numbers.bytes();
            offset = offset.next_multiple_of(ALIGN);
            rows.push((*kind, offset..offset + bytes.len(), xxh3_64(bytes)));
            offset += bytes.len();
        }
        let len = offset;
        let mut words = vec![0u64; len.div_ceil(8)];
        let all = cast_slice_mut::<u64, u8>(&mut words);
        all[..8].copy_from_slice(MAGIC);
        all[8..12].copy_from_slice(&VERSION.to_le_bytes());
        all[12..16].copy_from_slice(&(rows.len() as u32).to_le_bytes());
        all[16..24].copy_from_slice(&(len as u64).to_le_bytes());
        for (at, (kind, range, checksum)) in rows.iter().enumerate() {
            let row = &mut all[HEADER + at * ROW..][..ROW];
            row[..4].copy_from_slice(&kind.to_le_bytes());
            row[8..16].copy_from_slice(&(range.start as u64).to_le_bytes());
            row[16..24].copy_from_slice(&(range.len() as u64).to_le_bytes());
            row[24..].copy_from_slice(&checksum.to_le_bytes());
        }
        let checksum = header_checksum(&all[..24], &all[HEADER..HEADER + rows.len() * ROW]);
        all[24..32].copy_from_slice(&checksum.to_le_bytes());
        // Each section is freed as soon as it is copied: the largest graphs are built in one go.
        for ((_, numbers), (_, range, _)) in self.sections.into_iter().zip(&rows) {
            all[range.clone()].copy_from_slice(numbers.bytes());
        }
        let sections = rows
            .into_iter()
            .map(|(kind, range, checksum)| Section { kind, range, checksum })
            .collect();
        let path = PathBuf::from("(graph in memory)");
        Image { bytes: Bytes::Owned(words, len), sections, path }
    }
}

/// Writes a file through a temporary one beside it: synced, renamed, and the folder synced, so that
/// a crash leaves either the old file or the new one.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    write_atomically_with(path, |out| write(out).map_err(Error::io(path)))
}

/// As [`write_atomically`], for writers that fail for reasons of their own.
pub fn write_atomically_with<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    let mut file = AtomicFile::create(path)?;
    let value = write(&mut file)?;
    file.commit()?;
    Ok(value)
}

/// As [`write_atomically`], for writers that keep their file open: it appears with
/// [`AtomicFile::commit`], and dropped before that it leaves nothing behind.
pub struct AtomicFile {
    out: BufWriter<Partial>,
    path: PathBuf,
}

/// How the names of files that are being written begin and end.
const PARTIAL: (&str, &str) = (".skolem-", ".partial");

/// A file that is being written. Its errors do not name it: what is to be named is the finished one.
struct Partial(NamedTempFile);

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

/// Whether this is the name of a file that was being written when the program was killed.
pub fn is_partial(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PARTIAL.0) && name.ends_with(PARTIAL.1))
}

/// Removes what was being written to a folder when the program was killed.
pub fn remove_partial(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let entry = entry.map_err(Error::io(folder))?;
        if is_partial(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            std::fs::remove_file(entry.path()).map_err(Error::io(entry.path()))?;
        }
    }
    Ok(())
}

impl AtomicFile {
    /// Starts a file that is to appear at a path.
    pub fn create(path: &Path) -> Result<AtomicFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PARTIAL.0).suffix(PARTIAL.1);
        #[cfg(unix)]
        {
            // Temporary files are private by default; the finished one should obey the umask
            // instead.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        // The kind alone: the message would speak of the temporary file.
        let temporary = builder
            .tempfile_in(folder_of(path))
            .map_err(|error| match error.kind() {
                // The kind's own words are "entity not found", which means something else here.
                kind @ ErrorKind::NotFound => io::Error::new(kind, "its folder is not there"),
                kind => kind.into(),
            })
            .map_err(Error::io(path))?;
        Ok(AtomicFile {
            out: BufWriter::with_capacity(1 << 20, Partial(temporary)),
            path: path.to_owned(),
        })
    }

    /// Where it is to appear.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place: all of it is on the disk when this returns.
    pub fn commit(self) -> Result<()> {
        let path = self.path;
        let Partial(temporary) =
            self.out.into_inner().map_err(|error| Error::io(&path)(error.into_error()))?;
        temporary.as_file().sync_all().map_err(Error::io(&path))?;
        temporary.persist(&path).map_err(|error| Error::io(&path)(error.error))?;
        #[cfg(unix)]
        {
            let folder = folder_of(&path);
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))?;
        }
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// The one place of this crate that needs `unsafe`.
#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: a mapped file must not change under us. Skolem never writes into an existing file
    // (it writes beside and renames), so only another program that edits the file in place could.
    // Whatever the bytes say, every number read from them is checked before it is used as an index.
    unsafe { Mmap::map(file) }
}

fn read_row(row: &[u8], payload: Range<usize>) -> Option<Section> {
    let start = usize::try_from(number64(row, 8)).ok()?;
    let end = start.checked_add(usize::try_from(number64(row, 16)).ok()?)?;
    let inside = payload.start <= start && end <= payload.end && start % ALIGN == 0;
    inside.then(|| Section {
        kind: number32(row, 0),
        range: start..end,
        checksum: number64(row, 24),
    })
}

fn header_checksum(header: &[u8], table: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(table);
    hash.digest()
}

pub(crate) fn number32(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

pub(crate) fn number64(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let mut builder = ImageBuilder::default();
        builder.add(3, vec![1u32, 2, 3]);
        builder.add(5, b"names".to_vec());
        builder.finish()
    }

    #[test]
    fn sections_come_back() {
        let image = Image::from_bytes(image().as_bytes(), Path::new("x")).unwrap();
        assert_eq!(image.section::<u32>(3).unwrap(), [1, 2, 3]);
        assert_eq!(image.section::<u8>(5).unwrap(), b"names");
        assert!(image.section::<u32>(9).unwrap().is_empty());
        image.verify(3).unwrap();
        image.verify(5).unwrap();
    }

    #[test]
    fn every_flipped_bit_that_matters_is_found() {
        let whole = image().as_bytes().to_vec();
        let same = |bytes: &[u8]| {
            let image = Image::from_bytes(bytes, Path::new("x"))?;
            image.verify(3)?;
            image.verify(5)
        };
        let mut padding = 0;
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            padding += usize::from(same(&bytes).is_ok());
        }
        // Only the zeros between sections are free to differ.
        let free: usize = (ALIGN - (HEADER + 2 * ROW) % ALIGN) % ALIGN + (ALIGN - 12);
        assert_eq!(padding, free * 8);
    }

    #[test]
    fn every_truncation_is_found() {
        let whole = image().as_bytes().to_vec();
        for len in 0..whole.len() {
            assert!(Image::from_bytes(&whole[..len], Path::new("x")).is_err(), "{len}");
        }
    }

    #[test]
    fn what_a_killed_program_was_writing_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let mut file = AtomicFile::create(&folder.path().join("a.kg")).unwrap();
        file.write_all(b"half").unwrap();
        // As if killed: the file stays, and nobody knows of it.
        std::mem::forget(file);
        assert!(names().len() == 1 && is_partial(&names()[0]));
        for name in ["a.partial", ".skolem-b", "c.kg"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        remove_partial(folder.path()).unwrap();
        assert_eq!(names(), [".skolem-b", "a.partial", "c.kg"]);
        assert!(remove_partial(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.kg");
        write_atomically(&path, |out| out.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |out| {
            out.write_all(b"new")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
