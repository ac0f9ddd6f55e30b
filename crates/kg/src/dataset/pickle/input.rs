//! The arguments of a pickle's instructions.

use super::{PickleError, Slot};

/// A step of reading, or why it cannot be made.
pub(super) type Outcome<T = ()> = Result<T, PickleError>;

/// The bytes of a pickle.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    /// The next byte.
    at: usize,
    /// The first byte of the instruction, for messages.
    op: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, at: 0, op: 0 }
    }

    /// How long the whole pickle is.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether all is read.
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next instruction.
    pub(super) fn instruction(&mut self) -> Outcome<u8> {
        self.op = self.at;
        self.byte()
    }

    pub(super) fn damaged(&self, what: impl Into<String>) -> PickleError {
        PickleError { offset: self.op, what: what.into(), refused: false }
    }

    pub(super) fn refused(&self, what: impl Into<String>) -> PickleError {
        PickleError { refused: true, ..self.damaged(what) }
    }

    pub(super) fn byte(&mut self) -> Outcome<u8> {
        Ok(self.take(1)?[0])
    }

    fn take(&mut self, len: u64) -> Outcome<&'a [u8]> {
        self.check_left(len)?;
        let taken = &self.bytes[self.at..self.at + len as usize];
        self.at += len as usize;
        Ok(taken)
    }

    pub(super) fn check_left(&self, len: u64) -> Outcome {
        match len <= (self.bytes.len() - self.at) as u64 {
            true => Ok(()),
            false => Err(self.damaged("the pickle is cut short")),
        }
    }

    pub(super) fn number(&mut self, len: u64) -> Outcome<u64> {
        let bytes = self.take(len)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A number of any length, as two's complement.
    pub(super) fn long(&mut self, len: u64) -> Outcome<i64> {
        if len > 8 {
            return Err(self.refused("a number has more than 64 bits"));
        }
        let bytes = self.take(len)?;
        let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        let mut whole = if negative { [0xff; 8] } else { [0; 8] };
        whole[..bytes.len()].copy_from_slice(bytes);
        Ok(i64::from_le_bytes(whole))
    }

    pub(super) fn line(&mut self) -> Outcome<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(self.damaged("the pickle is cut short"));
        };
        self.at += end + 1;
        let line = &rest[..end];
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// A number in digits; protocol 1 writes truth values as `00` and `01`.
    pub(super) fn decimal(&mut self, op: u8) -> Outcome<Slot> {
        let line = self.line()?;
        match line {
            b"00" if op == b'I' => return Ok(Slot::Bool(false)),
            b"01" if op == b'I' => return Ok(Slot::Bool(true)),
            _ => {}
        }
        let digits = if op == b'L' { line.strip_suffix(b"L").unwrap_or(line) } else { line };
        let int = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        int.map(Slot::Int).ok_or_else(|| self.damaged("not a number of 64 bits"))
    }

    pub(super) fn index(&mut self) -> Outcome<u64> {
        match self.decimal(b'L')? {
            Slot::Int(at) if at >= 0 => Ok(at as u64),
            _ => Err(self.damaged("keeps a value under a number that is no number")),
        }
    }

    /// Text behind its length, which takes so many bytes.
    pub(super) fn text(&mut self, width: u64) -> Outcome<&'a str> {
        let len = self.number(width)?;
        let bytes = self.take(len)?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged("text is not UTF-8"))
    }

    /// Text of protocol 0: Latin-1, and the rest as `\uXXXX` or `\UXXXXXXXX`.
    pub(super) fn escaped_text(&mut self) -> Outcome<String> {
        let line = self.line()?;
        unescape(line).ok_or_else(|| self.damaged("text cannot be decoded"))
    }
}

fn unescape(line: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut rest = line;
    while let [byte, after @ ..] = rest {
        let width = match (byte, after.first()) {
            (b'\\', Some(b'u')) => 4,
            (b'\\', Some(b'U')) => 8,
            _ => {
                text.push(char::from(*byte));
                rest = after;
                continue;
            }
        };
        let digits = std::str::from_utf8(after.get(1..=width)?).ok()?;
        text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        rest = &after[width + 1..];
    }
    Some(text)
}
