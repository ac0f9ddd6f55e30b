//! Query sets as JSON, one object a line:
//!
//! ```json
//! {"t":"2in","q":[[2279,[142]],[384,[87,-2]]],"ne":2,"nh":1,"easy":[17,203],"hard":[4]}
//! ```
//!
//! `q` is the query as a [tuple](crate::query::tuple). The rest may be left out: `t`, the shape,
//! which must be that of `q`; `ne` and `nh`, how many easy and hard answers there are; `easy` and
//! `hard`, which they are. Other keys are passed over.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use bytemuck::cast_slice;
use flate2::{Compression, write::GzEncoder};
use serde::{Deserialize, Serialize};

use super::input::{failed, open_unpacked};
use super::{Answers, Example, ExampleWriter, check, query_of, until_failed};
use crate::error::{Error, Place, Result};
use crate::id::Entity;
use crate::query::tuple::Tuple;
use crate::query::{Query, Shape};
use crate::store::AtomicFile;

/// The longest line read, in bytes: far more than a query with all entities of a large graph as its
/// answers needs.
pub const MOST_LINE: usize = 64 << 20;

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    t: Option<Cow<'a, str>>,
    q: Tuple,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ne: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nh: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    easy: Option<Cow<'a, [u32]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hard: Option<Cow<'a, [u32]>>,
}

/// Opens a file, unpacking it if its name ends in `.gz`.
pub fn open(path: &Path) -> Result<Reader<impl BufRead + Send + use<>>> {
    Ok(Reader::new(open_unpacked(path)?, path))
}

/// Reads examples line by line.
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    text: Vec<u8>,
    line: usize,
    done: bool,
    names: ShapeNames,
}

impl<R: BufRead> Reader<R> {
    /// Reads from anywhere; the path is for messages.
    pub fn new(input: R, path: &Path) -> Reader<R> {
        let (path, names) = (path.to_owned(), ShapeNames::default());
        Reader { input, path, text: Vec::new(), line: 0, done: false, names }
    }

    fn step(&mut self) -> Result<Option<Example>> {
        loop {
            self.text.clear();
            self.line += 1;
            let mut line = (&mut self.input).take(MOST_LINE as u64 + 1);
            let len = line
                .read_until(b'\n', &mut self.text)
                .map_err(|error| failed(&self.path, error))?;
            if len == 0 {
                return Ok(None);
            }
            if len > MOST_LINE {
                let message = format!("the line is longer than {MOST_LINE} bytes");
                return Err(self.malformed(MOST_LINE, message));
            }
            if !self.text.trim_ascii().is_empty() {
                return self.example().map(Some);
            }
        }
    }

    fn example(&mut self) -> Result<Example> {
        let text = std::mem::take(&mut self.text);
        let result = self.example_of(&text);
        self.text = text;
        result.map_err(|(offset, message)| self.malformed(offset, message))
    }

    /// The example of a line, or where in it what is wrong.
    fn example_of(&mut self, text: &[u8]) -> Result<Example, (usize, String)> {
        let line: Line = serde_json::from_slice(text).map_err(|error| {
            let message = error.to_string();
            let what = message.rfind(" at line ").map_or(&message[..], |end| &message[..end]);
            (error.column().saturating_sub(1), what.to_owned())
        })?;
        let at = |key: &str, message: String| {
            let key = format!("\"{key}\"");
            let found = text.windows(key.len()).position(|part| part == key.as_bytes());
            (found.unwrap_or(0), message)
        };
        let query = query_of(&line.q).map_err(|error| at("q", error.to_string()))?;
        if let Some(name) = line.t {
            self.agree(&name, &query).map_err(|message| at("t", message))?;
        }
        Ok(Example {
            easy: answers(line.easy, line.ne).map_err(|message| at("easy", message))?,
            hard: answers(line.hard, line.nh).map_err(|message| at("hard", message))?,
            query,
        })
    }

    fn agree(&mut self, name: &str, query: &Query) -> Result<(), String> {
        let shape = query.shape();
        let ours = self.names.get(&shape);
        if ours == name {
            return Ok(());
        }
        let named: Shape = name.parse().map_err(|error| format!("shape '{name}': {error}"))?;
        match shape.canonical() == named.canonical() {
            true => Ok(()),
            false => Err(format!("'t' says {name}, 'q' is {ours}")),
        }
    }

    fn malformed(&self, offset: usize, message: String) -> Error {
        // A line that is no text has no characters to count.
        let before = &self.text[..offset.min(self.text.len())];
        let column = String::from_utf8_lossy(before).chars().count() + 1;
        let place = Place { line: self.line, column };
        Error::Malformed { path: self.path.clone(), place, message }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Example>;

    fn next(&mut self) -> Option<Self::Item> {
        until_failed(self, |reader| &mut reader.done, Self::step)
    }
}

fn answers(listed: Option<Cow<'_, [u32]>>, count: Option<usize>) -> Result<Answers, String> {
    let listed = listed.map(|ids| Answers::listed(ids.iter().copied().map(Entity).collect()));
    match (listed, count) {
        (None, None) => Ok(Answers::Unknown),
        (None, Some(count)) => Ok(Answers::Count(count)),
        (Some(listed), None) => Ok(listed),
        (Some(listed), Some(count)) if listed.count() == Some(count) => Ok(listed),
        (Some(listed), Some(count)) => {
            let found = listed.count().unwrap_or(0);
            Err(format!("{found} answers are listed, and their number is given as {count}"))
        }
    }
}

/// Writes examples line by line.
pub struct Writer {
    out: Out,
    path: PathBuf,
    names: ShapeNames,
    /// The line being made: gzip is slow when it is fed number by number.
    text: Vec<u8>,
}

enum Out {
    Plain(AtomicFile),
    Gzip(Box<GzEncoder<AtomicFile>>),
}

impl Writer {
    /// Starts a file, packed if its name ends in `.gz`.
    pub fn create(path: &Path) -> Result<Writer> {
        let file = AtomicFile::create(path)?;
        let gzip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
        let out = match gzip {
            true => Out::Gzip(Box::new(GzEncoder::new(file, Compression::default()))),
            false => Out::Plain(file),
        };
        Ok(Writer { out, path: path.to_owned(), names: ShapeNames::default(), text: Vec::new() })
    }
}

impl ExampleWriter for Writer {
    fn write(&mut self, example: &Example) -> Result<()> {
        check(example)?;
        let line = Line {
            t: Some(Cow::Borrowed(self.names.get(&example.query.shape()))),
            q: Tuple::of(&example.query),
            ne: example.easy.count(),
            nh: example.hard.count(),
            easy: listed(&example.easy),
            hard: listed(&example.hard),
        };
        self.text.clear();
        let written = serde_json::to_writer(&mut self.text, &line).map_err(std::io::Error::from);
        self.text.push(b'\n');
        let written = written.and_then(|()| match &mut self.out {
            Out::Plain(file) => file.write_all(&self.text),
            Out::Gzip(gzip) => gzip.write_all(&self.text),
        });
        written.map_err(Error::io(&self.path))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        match self.out {
            Out::Plain(file) => file.commit(),
            Out::Gzip(gzip) => gzip.finish().map_err(Error::io(&self.path))?.commit(),
        }
    }
}

/// Names of shapes, each made once: that takes a comparison with every known shape.
#[derive(Default)]
struct ShapeNames(HashMap<Shape, String>);

impl ShapeNames {
    /// Honest files have a handful of shapes; the rest need not be kept.
    const MOST: usize = 1000;

    fn get(&mut self, shape: &Shape) -> &str {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.entry(shape.clone()).or_insert_with_key(|shape| shape.to_string())
    }
}

fn listed(answers: &Answers) -> Option<Cow<'_, [u32]>> {
    match answers {
        Answers::Listed(entities) => Some(Cow::Borrowed(cast_slice(entities))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<Example>> {
        Reader::new(text, Path::new("x.jsonl")).collect()
    }

    #[test]
    fn lines_with_and_without_answers_are_read() {
        let text = concat!(
            "{\"t\":\"2in\",\"q\":[[2279,[142]],[384,[87,-2]]],\"ne\":215,\"nh\":16}\n",
            "\n",
            "  {\"q\":[3,[4]],\"easy\":[9,1,9],\"hard\":[],\"note\":{\"any\":[1,{}]}}\r\n",
            "{\"q\":[3,[4]]}",
        );
        let examples = read(text.as_bytes()).unwrap();
        assert_eq!(examples[0].query.shape().to_string(), "2in");
        assert_eq!(
            (&examples[0].easy, &examples[0].hard),
            (&Answers::Count(215), &Answers::Count(16))
        );
        assert_eq!(examples[1].easy, Answers::Listed(vec![Entity(1), Entity(9)]));
        assert_eq!(examples[1].hard, Answers::Listed(vec![]));
        assert_eq!(examples[2].easy, Answers::Unknown);
    }

    #[test]
    fn mistakes_are_found_where_they_stand() {
        for (line, said) in [
            ("{\"q\":[3,[4]],}", "x.jsonl:2:14: trailing comma"),
            ("{\"é\":1,\"q\":[3,[4.5]]}", "x.jsonl:2:18: invalid type: floating point `4.5`"),
            ("{\"t\":\"2p\",\"q\":[3,[4]]}", "x.jsonl:2:2: 't' says 2p, 'q' is 1p"),
            ("{\"t\":\"9p\",\"q\":[3,[4]]}", "x.jsonl:2:2: shape '9p': 1:1: expected one of 1p"),
            ("{\"t\":\"1p\"}", "x.jsonl:2:10: missing field `q`"),
            ("{\"q\":[3,[-7]]}", "x.jsonl:2:2: not a query tuple: -7 is no entity"),
            ("{\"q\":[3,[4]],\"ne\":2,\"easy\":[1]}", "x.jsonl:2:21: 1 answers are listed, and"),
            ("{\"q\":[3,[4]],\"easy\":[-1]}", "x.jsonl:2:23: invalid value: integer `-1`"),
            ("[]", "x.jsonl:2:"),
        ] {
            let error = read(format!("{{\"q\":[1,[1]]}}\n{line}\n").as_bytes()).unwrap_err();
            assert!(error.to_string().starts_with(said), "{error}");
        }
        assert!(read(b"{\"q\":[3,[4]],\"\xff\":1}").is_err());
    }

    #[test]
    fn deep_brackets_are_an_error() {
        for depth in [70, 120, 1_000_000] {
            let deep = format!("{{\"q\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
            assert!(matches!(read(deep.as_bytes()), Err(Error::Malformed { .. })), "{depth}");
            let unknown =
                format!("{{\"q\":[3,[4]],\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            let _ = read(unknown.as_bytes());
        }
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let endless = std::io::repeat(b' ').take(MOST_LINE as u64 * 2);
        let mut reader = Reader::new(std::io::BufReader::new(endless), Path::new("x.jsonl"));
        assert!(reader.next().unwrap().unwrap_err().to_string().contains("longer than"));
        assert!(reader.next().is_none());
    }
}
