//! RDF in all its notations: N-Triples, N-Quads, Turtle, TriG, RDF/XML and JSON-LD.
//!
//! - An IRI is the name of its entity or relation, in full; the file's prefixes shorten it.
//! - A blank node is one file's own: `_:x` becomes `_:f7.x`, and a node without a name `_:f7-1`,
//!   where 7 is the number of entities before the file.
//! - `rdfs:label` gives a label and never an edge. The label goes to the relation of that IRI, to
//!   the entity, or to both; a thing that no edge mentions is not made for its label.
//! - Other literals are left out, or kept as entities if asked for.
//! - The name of a quad's graph is ignored.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use oxrdf::{BlankNodeRef, NamedOrBlankNode, Quad, Term};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParseError, RdfParser, RdfSyntaxError};

use super::guard::Guard;
use super::input::Input;
use super::labels::Labels;
use super::lines::{Fault, Line, Lines};
use super::options::{Format, Options};
use super::report::Report;
use crate::error::{Error, Place, Result};
use crate::graph::GraphBuilder;
use crate::split::Split;
use crate::unpack::{give_back, size};

const LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";
/// Errors without a statement in between, after which a parser is given up.
const MOST_ERRORS: usize = 1000;
/// Longest message that is taken from a parser, in characters: it may quote the file.
const LONGEST_MESSAGE: usize = 300;

/// Prefixes that any graph gets, unless the file gives them another meaning.
const WELL_KNOWN: [(&str, &str); 11] = [
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("schema", "http://schema.org/"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("wd", "http://www.wikidata.org/entity/"),
    ("wdt", "http://www.wikidata.org/prop/direct/"),
    ("dbr", "http://dbpedia.org/resource/"),
    ("dbo", "http://dbpedia.org/ontology/"),
];

/// Reads all edges and labels of an RDF file.
pub(super) fn read(
    builder: &mut GraphBuilder,
    input: Input<'_>,
    format: Format,
    split: Split,
    options: &Options,
) -> Result<Report> {
    let mut sink = Sink {
        file: builder.entity_count(),
        builder,
        split,
        options,
        report: Report::default(),
        labels: Labels::default(),
        unnamed: HashMap::new(),
    };
    match format {
        Format::NTriples | Format::NQuads => sink.read_lines(input, format)?,
        _ => sink.read_document(input, format)?,
    }
    for (prefix, iri) in WELL_KNOWN {
        sink.builder.prefix(prefix, iri);
    }
    sink.labels.give(sink.builder, &mut sink.report);
    Ok(sink.report)
}

fn parser(format: Format) -> RdfParser {
    RdfParser::from_format(match format {
        Format::NQuads => RdfFormat::NQuads,
        Format::Turtle => RdfFormat::Turtle,
        Format::TriG => RdfFormat::TriG,
        Format::RdfXml => RdfFormat::RdfXml,
        Format::JsonLd => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        Format::NTriples | Format::Tsv | Format::Csv => RdfFormat::NTriples,
    })
}

/// Where statements go.
struct Sink<'a> {
    builder: &'a mut GraphBuilder,
    split: Split,
    options: &'a Options,
    report: Report,
    labels: Labels,
    /// Sets this file's blank nodes apart from those of others.
    file: usize,
    /// Numbers of blank nodes that the parser made a random name for.
    unnamed: HashMap<u128, usize>,
}

impl Sink<'_> {
    /// Reads a format in which a statement is a line, so that a bad line spoils no other.
    fn read_lines(&mut self, input: Input<'_>, format: Format) -> Result<()> {
        let path = input.path;
        let mut lines = Lines::new(input);
        let parser = parser(format);
        loop {
            let number = lines.number() + 1;
            let line = match lines.next()? {
                Line::End => return Ok(()),
                Line::TooLong => {
                    let error = Fault::too_long(self.options).in_file(path, number, &[]);
                    self.report.bad(self.options, error)?;
                    continue;
                }
                Line::Text(line) => line.trim_ascii_end(),
            };
            // Not left to the parser, which takes some time to make.
            if let [] | [b'#', ..] = line {
                continue;
            }
            for statement in parser.clone().for_slice(line) {
                let refused = match statement {
                    Ok(quad) => self.take(&quad)?.map(|message| (1, message)),
                    Err(error) => {
                        let column = error.location().map_or(1, |at| at.start.column as usize + 1);
                        Some((column, message(&error)))
                    }
                };
                if let Some((column, message)) = refused {
                    let error = malformed(path, Place { line: number, column }, &message);
                    self.report.bad(self.options, error)?;
                    break;
                }
            }
        }
    }

    /// Reads a format in which statements go over several lines.
    fn read_document(&mut self, input: Input<'_>, format: Format) -> Result<()> {
        let path = input.path;
        let (guard, watch) = Guard::new(input, format);
        let mut statements = parser(format).for_reader(guard);
        let mut errors = 0;
        for statement in statements.by_ref() {
            let error = match statement {
                Ok(quad) => {
                    watch.since.set(0);
                    errors = 0;
                    let Some(message) = self.take(&quad)? else { continue };
                    Error::unusable(path, message)
                }
                Err(RdfParseError::Io(error)) => return Err(read_error(error, path)),
                Err(RdfParseError::Syntax(error)) => {
                    errors += 1;
                    let place = match (error.location(), format) {
                        (Some(at), _) => Some(Place {
                            line: at.start.line as usize + 1,
                            column: at.start.column as usize + 1,
                        }),
                        (None, Format::RdfXml) => Some(watch.place.get()),
                        (None, _) => None,
                    };
                    match place {
                        Some(place) => malformed(path, place, &message(&error)),
                        None => Error::unusable(path, message(&error)),
                    }
                }
            };
            if errors > MOST_ERRORS {
                return Err(error);
            }
            self.report.bad(self.options, error)?;
        }
        if !watch.ended.get() && errors > 0 {
            let first = self.report.first_bad.as_deref().unwrap_or_default();
            let message = format!("nothing after this can be read, whatever is skipped: {first}");
            return Err(Error::unusable(path, message));
        }
        if watch.open_tags.get() > 0 {
            let message = format!("the file ends while {} tags are open", watch.open_tags.get());
            self.report.bad(self.options, malformed(path, watch.place.get(), &message))?;
        }
        for (prefix, iri) in statements.prefixes() {
            if prefix.len() + iri.len() <= self.options.limits.name {
                self.builder.prefix(prefix, iri);
            }
        }
        Ok(())
    }

    /// Takes a statement; or says why it is refused.
    fn take(&mut self, quad: &Quad) -> Result<Option<String>> {
        if let Some(message) = self.refuses(quad) {
            return Ok(Some(message));
        }
        let predicate = quad.predicate.as_str();
        if let Term::Literal(literal) = &quad.object {
            if predicate == LABEL {
                let label = literal.value().trim();
                if !label.is_empty() {
                    let name = self.name(&quad.subject);
                    self.labels.add(&name, label, literal.language());
                }
                return Ok(None);
            }
            if !self.options.literals {
                self.report.literals_skipped += 1;
                return Ok(None);
            }
        }
        let head = self.name(&quad.subject);
        let head = self.builder.entity(&head)?;
        let relation = self.builder.relation(predicate)?;
        let tail = if let Term::NamedNode(node) = &quad.object {
            self.builder.entity(node.as_str())?
        } else if let Term::BlankNode(node) = &quad.object {
            let name = self.blank(node.as_ref());
            self.builder.entity(&name)?
        } else if let Term::Literal(literal) = &quad.object {
            let tail = self.builder.entity(&literal.to_string())?;
            self.builder.label_entity(tail, literal.value());
            tail
        } else {
            return Ok(None);
        };
        self.builder.edge(self.split, head, relation, tail);
        self.report.edges += 1;
        Ok(None)
    }

    /// Why a statement cannot be taken.
    fn refuses(&self, quad: &Quad) -> Option<String> {
        let longest = self.options.limits.name;
        let subject = match &quad.subject {
            NamedOrBlankNode::NamedNode(node) => node.as_str(),
            NamedOrBlankNode::BlankNode(node) => node.as_str(),
        };
        // Not a `match`: another crate's features may add a kind of term.
        let object = if let Term::NamedNode(node) = &quad.object {
            node.as_str()
        } else if let Term::BlankNode(node) = &quad.object {
            node.as_str()
        } else if let Term::Literal(literal) = &quad.object {
            let kept = self.options.literals || quad.predicate.as_str() == LABEL;
            if kept { literal.value() } else { "" }
        } else {
            return Some("a statement about a statement is not supported".into());
        };
        let long =
            [subject, quad.predicate.as_str(), object].iter().any(|name| name.len() > longest);
        long.then(|| format!("a name is longer than {}", size(longest as u64)))
    }

    fn name<'q>(&mut self, node: &'q NamedOrBlankNode) -> Cow<'q, str> {
        match node {
            NamedOrBlankNode::NamedNode(node) => node.as_str().into(),
            NamedOrBlankNode::BlankNode(node) => self.blank(node.as_ref()).into(),
        }
    }

    /// A blank node's name: of this file alone, and the same each time the file is read.
    fn blank(&mut self, node: BlankNodeRef<'_>) -> String {
        match node.unique_id() {
            Some(id) => {
                let next = self.unnamed.len() + 1;
                let number = self.unnamed.entry(id).or_insert(next);
                format!("_:f{}-{number}", self.file)
            }
            None => format!("_:f{}.{}", self.file, node.as_str()),
        }
    }
}

fn malformed(path: &Path, place: Place, message: &str) -> Error {
    let message = format!("{message} (fix it, or pass over such statements with --skip-bad)");
    Error::Malformed { path: path.to_owned(), place, message }
}

/// A parser's message, without the place that it may start with.
fn message(error: &RdfSyntaxError) -> String {
    let all = error.to_string();
    let text = match all.starts_with("Parser error") {
        true => all.split_once(": ").map_or(all.as_str(), |(_, text)| text),
        false => &all,
    };
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Why reading stopped: the file, the guard, or a parser whose own buffer is full.
fn read_error(error: std::io::Error, path: &Path) -> Error {
    match error.kind() {
        std::io::ErrorKind::OutOfMemory => {
            Error::unusable(path, "a name or literal is too long for the parser (16 MiB)")
        }
        _ => give_back(path)(error),
    }
}
