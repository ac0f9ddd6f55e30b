//! Triples as lines of three fields: TSV, where nothing is quoted, and CSV as in RFC 4180.
//!
//! In both, fields are trimmed, blank lines are passed over, and a first line that names the
//! columns is no edge. TSV also passes over comments: lines that start with `# `.

use std::borrow::Cow;

use memchr::memchr;

use super::input::Input;
use super::lines::{Fault, Line, Lines, text};
use super::options::{Format, Options};
use super::report::Report;
use crate::error::Result;
use crate::graph::{Batch, GraphBuilder};
use crate::split::Split;
use crate::unpack::size;

/// A quote that is still open after so many lines was not meant to open one.
const MOST_LINES: usize = 100;
/// First lines that name the columns.
const HEADERS: [[&str; 3]; 2] = [["head", "relation", "tail"], ["subject", "predicate", "object"]];

type Fields<'a> = [Cow<'a, str>; 3];
type Found<T> = std::result::Result<T, Fault>;

/// Reads all edges of a TSV or CSV file.
pub(super) fn read(
    builder: &mut GraphBuilder,
    input: Input<'_>,
    format: Format,
    split: Split,
    options: &Options,
) -> Result<Report> {
    let path = input.path;
    let mut lines = Lines::new(input);
    let mut report = Report::default();
    let mut first = true;
    let mut batch = Batch::default();
    loop {
        let line = lines.number() + 1;
        let (count, last) = match format {
            Format::Csv => extent(&mut lines, options)?,
            _ => (1, 0),
        };
        let next = if count == 1 { lines.next()? } else { lines.peek(last)? };
        let (bytes, found) = match next {
            Line::End => break,
            Line::TooLong => (&[][..], Err(Fault::too_long(options))),
            Line::Text(bytes) => (bytes, fields(bytes, format, options)),
        };
        match found {
            Ok(None) => {}
            Ok(Some(names)) => {
                let header = std::mem::take(&mut first) && is_header(&names);
                if !header {
                    let [head, relation, tail] = &names;
                    batch.push(head, relation, tail);
                    report.edges += 1;
                    if batch.is_full() {
                        builder.edges_named(split, &mut batch)?;
                    }
                }
            }
            Err(fault) => report.bad(options, fault.in_file(path, line, bytes))?,
        }
        if count > 1 {
            (0..count).try_for_each(|_| lines.next().map(drop))?;
        }
    }
    builder.edges_named(split, &mut batch)?;
    Ok(report)
}

/// The fields of a line or record; none if it is blank or a comment.
fn fields<'a>(line: &'a [u8], format: Format, options: &Options) -> Found<Option<Fields<'a>>> {
    let line = text(line.strip_suffix(b"\r").unwrap_or(line))?;
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let longest = options.limits.name;
    let names = match format {
        Format::Csv if memchr(b'"', line.as_bytes()).is_some() => quoted(line, longest),
        Format::Csv => plain(line, b',', longest),
        _ if line == "#" || line.starts_with("# ") => return Ok(None),
        _ => plain(line, b'\t', longest),
    };
    names.map(Some)
}

/// Cuts a line at its separators; nothing is quoted.
fn plain(line: &str, separator: u8, longest: usize) -> Found<Fields<'_>> {
    let bytes = line.as_bytes();
    let mut names = [Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed("")];
    let mut start = 0;
    for (place, name) in names.iter_mut().enumerate() {
        let end = match (memchr(separator, &bytes[start..]), place) {
            (Some(at), 2) => return Err(too_many(start + at + 1, line)),
            (Some(at), _) => start + at,
            (None, 2) => line.len(),
            (None, _) => return Err(wrong_count(line.len(), place + 1)),
        };
        let field = line[start..end].trim_ascii();
        check(field, start, place, longest)?;
        *name = Cow::Borrowed(field);
        start = end + 1;
    }
    Ok(names)
}

/// Cuts a CSV record at its commas, but for those in quotes.
fn quoted(record: &str, longest: usize) -> Found<Fields<'_>> {
    let mut names = [Cow::Borrowed(""), Cow::Borrowed(""), Cow::Borrowed("")];
    let mut start = 0;
    for (place, name) in names.iter_mut().enumerate() {
        let (field, end) = csv_field(record, start)?;
        check(&field, start, place, longest)?;
        *name = field;
        match (end < record.len(), place) {
            (true, 2) => return Err(too_many(end + 1, record)),
            (false, 0 | 1) => return Err(wrong_count(end, place + 1)),
            _ => start = end + 1,
        }
    }
    Ok(names)
}

/// One field of a CSV record, trimmed, and where it ends.
fn csv_field(record: &str, start: usize) -> Found<(Cow<'_, str>, usize)> {
    let rest = &record[start..];
    let open = start + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let to_comma = |from: usize| record[from..].find(',').map_or(record.len(), |at| from + at);
    if !record[open..].starts_with('"') {
        let end = to_comma(start);
        return match record[start..end].find('"') {
            Some(at) => Err(Fault::new(
                start + at,
                "a quote inside a field; put the field in quotes and double the ones in it",
            )),
            None => Ok((Cow::Borrowed(record[start..end].trim_ascii()), end)),
        };
    }
    let mut value = String::new();
    let mut from = open + 1;
    loop {
        let Some(at) = record[from..].find('"') else {
            return Err(Fault::new(open, NEVER_CLOSED));
        };
        value.push_str(&record[from..from + at]);
        from += at + 1;
        if !record[from..].starts_with('"') {
            break;
        }
        value.push('"');
        from += 1;
    }
    let end = to_comma(from);
    if !record[from..end].trim_ascii().is_empty() {
        return Err(Fault::new(from, "a comma or the end of the line must follow the quote"));
    }
    let trimmed = value.trim_ascii();
    let value = if trimmed.len() == value.len() { value } else { trimmed.to_owned() };
    Ok((Cow::Owned(value), end))
}

const NEVER_CLOSED: &str = "this quote is never closed";

/// How many lines the next CSV record has, and where the last of them begins in it. One, if a quote
/// is never closed: then that line alone is malformed, not all that follows.
fn extent(lines: &mut Lines<'_>, options: &Options) -> Result<(usize, usize)> {
    let mut last = 0;
    for count in 1..=MOST_LINES {
        let Line::Text(bytes) = lines.peek(last)? else { break };
        if count == 1 && memchr(b'"', bytes).is_none() {
            break;
        }
        let open = match text(bytes).and_then(|text| quoted(text, options.limits.name)) {
            Err(fault) if fault.message == NEVER_CLOSED => fault.at,
            _ => return Ok((count, last)),
        };
        if bytes.len() - open > options.limits.name {
            break;
        }
        last = bytes.len() + 1;
    }
    Ok((1, 0))
}

fn is_header(names: &Fields<'_>) -> bool {
    let same = |header: &[&str; 3]| {
        names.iter().zip(header).all(|(name, header)| name.eq_ignore_ascii_case(header))
    };
    HEADERS.iter().any(same)
}

fn wrong_count(at: usize, found: usize) -> Fault {
    Fault::new(at, format!("{found} of the 3 fields head, relation, tail"))
}

fn too_many(at: usize, line: &str) -> Fault {
    let more = if line[at..].trim_ascii().is_empty() { "; drop the last separator" } else { "" };
    Fault::new(at, format!("more than the 3 fields head, relation, tail{more}"))
}

/// Refuses a field that is no name.
fn check(field: &str, at: usize, place: usize, longest: usize) -> Found<()> {
    let what = HEADERS[0][place];
    if field.is_empty() {
        return Err(Fault::new(at, format!("the {what} is empty")));
    }
    if field.len() > longest {
        return Err(Fault::new(at, format!("the {what} is longer than {}", size(longest as u64))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tsv(line: &str) -> Found<Option<Fields<'_>>> {
        fields(line.as_bytes(), Format::Tsv, &Options::default())
    }

    fn csv(line: &str) -> Found<Option<Fields<'_>>> {
        fields(line.as_bytes(), Format::Csv, &Options::default())
    }

    fn named<'a>(head: &'a str, relation: &'a str, tail: &'a str) -> Found<Option<Fields<'a>>> {
        Ok(Some([head.into(), relation.into(), tail.into()]))
    }

    #[test]
    fn tsv_is_three_trimmed_fields() {
        assert_eq!(tsv("a\tb c\t d\r"), named("a", "b c", "d"));
        assert_eq!(tsv("\"a\"\tb\t#c"), named("\"a\"", "b", "#c"));
        assert_eq!(tsv("#a\tb\tc"), named("#a", "b", "c"));
        for nothing in ["", " \t ", "# a\tb\tc", "#", "\r"] {
            assert_eq!(tsv(nothing), Ok(None), "{nothing:?}");
        }
    }

    #[test]
    fn a_malformed_line_says_where() {
        let at = |found: Found<Option<Fields<'_>>>| found.unwrap_err().at;
        assert_eq!(at(tsv("a\tb")), 3);
        assert_eq!(at(tsv("a\tb\tc\t")), 6);
        assert_eq!(at(tsv("a\t\tc")), 2);
        assert_eq!(at(tsv("\ta\tc")), 0);
        assert_eq!(at(csv("a,\"b")), 2);
        assert_eq!(at(csv("a,\"b\"x,c")), 5);
        assert_eq!(at(csv("a,5\" pipe,c")), 3);
        assert_eq!(at(csv("a,\"b\"")), 5);
        assert_eq!(at(csv("a,\"b\",\"c\",d")), 10);
        assert_eq!(at(fields(b"a\tb\t\xFF", Format::Tsv, &Options::default())), 4);
    }

    #[test]
    fn csv_takes_quotes_away() {
        assert_eq!(csv("a, b ,c"), named("a", "b", "c"));
        assert_eq!(csv("\"a,\"\"x\"\"\", \"b\" ,c"), named("a,\"x\"", "b", "c"));
        assert_eq!(csv("a,\"b\nb\",c"), named("a", "b\nb", "c"));
        assert_eq!(csv("# a,b,c"), named("# a", "b", "c"));
        assert!(csv("a,\"\",c").is_err());
    }
}
