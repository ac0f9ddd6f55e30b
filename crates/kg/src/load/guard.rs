//! Stands between a file and an RDF parser, and stops what would make the parser use up memory.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use memchr::memchr2;

use super::input::Input;
use super::options::Format;
use crate::error::{Error, Place};
use crate::unpack::size;

/// How much of the file is held here, to be given out in smaller pieces.
const CHUNK: usize = 1 << 16;
/// Longest document type declaration in XML. With [`MOST_REFERENCES`] it bounds what a tag can grow
/// to by the entities declared there.
const LONGEST_DOCTYPE: usize = 16 << 10;
/// Most entity references in one tag or text of XML.
const MOST_REFERENCES: usize = 4096;

/// What the reader of a parser's statements and the guard tell each other.
pub(super) struct Watch {
    /// Bytes that the parser took since the last statement.
    pub since: Cell<u64>,
    /// Whether the parser has seen the end of the file.
    pub ended: Cell<bool>,
    /// Where the last piece that the parser took begins; kept for RDF/XML alone.
    pub place: Cell<Place>,
    /// How many XML tags are open: a parser may take a file that ends too early for a whole one.
    pub open_tags: Cell<usize>,
}

/// Gives a file's bytes to a parser.
pub(super) struct Guard<'a> {
    input: Input<'a>,
    watch: Rc<Watch>,
    shape: Shape,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// What is tracked of each format.
enum Shape {
    /// Nothing: the parser does not recurse, and bounds its tokens itself.
    Turtle,
    Json(Json),
    Xml(Xml),
}

impl<'a> Guard<'a> {
    pub fn new(input: Input<'a>, format: Format) -> (Guard<'a>, Rc<Watch>) {
        let place = Place { line: 1, column: 1 };
        let watch = Rc::new(Watch {
            since: Cell::new(0),
            ended: Cell::new(false),
            place: Cell::new(place),
            open_tags: Cell::new(0),
        });
        let shape = match format {
            Format::JsonLd => Shape::Json(Json::default()),
            Format::RdfXml => Shape::Xml(Xml { next: place, ..Xml::default() }),
            _ => Shape::Turtle,
        };
        let shared = Rc::clone(&watch);
        (Guard { input, watch, shape, buffer: Vec::new(), start: 0, end: 0 }, shared)
    }

    /// A piece of XML ends with a tag or a line, so that an error of the parser, which does not say
    /// where it is, is known to be in the last piece.
    fn read_piece(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            if self.buffer.is_empty() {
                self.buffer = vec![0; CHUNK];
            }
            self.end = self.input.read(&mut self.buffer)?;
            self.start = 0;
        }
        let rest = &self.buffer[self.start..self.end];
        let rest = &rest[..rest.len().min(to.len())];
        let count = memchr2(b'>', b'\n', rest).map_or(rest.len(), |at| at + 1);
        to[..count].copy_from_slice(&rest[..count]);
        self.start += count;
        Ok(count)
    }

    fn refuse(&self, message: String) -> io::Error {
        io::Error::other(Error::unusable(self.input.path, message))
    }
}

impl Read for Guard<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = match self.shape {
            Shape::Xml(_) => self.read_piece(to)?,
            _ => self.input.read(to)?,
        };
        self.watch.ended.set(count == 0 && !to.is_empty());
        let limits = self.input.limits;
        let trouble = match &mut self.shape {
            Shape::Turtle => None,
            Shape::Json(json) => json.take(&to[..count], limits.nesting),
            Shape::Xml(xml) => {
                self.watch.place.set(xml.next);
                let trouble = xml.take(&to[..count], limits.line);
                self.watch.open_tags.set(xml.tags.open);
                trouble
            }
        };
        if let Some(message) = trouble {
            return Err(self.refuse(message));
        }
        let since = self.watch.since.get() + count as u64;
        self.watch.since.set(since);
        if since > limits.statement {
            let limit = size(limits.statement);
            let message =
                format!("no statement in {limit}, the limit (convert the file to N-Triples)");
            return Err(self.refuse(message));
        }
        Ok(count)
    }
}

/// Depth in JSON: the parser builds and drops what is nested by recursion.
#[derive(Default)]
struct Json {
    depth: usize,
    quoted: bool,
    escaped: bool,
}

impl Json {
    fn take(&mut self, bytes: &[u8], most: usize) -> Option<String> {
        for &byte in bytes {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                _ if self.quoted => {}
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > most {
                return Some(format!("is nested more than {most} deep, the limit"));
            }
        }
        None
    }
}

/// Sizes in XML. A document type declaration may appear anywhere, since the parser takes it anywhere.
struct Xml {
    /// Where the next piece begins.
    next: Place,
    /// The last bytes, to find `<!D`.
    last: [u8; 2],
    /// Bytes and references since the last tag's end.
    length: usize,
    references: usize,
    /// How many angle brackets are open in a document type declaration, and its length so far.
    doctype: Option<(usize, usize)>,
    tags: Tags,
}

impl Default for Xml {
    fn default() -> Self {
        let next = Place { line: 1, column: 1 };
        Xml { next, last: [0; 2], length: 0, references: 0, doctype: None, tags: Tags::default() }
    }
}

impl Xml {
    fn take(&mut self, bytes: &[u8], longest: usize) -> Option<String> {
        for &byte in bytes {
            match byte {
                b'\n' => self.next = Place { line: self.next.line + 1, column: 1 },
                // Bytes that continue a character are no column of their own.
                _ if byte & 0xC0 != 0x80 => self.next.column += 1,
                _ => {}
            }
            self.length += 1;
            self.references += usize::from(byte == b'&');
            if let Some((open, length)) = &mut self.doctype {
                *length += 1;
                match byte {
                    b'<' => *open += 1,
                    b'>' => *open -= 1,
                    _ => {}
                }
                if byte == b'&' {
                    return Some("declares XML entities by means of others".into());
                }
                if *length > LONGEST_DOCTYPE {
                    let limit = size(LONGEST_DOCTYPE as u64);
                    return Some(format!("its DOCTYPE is longer than {limit}"));
                }
                if *open == 0 {
                    self.doctype = None;
                }
            } else if self.last == *b"<!" && byte.eq_ignore_ascii_case(&b'd') {
                self.doctype = Some((1, 0));
            }
            self.tags.take(self.last, byte);
            self.last = [self.last[1], byte];
            if byte == b'>' {
                (self.length, self.references) = (0, 0);
            }
            if self.length > longest {
                let limit = size(longest as u64);
                return Some(format!("a tag or text ends after more than {limit}, the limit"));
            }
            if self.references > MOST_REFERENCES {
                return Some(format!("a text has more than {MOST_REFERENCES} entity references"));
            }
        }
        None
    }
}

/// Counts the tags that are open.
#[derive(Default)]
struct Tags {
    open: usize,
    part: Part,
}

/// What a byte of XML is part of.
#[derive(Clone, Copy, Default)]
enum Part {
    #[default]
    Text,
    /// The bytes after `<` that tell what follows.
    Start,
    Exclamation,
    /// A start tag, and the quote that is open in it.
    Opening(Option<u8>),
    Closing,
    Comment,
    Cdata,
    /// A processing instruction or a declaration: ends with `>`.
    Other,
}

impl Tags {
    fn take(&mut self, last: [u8; 2], byte: u8) {
        self.part = match (self.part, byte) {
            (Part::Text, b'<') => Part::Start,
            (Part::Start, b'/') => Part::Closing,
            (Part::Start, b'!') => Part::Exclamation,
            (Part::Start, b'?') => Part::Other,
            (Part::Start, _) => Part::Opening(None),
            (Part::Exclamation, b'-') => Part::Comment,
            (Part::Exclamation, b'[') => Part::Cdata,
            (Part::Exclamation, _) => Part::Other,
            (Part::Opening(None), b'"' | b'\'') => Part::Opening(Some(byte)),
            (Part::Opening(Some(quote)), _) if byte == quote => Part::Opening(None),
            (Part::Opening(None), b'>') => {
                self.open += usize::from(last[1] != b'/');
                Part::Text
            }
            (Part::Closing, b'>') => {
                self.open = self.open.saturating_sub(1);
                Part::Text
            }
            (Part::Comment, b'>') if last == *b"--" => Part::Text,
            (Part::Cdata, b'>') if last == *b"]]" => Part::Text,
            (Part::Other, b'>') => Part::Text,
            (part, _) => part,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_json_strings_do_not_nest() {
        assert_eq!(Json::default().take(br#"{"a": "[[[\"[[["}"#, 2), None);
        assert!(Json::default().take(b"[[[", 2).is_some());
    }

    #[test]
    fn open_tags_are_counted() {
        let open = |text: &str| {
            let mut xml = Xml::default();
            assert_eq!(xml.take(text.as_bytes(), 1000), None);
            xml.tags.open
        };
        assert_eq!(open("<?xml version='1'?><!DOCTYPE a [<!ENTITY b \"c\">]><a>"), 1);
        assert_eq!(open("<a><b x='/>' y=\"<a>\"><c/><!-- <d> --><![CDATA[<e>]]></b>"), 1);
        assert_eq!(open("<a></a>"), 0);
    }

    #[test]
    fn entities_cannot_be_multiplied() {
        let plain = br#"<!DOCTYPE a [<!ENTITY b "c">]><a x="&b;"/>"#;
        assert_eq!(Xml::default().take(plain, 1000), None);
        let nested = br#"<a/><!DOCTYPE a [<!ENTITY b "&c;&c;">]>"#;
        assert!(Xml::default().take(nested, 1000).is_some());
        assert!(Xml::default().take(&b"&b;".repeat(5000), 1 << 20).is_some());
    }
}
