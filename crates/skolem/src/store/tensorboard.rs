//! Event files of TensorBoard, as far as curves need them.
//!
//! A file is a list of records: length (u64), its checksum, a protobuf `Event`, its checksum. Only
//! these fields are written: `Event { wall_time = 1, step = 2, file_version = 3, summary = 5,
//! session_log = 7 }`, `Summary { value = 1 }`, `Value { tag = 1, simple_value = 2 }` and
//! `SessionLog { status = 1 }`.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};

/// Writes points of curves to an event file.
pub struct EventWriter {
    out: BufWriter<File>,
    path: PathBuf,
}

impl EventWriter {
    /// Starts an event file in a folder; `session` tells files of the same second apart.
    pub fn create(dir: &Path, session: u64) -> Result<EventWriter> {
        let seconds = since_1970().as_secs();
        let path = dir.join(format!("events.out.tfevents.{seconds}.skolem.{session}"));
        // Files may follow one another in one: a second session in the same second takes nothing.
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let out = BufWriter::new(file.map_err(Error::io(&path))?);
        let mut writer = EventWriter { out, path };
        writer.record(&event(since_1970(), 0, 3, b"brain.Event:2"))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Tells that training goes on at a step: points of earlier files from there on count no more.
    pub fn restart(&mut self, step: u64) -> Result<()> {
        const START: u64 = 1;
        let mut log = Vec::new();
        key(&mut log, 1, VARINT);
        varint(&mut log, START);
        self.record(&event(since_1970(), step, 7, &log))
    }

    /// Adds a point to the curve of a tag.
    pub fn scalar(&mut self, tag: &str, step: u64, value: f64) -> Result<()> {
        self.record(&event(since_1970(), step, 5, &summary(tag, value as f32)))
    }

    /// Hands everything to the system, so that TensorBoard sees it.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(Error::io(&self.path))
    }

    fn record(&mut self, data: &[u8]) -> Result<()> {
        // One write: should the disk be full, the record is missing as a whole.
        self.out.write_all(&frame(data)).map_err(Error::io(&self.path))
    }
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Kinds of protobuf fields.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

fn event(wall_time: Duration, step: u64, field: u64, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    key(&mut out, 1, FIXED64);
    out.extend(wall_time.as_secs_f64().to_le_bytes());
    key(&mut out, 2, VARINT);
    varint(&mut out, step);
    bytes(&mut out, field, content);
    out
}

fn summary(tag: &str, value: f32) -> Vec<u8> {
    let mut point = Vec::new();
    bytes(&mut point, 1, tag.as_bytes());
    key(&mut point, 2, FIXED32);
    point.extend(value.to_le_bytes());
    let mut out = Vec::new();
    bytes(&mut out, 1, &point);
    out
}

fn key(out: &mut Vec<u8>, field: u64, kind: u64) {
    varint(out, (field << 3) | kind);
}

fn bytes(out: &mut Vec<u8>, field: u64, content: &[u8]) {
    key(out, field, BYTES);
    varint(out, content.len() as u64);
    out.extend(content);
}

/// Seven bits a byte, the lowest first; the eighth bit says that more follow.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn frame(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length, &masked(&length).to_le_bytes()[..], data, &masked(data).to_le_bytes()].concat()
}

/// A checksum of data that may hold checksums, for which a plain one is poor.
fn masked(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xA282_EAD8)
}

fn crc32c(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, &byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut crc = at as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ ((crc & 1) * 0x82F6_3B78);
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46DD_794E);
    }

    #[test]
    fn records_are_those_of_tensorboard() {
        // As TensorBoard's own writer has it.
        let record = b"\x21\0\0\0\0\0\0\0\x01\x7b\xec\xf6\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\
            \x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\0\0\x80\x3e\x65\x57\x98\x1f";
        let event = event(Duration::from_millis(1500), 300, 5, &summary("train/loss", 0.25));
        assert_eq!(frame(&event), record);
    }

    #[test]
    fn a_file_is_a_list_of_records() {
        let folder = tempfile::tempdir().unwrap();
        // Twice, most likely in the same second.
        for step in [1, 200] {
            let mut writer = EventWriter::create(folder.path(), 7).unwrap();
            writer.restart(step).unwrap();
            writer.scalar("valid/mrr", step, 0.5).unwrap();
            writer.flush().unwrap();
        }
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        let mut records = Vec::new();
        for path in paths {
            assert_eq!(path.extension().unwrap(), "7");
            let bytes = std::fs::read(path).unwrap();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (length, _) = rest.split_first_chunk().unwrap();
                let (record, after) = rest.split_at(u64::from_le_bytes(*length) as usize + 16);
                assert_eq!(record, frame(&record[12..record.len() - 4]));
                records.push(record.len());
                rest = after;
            }
        }
        assert_eq!(records, [42, 31, 47, 42, 32, 48]);
        let failed = EventWriter::create(&folder.path().join("missing"), 7).err().unwrap();
        assert!(failed.to_string().contains("missing/events.out.tfevents."), "{failed}");
    }
}
