//! Checkpoints: named f32 tensors in one safetensors file, which any tool for these can read.
//!
//! Two keys of the header's meta are ours: `format_version`, and `checksum`, which covers the names,
//! shapes and numbers of all tensors and the rest of the meta. A file appears whole or not at all,
//! and equal contents give equal bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bytemuck::{cast_slice, cast_slice_mut};
use safetensors::Dtype;
use safetensors::tensor::Metadata;
use serde_json::json;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, Result};
use skolem_kg::store::write_atomically;

const VERSION: u32 = 1;
const VERSION_KEY: &str = "format_version";
const CHECKSUM_KEY: &str = "checksum";
/// The largest header that readers of safetensors accept.
const MOST_HEADER: u64 = 100_000_000;

/// Strings of the header.
pub type Meta = BTreeMap<String, String>;

/// A tensor to be written.
pub struct Entry<'a> {
    /// Its name, which no other tensor of the file has.
    pub name: String,
    /// Its length along each axis.
    pub shape: Vec<usize>,
    /// Its numbers, the last axis fastest.
    pub data: &'a [f32],
}

/// Writes tensors and strings to a file, which appears whole or stays as it was.
pub fn write(path: &Path, entries: &[Entry<'_>], meta: &Meta) -> Result<()> {
    Ok(write_atomically(path, |out| stream(out, entries, meta))?)
}

/// What safetensors would write, but to any writer (it knows only files that it opens itself, which
/// could not be atomic) and with the meta in order (it has a random one). Numbers go as they are in
/// memory, which is little-endian: the graph file lets nothing else be built.
fn stream(out: &mut dyn Write, entries: &[Entry<'_>], meta: &Meta) -> io::Result<()> {
    let invalid = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    let mut sorted: Vec<&Entry<'_>> = entries.iter().collect();
    sorted.sort_by_key(|entry| &entry.name);
    let (mut header, mut end) = (BTreeMap::from([("__metadata__", json!(null))]), 0);
    for Entry { name, shape, data } in &sorted {
        let (start, count) = (end, data.len());
        if shape.iter().try_fold(1, |all: usize, &len| all.checked_mul(len)) != Some(count) {
            return invalid(format!("tensor '{name}' of shape {shape:?} has {count} numbers"));
        }
        end += size_of_val(*data);
        let info = json!({ "dtype": "F32", "shape": shape, "data_offsets": [start, end] });
        if header.insert(name, info).is_some() {
            return invalid(format!("the name '{name}' of a tensor is taken"));
        }
    }
    if meta.contains_key(VERSION_KEY) || meta.contains_key(CHECKSUM_KEY) {
        return invalid(format!("the keys '{VERSION_KEY}' and '{CHECKSUM_KEY}' are taken"));
    }
    let mut meta = meta.clone();
    meta.insert(VERSION_KEY.into(), VERSION.to_string());
    // The header comes first, so the numbers are gone through twice; the disk takes longer.
    let parts = sorted.iter().map(|entry| (&entry.name, &entry.shape[..], entry.data));
    meta.insert(CHECKSUM_KEY.into(), checksum(&meta, parts));
    header.insert("__metadata__", json!(meta));
    let mut header = serde_json::to_vec(&header)?;
    // The format wants the numbers aligned.
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() as u64 > MOST_HEADER {
        return invalid(format!("a header of {} bytes is too large", header.len()));
    }
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    sorted.iter().try_for_each(|entry| out.write_all(cast_slice(entry.data)))
}

type Part<'a> = (&'a String, &'a [usize], &'a [f32]);

/// Tensors come in order of their names, as they do in the file.
fn checksum<'a>(meta: &Meta, tensors: impl Iterator<Item = Part<'a>>) -> String {
    let mut hash = Xxh3::new();
    // Each part has its length before it, so that none can pass for the end of another.
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(&(meta.len() as u64).to_le_bytes());
    meta.iter().flat_map(|(key, value)| [key, value]).for_each(|text| add(text.as_bytes()));
    for (name, shape, data) in tensors {
        add(name.as_bytes());
        add(&shape.iter().flat_map(|&len| (len as u64).to_le_bytes()).collect::<Vec<u8>>());
        add(cast_slice(data));
    }
    format!("{:016x}", hash.digest())
}

/// A file of tensors, read and found undamaged.
#[derive(Debug)]
pub struct Checkpoint {
    /// The strings it was written with.
    pub meta: Meta,
    /// Shape and numbers.
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    path: PathBuf,
}

impl Checkpoint {
    /// Reads a file, each tensor straight to where it will stay.
    pub fn read(path: &Path) -> Result<Checkpoint> {
        const ADVICE: &str = "restore the file, or go on from another checkpoint";
        let damaged = |what: &str| Error::corrupt(path, format!("{what}; {ADVICE}"));
        let mut file = File::open(path).map_err(Error::io(path))?;
        let length = file.metadata().map_err(Error::io(path))?.len();
        let Some(room) = length.checked_sub(8) else { return Err(damaged("not a checkpoint")) };
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(Error::io(path))?;
        let size = u64::from_le_bytes(size);
        if size > MOST_HEADER.min(room) {
            return Err(damaged("not a checkpoint, or cut off in its header"));
        }
        let mut header = vec![0; size as usize];
        file.read_exact(&mut header).map_err(Error::io(path))?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|error| damaged(&format!("the header makes no sense ({error})")))?;
        let mut meta: Meta = header.metadata().clone().unwrap_or_default().into_iter().collect();
        match meta.get(VERSION_KEY).and_then(|version| version.parse().ok()) {
            Some(VERSION) => {}
            Some(version @ VERSION..) => {
                let formats = format!("format {version}, this program reads up to {VERSION}");
                let what = format!("written by a newer version ({formats}): update skolem");
                return Err(Error::corrupt(path, what));
            }
            _ => return Err(damaged("not a checkpoint of skolem, it has no format version")),
        }
        // Before anything is allocated: no header can ask for more than there is.
        if (header.data_len() as u64).checked_add(8 + size) != Some(length) {
            return Err(damaged("cut off or overlong: the length is not what the header says"));
        }
        let mut tensors = BTreeMap::new();
        for name in header.offset_keys() {
            let Some(info) = header.info(&name) else { continue };
            let (dtype, (start, end)) = (info.dtype, info.data_offsets);
            if dtype != Dtype::F32 {
                return Err(damaged(&format!("tensor '{name}' is of type {dtype}, not F32")));
            }
            let mut data = vec![0f32; (end - start) / size_of::<f32>()];
            file.read_exact(cast_slice_mut(&mut data)).map_err(Error::io(path))?;
            tensors.insert(name, (info.shape.clone(), data));
        }
        let stored = meta.remove(CHECKSUM_KEY);
        let parts = tensors.iter().map(|(name, (shape, data))| (name, &shape[..], &data[..]));
        if stored != Some(checksum(&meta, parts)) {
            return Err(damaged("damaged, the checksum differs"));
        }
        meta.remove(VERSION_KEY);
        Ok(Checkpoint { meta, tensors, path: path.to_owned() })
    }

    /// Takes a tensor out, checking its shape.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let what = match self.tensors.remove(name) {
            Some((has, data)) if has == shape => return Ok(data),
            Some((has, _)) => format!("tensor '{name}' has shape {has:?}, expected {shape:?}"),
            None => format!("there is no tensor '{name}'"),
        };
        Err(Error::corrupt(&self.path, what + "; the file belongs to another model or graph"))
    }

    /// Names of the tensors not yet taken, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::SafeTensors;
    use std::fs;
    use tempfile::{TempDir, tempdir};

    const WEIGHTS: &[f32] = &[1.0, -2.5, f32::MIN_POSITIVE, f32::INFINITY, 0.0, 6.0];

    fn entry<'a>(name: &str, shape: &[usize], data: &'a [f32]) -> Entry<'a> {
        Entry { name: name.into(), shape: shape.into(), data }
    }

    /// Neither in order of names nor without empty tensors.
    fn entries() -> [Entry<'static>; 4] {
        let bias = entry("b", &[], &WEIGHTS[1..2]);
        [entry("c", &[0, 4], &[]), entry("\"w\" é", &[2, 3], WEIGHTS), entry("a", &[0], &[]), bias]
    }

    fn meta(update: &str) -> Meta {
        Meta::from([("update".into(), update.into()), ("graph".into(), "a\n\"b\"".into())])
    }

    fn written() -> (TempDir, PathBuf, Vec<u8>) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        write(&path, &entries(), &meta("12")).unwrap();
        (folder, path.clone(), fs::read(path).unwrap())
    }

    /// Why a file with these bytes is refused.
    fn refusal(path: &Path, bytes: &[u8]) -> String {
        fs::write(path, bytes).unwrap();
        let message = Checkpoint::read(path).unwrap_err().to_string();
        assert!(message.starts_with(path.to_str().unwrap()), "{message}");
        message
    }

    #[test]
    fn tensors_come_back() {
        let (_folder, path, _) = written();
        let mut read = Checkpoint::read(&path).unwrap();
        assert_eq!(read.meta, meta("12"));
        assert_eq!(read.take("\"w\" é", &[2, 3]).unwrap(), WEIGHTS);
        assert!(read.take("c", &[0, 4]).unwrap().is_empty());
        assert_eq!(read.names().collect::<Vec<_>>(), ["a", "b"]);
        let wrong = read.take("b", &[3, 2]).unwrap_err().to_string();
        assert!(wrong.contains("tensor 'b' has shape [], expected [3, 2]"), "{wrong}");
        let missing = read.take("d", &[]).unwrap_err().to_string();
        assert!(missing.contains("there is no tensor 'd'"), "{missing}");
    }

    #[test]
    fn safetensors_reads_it_and_equal_contents_are_equal_bytes() {
        let (_folder, _, bytes) = written();
        let (size, header) = SafeTensors::read_metadata(&bytes).unwrap();
        assert_eq!((size % 8, &header.metadata().as_ref().unwrap()["update"][..]), (0, "12"));
        let weights = SafeTensors::deserialize(&bytes).unwrap().tensor("\"w\" é").unwrap();
        assert_eq!((weights.dtype(), weights.shape()), (Dtype::F32, &[2, 3][..]));
        assert_eq!(weights.data(), cast_slice::<f32, u8>(WEIGHTS));
        let [a, b, c, d] = entries();
        let mut again = Vec::new();
        stream(&mut again, &[d, c, b, a], &meta("12")).unwrap();
        assert_eq!(again, bytes);
    }

    #[test]
    fn all_damage_is_found_and_told() {
        let (_folder, path, whole) = written();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            refusal(&path, &bytes);
        }
        (0..whole.len()).for_each(|len| drop(refusal(&path, &whole[..len])));
        assert!(refusal(&path, &[&whole[..], b"\0"].concat()).contains("overlong"));
        for (from, to, expected) in [
            ("n\":\"1", "n\":\"7", "(format 7, this program reads up to 1): update skolem"),
            ("n\":\"1", "n\":\"0", "no format version"),
            ("\"F32\"", "\"I32\"", "tensor '\"w\" é' is of type I32, not F32"),
            ("[2,3]", "[3,2]", "checksum differs"),
            ("\"12\"", "\"13\"", "checksum differs"),
            ("[0,24]", "[0,25]", "the header makes no sense"),
        ] {
            let mut bytes = whole.clone();
            let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
            let message = refusal(&path, &bytes);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_names_it() {
        let (folder, path, old) = written();
        let new = meta("13");
        let check = |failed: Result<()>, path: &Path, why: &str| {
            let message = failed.unwrap_err().to_string();
            let named = message.starts_with(path.to_str().unwrap());
            assert!(named && message.contains(why), "{message}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        };
        for room in 0..old.len() {
            let full = write_atomically(&path, |out| {
                let mut disk = vec![0; room];
                let full = stream(&mut &mut disk[..], &entries(), &new);
                out.write_all(&disk).and(full)
            });
            check(full.map_err(Error::from), &path, "write whole");
        }
        let (b, ours) = (|shape| entry("b", shape, WEIGHTS), [("checksum".into(), "".into())]);
        check(write(&path, &[b(&[7])], &new), &path, "'b' of shape [7] has 6 numbers");
        check(write(&path, &[b(&[6]), b(&[3, 2])], &new), &path, "'b' of a tensor is taken");
        check(write(&path, &[], &Meta::from(ours)), &path, "are taken");
        assert_eq!(fs::read(&path).unwrap(), old);
        let nowhere = folder.path().join("missing").join("model.safetensors");
        check(write(&nowhere, &entries(), &new), &nowhere, "");
    }
}
