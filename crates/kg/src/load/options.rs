//! What a reader is told: the format, what to do with literals and bad lines, and the limits.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::error::Error;
use crate::unpack::{Compression, Growth};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// How to read a file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is in the file; by its extension if not given.
    pub format: Option<Format>,
    /// Keep RDF literals as entities, named by their N-Triples form and labelled by their text.
    pub literals: bool,
    /// Count malformed lines and go on, instead of stopping at the first one.
    pub skip_bad: bool,
    /// Sizes beyond which a file is refused.
    pub limits: Limits,
}

/// Sizes beyond which a file is refused, so that no file can use up memory or disk time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest line, or CSV record, or RDF/XML tag, in bytes.
    pub line: usize,
    /// Longest name or label in bytes.
    pub name: usize,
    /// Most bytes of RDF that may go by without a statement.
    pub statement: u64,
    /// Deepest nesting of JSON-LD.
    pub nesting: usize,
    /// How much a packed file may grow.
    pub growth: Growth,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            line: MIB,
            name: 64 * KIB,
            statement: 64 * MIB as u64,
            nesting: 1000,
            growth: Growth::default(),
        }
    }
}

/// What is in a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Lines of head, relation and tail with tabs in between; nothing is quoted.
    Tsv,
    /// Records of head, relation and tail with commas in between, quoted as in RFC 4180.
    Csv,
    /// N-Triples.
    NTriples,
    /// N-Quads; the graph's name is ignored.
    NQuads,
    /// Turtle.
    Turtle,
    /// TriG; the graph's name is ignored.
    TriG,
    /// RDF/XML.
    RdfXml,
    /// JSON-LD; contexts are never fetched.
    JsonLd,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 8] = [
        Format::Tsv,
        Format::Csv,
        Format::NTriples,
        Format::Turtle,
        Format::RdfXml,
        Format::JsonLd,
        Format::NQuads,
        Format::TriG,
    ];

    /// The name to choose it by.
    pub fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::NTriples => "nt",
            Format::NQuads => "nq",
            Format::Turtle => "ttl",
            Format::TriG => "trig",
            Format::RdfXml => "rdfxml",
            Format::JsonLd => "jsonld",
        }
    }

    /// The names of all formats, for messages.
    pub fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }

    /// What a file's name says of its format and compression.
    pub fn of(path: &Path) -> (Option<Format>, Compression) {
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let compression = Compression::of(path);
        let inner = match (compression, path.file_stem()) {
            (Compression::Gzip | Compression::Zstd, Some(stem)) => Path::new(stem),
            _ => path,
        };
        let format = match extension(inner).as_deref() {
            Some("tsv" | "tab" | "txt") => Some(Format::Tsv),
            Some("csv") => Some(Format::Csv),
            Some("nt") => Some(Format::NTriples),
            Some("nq") => Some(Format::NQuads),
            Some("ttl") => Some(Format::Turtle),
            Some("trig") => Some(Format::TriG),
            Some("rdf" | "rdfxml" | "owl" | "xml") => Some(Format::RdfXml),
            Some("jsonld") => Some(Format::JsonLd),
            _ => None,
        };
        (format, compression)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Format::ALL.into_iter().find(|format| format.name() == text);
        found.ok_or_else(|| format!("unknown format '{text}' (one of {})", Format::names()))
    }
}

pub(super) fn unknown_format(path: &Path) -> Error {
    let message = format!(
        "the file's extension does not tell its format; choose one with --format: {}",
        Format::names()
    );
    Error::unusable(path, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_tells_format_and_compression() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a/b.tsv"), (Some(Format::Tsv), Compression::None));
        assert_eq!(of("b.TTL.GZ"), (Some(Format::Turtle), Compression::Gzip));
        assert_eq!(of("b.csv.zst"), (Some(Format::Csv), Compression::Zstd));
        assert_eq!(of("b.gz"), (None, Compression::Gzip));
        assert_eq!(of("tsv"), (None, Compression::None));
    }

    #[test]
    fn a_format_is_chosen_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "xls".parse::<Format>().unwrap_err();
        assert_eq!(
            error,
            "unknown format 'xls' (one of tsv, csv, nt, ttl, rdfxml, jsonld, nq, trig)"
        );
    }
}
