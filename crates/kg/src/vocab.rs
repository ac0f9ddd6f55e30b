//! Names and labels of entities and relations, and how they are found.

use std::cmp::Ordering;

use crate::error::{Error, Kind, Result};

/// The names and labels of one kind of thing, numbered from zero.
#[derive(Clone, Copy)]
pub struct Vocab<'a> {
    pub(crate) kind: Kind,
    pub(crate) names: Strings<'a>,
    /// Numbers in the order of their names.
    pub(crate) by_name: &'a [u32],
    /// A label for each number; empty where there is none.
    pub(crate) labels: Strings<'a>,
    /// Numbers that have a label, in the order of their labels.
    pub(crate) by_label: &'a [u32],
    pub(crate) prefixes: Prefixes<'a>,
}

/// How many suggestions an unknown name gets.
const SUGGESTIONS: usize = 3;
/// Longer names are not compared with a misspelt one: edit distance is quadratic.
const LONGEST_COMPARED: usize = 200;

impl<'a> Vocab<'a> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name: unique, as it was in the source. Empty for a number out of range.
    pub fn name(&self, number: u32) -> &'a str {
        self.names.get(number as usize)
    }

    /// The label, if there is one.
    pub fn label(&self, number: u32) -> Option<&'a str> {
        Some(self.labels.get(number as usize)).filter(|label| !label.is_empty())
    }

    /// A name for people that also finds the thing again: the label where it is unique and no
    /// other thing's name, else the name with its IRI prefix shortened.
    pub fn display(&self, number: u32) -> String {
        if let Some(label) = self.label(number)
            && self.with_label(label).len() == 1
            && self.with_name(label).is_none()
        {
            return label.to_owned();
        }
        let name = self.name(number);
        match self.prefixes.shorten(name) {
            Some(short) if self.with_name(&short).is_none() => short,
            _ => name.to_owned(),
        }
    }

    /// Finds a thing by name, prefixed name, label or number (`12` or `#12`), in that order.
    pub fn find(&self, text: &str) -> Result<u32> {
        if let Some(number) = self.with_name(text) {
            return Ok(number);
        }
        if let Some(number) = self.prefixes.expand(text).and_then(|iri| self.with_name(&iri)) {
            return Ok(number);
        }
        match self.with_label(text) {
            [] => {}
            [only] => return Ok(*only),
            several => {
                let candidates = several.iter().take(10).map(|&at| self.name(at).to_owned());
                return Err(Error::Ambiguous {
                    kind: self.kind,
                    label: text.to_owned(),
                    place: None,
                    candidates: candidates.collect(),
                });
            }
        }
        let digits = text.strip_prefix('#').unwrap_or(text);
        let number = digits.parse::<u32>().ok().filter(|_| !digits.starts_with('+'));
        if let Some(number) = number.filter(|&number| (number as usize) < self.len()) {
            return Ok(number);
        }
        Err(Error::Unknown {
            kind: self.kind,
            name: text.chars().take(LONGEST_COMPARED).collect(),
            place: None,
            suggestions: self.nearest(text, SUGGESTIONS),
        })
    }

    /// The thing of this exact name.
    pub fn with_name(&self, name: &str) -> Option<u32> {
        let at = self.by_name.binary_search_by(|&number| self.name(number).cmp(name)).ok()?;
        Some(self.by_name[at])
    }

    /// All things of this exact label.
    pub fn with_label(&self, label: &str) -> &'a [u32] {
        let label_of = |number: u32| self.labels.get(number as usize);
        let start = self.by_label.partition_point(|&number| label_of(number) < label);
        let end = self.by_label.partition_point(|&number| label_of(number) <= label);
        self.by_label.get(start..end).unwrap_or(&[])
    }

    /// The names or labels nearest to a misspelt one, best first.
    pub fn nearest(&self, text: &str, most: usize) -> Vec<String> {
        let wanted = text.to_lowercase();
        if wanted.chars().count() > LONGEST_COMPARED {
            return Vec::new();
        }
        let mut best: Vec<(f64, u32)> = Vec::new();
        for number in 0..self.len() as u32 {
            let name = self.name(number);
            // An inverse that has no name of its own says nothing that its relation does not.
            if self.kind == Kind::Relation && name.starts_with('^') {
                continue;
            }
            let spellings = [Some(name), self.label(number), self.prefixes.local(name)];
            let likeness = spellings.into_iter().flatten().map(|spelling| alike(&wanted, spelling));
            let Some(likeness) = likeness.max_by(f64::total_cmp).filter(|&likeness| likeness > 0.4)
            else {
                continue;
            };
            let order = |&(other, _): &(f64, u32)| other >= likeness;
            let at = best.partition_point(order);
            if at < most {
                best.insert(at, (likeness, number));
                best.truncate(most);
            }
        }
        best.into_iter().map(|(_, number)| self.display(number)).collect()
    }
}

/// How alike a lower-case text and a name are, from 0 to 1.
fn alike(wanted: &str, name: &str) -> f64 {
    let (short, long) = match wanted.len().cmp(&name.len()) {
        Ordering::Greater => (name.len(), wanted.len()),
        _ => (wanted.len(), name.len()),
    };
    if long > LONGEST_COMPARED * 4 {
        return 0.0;
    }
    let name = name.to_lowercase();
    if name == wanted {
        return 1.0;
    }
    // Part of a longer name: better than a name that is merely of a like length.
    let part = match short >= 3 && name.contains(wanted) {
        true => 0.7 + 0.3 * short as f64 / long as f64,
        false => 0.0,
    };
    // The distance is at least the difference of lengths: skip what cannot qualify.
    if (short as f64) < 0.3 * long as f64 {
        return part;
    }
    part.max(strsim::normalized_damerau_levenshtein(wanted, &name))
}

/// Many strings in one text.
#[derive(Clone, Copy, Default)]
pub struct Strings<'a> {
    /// Where each string starts, and the end of the last.
    pub(crate) starts: &'a [u64],
    /// UTF-8, checked as a whole before; bytes, since a mapped file is not a `str` by itself.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Strings<'a> {
    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are `count` of them, whole characters each.
    pub(crate) fn is_consistent(&self, count: usize) -> bool {
        let Ok(text) = std::str::from_utf8(self.bytes) else { return false };
        self.starts.len() == count + 1
            && self.starts.is_sorted()
            && self.starts.last().is_some_and(|&last| last as usize == text.len())
            && self.starts.iter().all(|&start| text.is_char_boundary(start as usize))
    }

    /// One of them; empty if there is no such one.
    pub fn get(&self, at: usize) -> &'a str {
        let Some(&[start, end]) = self.starts.get(at..at + 2) else { return "" };
        let bytes = self.bytes.get(start as usize..end as usize).unwrap_or(&[]);
        std::str::from_utf8(bytes).unwrap_or("")
    }
}

/// IRI prefixes, for names that people can read.
#[derive(Clone, Copy, Default)]
pub struct Prefixes<'a> {
    /// Lines of `prefix<TAB>iri`.
    pub(crate) text: &'a str,
}

impl<'a> Prefixes<'a> {
    /// All pairs of prefix and IRI.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.text.lines().filter_map(|line| line.split_once('\t'))
    }

    /// `ex:name` for an IRI that starts with a known prefix.
    pub fn shorten(&self, iri: &str) -> Option<String> {
        let fits = self.iter().filter_map(|(prefix, start)| {
            let local = iri.strip_prefix(start)?;
            (!local.is_empty() && !local.contains(['/', '#'])).then_some((prefix, local))
        });
        let (prefix, local) = fits.min_by_key(|(_, local)| local.len())?;
        Some(format!("{prefix}:{local}"))
    }

    /// The IRI that a prefixed name stands for.
    pub fn expand(&self, short: &str) -> Option<String> {
        let (wanted, local) = short.split_once(':')?;
        let (_, start) = self.iter().find(|(prefix, _)| *prefix == wanted)?;
        Some(format!("{start}{local}"))
    }

    /// The last part of an IRI, if the name looks like one.
    fn local(&self, name: &'a str) -> Option<&'a str> {
        name.contains("://").then(|| name.rsplit(['/', '#']).next().unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Entity, Error, Graph, GraphBuilder, Relation, Split};

    fn graph() -> Graph {
        let mut builder = GraphBuilder::default();
        builder.prefix("ex", "http://ex.org/");
        for (head, relation, tail) in [
            ("http://ex.org/ge", "http://ex.org/borders", "http://ex.org/am"),
            ("http://ex.org/ga", "http://ex.org/part_of", "http://ex.org/us"),
            ("plain name", "http://ex.org/part_of", "17"),
        ] {
            builder.edge_named(Split::Train, head, relation, tail).unwrap();
        }
        let labels = [("ge", "Georgia"), ("ga", "Georgia"), ("am", "Armenia")];
        for (name, label) in labels {
            let entity = builder.known_entity(&format!("http://ex.org/{name}")).unwrap();
            builder.label_entity(entity, label);
        }
        builder.finish().unwrap().0
    }

    #[test]
    fn things_are_found_by_name_prefix_label_and_number() {
        let graph = graph();
        let am = graph.entity("http://ex.org/am").unwrap();
        for text in ["ex:am", "Armenia", "#1", "1"] {
            assert_eq!(graph.entity(text).unwrap(), am, "{text}");
        }
        // A name goes before a number.
        assert_eq!(graph.entity("17").unwrap(), Entity(5));
        assert_eq!(graph.relation("^ex:borders").unwrap(), Relation(1));
        assert_eq!(graph.relation("ex:borders").unwrap(), Relation(0));
    }

    #[test]
    fn an_ambiguous_label_lists_the_candidates() {
        let error = graph().entity("Georgia").unwrap_err();
        let Error::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
        assert_eq!(candidates, &["http://ex.org/ge", "http://ex.org/ga"]);
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let suggestions = |text: &str| match graph().entity(text).unwrap_err() {
            Error::Unknown { suggestions, .. } => suggestions,
            other => panic!("{other}"),
        };
        assert_eq!(suggestions("armenai"), ["Armenia"]);
        assert_eq!(suggestions("plain nam"), ["plain name"]);
        assert!(suggestions("zzzzzzzz").is_empty());
        assert!(suggestions(&"x".repeat(100_000)).is_empty());
        assert!(suggestions("#99").len() <= 3);
    }

    #[test]
    fn what_is_displayed_finds_the_thing_again() {
        let graph = graph();
        let all = graph.entities().unwrap();
        for number in 0..all.len() as u32 {
            assert_eq!(all.find(&all.display(number)).unwrap(), number);
        }
        assert_eq!(all.display(0), "ex:ge");
        assert_eq!(all.display(1), "Armenia");
    }
}
