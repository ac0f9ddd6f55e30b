//! Zstandard data of any number of frames, with a bound on what a frame may ask for.
//!
//! The decoder that does the work reads one frame, and believes the frame's header about how much
//! of it to remember; so the header is looked at here first.

use std::io::{self, BufRead, Cursor, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// What a frame may ask to remember; the reference program's own limit.
const LARGEST_WINDOW: u64 = 128 << 20;
const MAGIC: u32 = 0xFD2F_B528;
/// Frames that hold no data have one of sixteen magic numbers from this one.
const SKIPPABLE: u32 = 0x184D_2A50;

/// Reads frames one after the other.
pub(super) struct Zstd<R> {
    source: R,
    frame: Option<FrameDecoder>,
}

impl<R: BufRead> Zstd<R> {
    pub fn new(source: R) -> Zstd<R> {
        Zstd { source, frame: None }
    }

    /// Whether these bytes can start Zstandard data.
    pub fn is_magic(bytes: &[u8]) -> bool {
        let Some(&first) = bytes.first_chunk::<4>() else { return false };
        let magic = u32::from_le_bytes(first);
        magic == MAGIC || is_skippable(magic)
    }

    /// Starts the next frame; `None` at the end of the data or after a skipped frame.
    fn next_frame(&mut self) -> io::Result<Option<FrameDecoder>> {
        let mut magic = [0; 4];
        self.source.read_exact(&mut magic)?;
        let number = u32::from_le_bytes(magic);
        if is_skippable(number) {
            let mut length = [0; 4];
            self.source.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
            return match skipped == length {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        if number != MAGIC {
            return Err(damaged("something else follows the last frame"));
        }
        let mut header = magic.to_vec();
        let window = read_window(&mut self.source, &mut header)?;
        if window > LARGEST_WINDOW {
            return Err(damaged("it asks for a window of more than 128 MiB"));
        }
        let mut frame = FrameDecoder::new();
        frame.init(Cursor::new(header).chain(&mut self.source)).map_err(explain)?;
        Ok(Some(frame))
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(frame) = &mut self.frame else {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.frame = self.next_frame()?;
                continue;
            };
            if frame.can_collect() == 0 && !frame.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                frame.decode_blocks(&mut self.source, one).map_err(explain)?;
                continue;
            }
            let count = frame.read(to)?;
            if count > 0 || to.is_empty() {
                return Ok(count);
            }
            let stored = frame.get_checksum_from_data();
            if stored.is_some() && stored != frame.get_calculated_checksum() {
                return Err(damaged("its checksum does not fit"));
            }
            self.frame = None;
        }
    }
}

/// Reads a frame's header up to its window size, keeping the bytes.
fn read_window(source: &mut impl Read, header: &mut Vec<u8>) -> io::Result<u64> {
    let mut more = |count: usize| -> io::Result<[u8; 8]> {
        let mut bytes = [0; 8];
        source.read_exact(&mut bytes[..count])?;
        header.extend_from_slice(&bytes[..count]);
        Ok(bytes)
    };
    let flags = more(1)?[0];
    let one_segment = flags & 0x20 != 0;
    if !one_segment {
        let window = more(1)?[0];
        let base = 1u64 << (10 + (window >> 3));
        return Ok(base + base / 8 * u64::from(window & 7));
    }
    // The whole content is the window; its size comes after the dictionary's number.
    more([0, 1, 2, 4][usize::from(flags & 3)])?;
    let content = match flags >> 6 {
        0 => u64::from_le_bytes(more(1)?),
        1 => u64::from_le_bytes(more(2)?) + 256,
        2 => u64::from_le_bytes(more(4)?),
        _ => u64::from_le_bytes(more(8)?),
    };
    Ok(content)
}

fn is_skippable(magic: u32) -> bool {
    magic & !0xF == SKIPPABLE
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Finds the end of the file among the decoder's many errors, to tell a cut from other damage.
fn explain(error: ruzstd::decoding::errors::FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return io::Error::new(error.kind(), error.to_string());
        }
        cause = error.source();
    }
    damaged(&error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn pack(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Zstd::new(bytes).read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn frames_follow_one_another_and_empty_ones_are_skipped() {
        let skipped = [&[0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
        let all = [pack(b"one "), skipped, pack(b""), pack(b"two")].concat();
        assert_eq!(unpack(&all).unwrap(), b"one two");
    }

    #[test]
    fn damage_is_an_error() {
        let whole = pack(&b"hello, hello, hello, hello ".repeat(100));
        for end in 1..whole.len() {
            assert!(unpack(&whole[..end]).is_err(), "{end}");
        }
        let trailing = [&whole[..], b"junk"].concat();
        assert!(unpack(&trailing).unwrap_err().to_string().contains("something else"));
    }

    #[test]
    fn a_huge_window_is_refused_before_any_memory_is_taken() {
        let two_tebibytes = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 31 << 3, 0, 0, 0];
        assert!(unpack(&two_tebibytes).unwrap_err().to_string().contains("128 MiB"));
        let mut one_segment = vec![0x28, 0xB5, 0x2F, 0xFD, 0xE0];
        one_segment.extend([0xFF; 8]);
        assert!(unpack(&one_segment).unwrap_err().to_string().contains("128 MiB"));
    }
}
