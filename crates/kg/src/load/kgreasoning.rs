//! Folders as the KGReasoning program has them: numbers in `stats.txt` and `{train,valid,test}.txt`.
//!
//! Numbers are kept: entity `7` of the folder is `Entity(7)`, and relations `2k` and `2k + 1` are a
//! relation and its inverse. Names come from `entities.tsv` and `relations.tsv` (number, name and
//! perhaps a label), else from `id2ent.pkl` and `id2rel.pkl`, else they are the numbers. A name that
//! is taken already gets its number appended: `name#7`.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::input::Input;
use super::lines::{Fault, Line, Lines, text};
use super::options::Options;
use super::report::Report;
use super::{Progress, open};
use crate::dataset::kgreasoning::read_id_names;
use crate::error::{Error, Result};
use crate::graph::GraphBuilder;
use crate::id::{Entity, Relation};
use crate::split::Split;
use crate::unpack::{Compression, size};

/// More entities than any such folder has; bounds what a wrong `stats.txt` can ask for.
const MOST_ENTITIES: u32 = 100_000_000;
/// The same for relations.
const MOST_RELATIONS: u32 = 10_000_000;

/// Whether a folder is one of KGReasoning's.
pub fn is_kgreasoning(folder: &Path) -> bool {
    folder.join("stats.txt").is_file() && folder.join("train.txt").is_file()
}

/// Reads a folder with all its splits into a builder that is still empty.
pub fn load_kgreasoning(
    builder: &mut GraphBuilder,
    folder: &Path,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    if builder.entity_count() + builder.relation_count() > 0 {
        let message = "keeps its own numbers, so it must be the first and only thing imported";
        return Err(Error::unusable(folder, message));
    }
    let stats = Stats::read(&folder.join("stats.txt"))?;
    let mut report = Report::default();
    name_entities(builder, folder, stats.entities, options, &mut report)?;
    name_relations(builder, folder, stats.relations, options, &mut report)?;
    let mut before = 0;
    for split in Split::ALL {
        let path = folder.join(format!("{split}.txt"));
        if split != Split::Train && !path.exists() {
            continue;
        }
        let mut so_far = 0;
        let mut step = |bytes| {
            so_far = bytes;
            progress(before + bytes);
        };
        report += read_edges(builder, &path, split, &stats, options, &mut step)?;
        before += so_far;
    }
    Ok(report)
}

/// How many of each there are.
struct Stats {
    entities: u32,
    relations: u32,
}

impl Stats {
    fn read(path: &Path) -> Result<Stats> {
        const MOST_BYTES: u64 = 64 << 10;
        if open(path)?.metadata().map_err(Error::io(path))?.len() > MOST_BYTES {
            return Err(Error::unusable(path, "is too long for two counts"));
        }
        let bytes = fs::read(path).map_err(Error::io(path))?;
        let all = String::from_utf8_lossy(&bytes);
        let count = |key: &str, most: u32| {
            let found = all.lines().find_map(|line| line.trim().strip_prefix(key));
            let Some(number) = found else {
                return Err(Error::unusable(path, format!("has no line '{key} <number>'")));
            };
            match number.trim().parse() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(Error::unusable(path, format!("'{key}' is no number up to {most}"))),
            }
        };
        let entities = count("numentity:", MOST_ENTITIES)?;
        let relations = count("numrelations:", MOST_RELATIONS)?;
        if relations % 2 == 1 {
            let message = "the number of relations is odd; each needs its inverse after it";
            return Err(Error::unusable(path, message));
        }
        Ok(Stats { entities, relations })
    }
}

fn name_entities(
    builder: &mut GraphBuilder,
    folder: &Path,
    count: u32,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let names = Names::read(folder, "entities.tsv", "id2ent.pkl", count, options, report)?;
    for number in 0..count {
        let entity = builder.entity(&names.name(number))?;
        if entity != Entity(number) {
            return Err(names.taken(folder, number));
        }
        if let Some(label) = names.label(number) {
            builder.label_entity(entity, label);
            report.labels += 1;
        }
    }
    Ok(())
}

fn name_relations(
    builder: &mut GraphBuilder,
    folder: &Path,
    count: u32,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let names = Names::read(folder, "relations.tsv", "id2rel.pkl", count, options, report)?;
    for number in 0..count {
        if number % 2 == 0 {
            if builder.relation(&names.name(number))? != Relation(number) {
                return Err(names.taken(folder, number));
            }
        } else if names.has(number) || !names.has(number - 1) {
            // Otherwise the inverse of a named relation is `^name`, better than a number.
            builder.name_inverse(Relation(number), &names.name(number));
        }
        if let Some(label) = names.label(number) {
            builder.label_relation(Relation(number), label);
            report.labels += 1;
        }
    }
    Ok(())
}

/// Unique names and perhaps labels, by number.
struct Names {
    known: Vec<Option<(String, Option<String>)>>,
    file: &'static str,
}

impl Names {
    fn read(
        folder: &Path,
        file: &'static str,
        pickle: &str,
        count: u32,
        options: &Options,
        report: &mut Report,
    ) -> Result<Names> {
        let mut names = Names { known: Vec::new(), file };
        let (path, pickle) = (folder.join(file), folder.join(pickle));
        if path.exists() {
            names.known.resize(count as usize, None);
            names.read_lines(&path, options, report)?;
        } else if pickle.exists() {
            names.known.resize(count as usize, None);
            for (number, name) in read_id_names(&pickle)? {
                let Some(known) = names.known.get_mut(number as usize) else {
                    let message = format!("number {number} is not below {count}");
                    return Err(Error::unusable(&pickle, message));
                };
                *known = Some((name, None));
            }
        }
        names.make_unique();
        Ok(names)
    }

    fn read_lines(&mut self, path: &Path, options: &Options, report: &mut Report) -> Result<()> {
        for_each_line(path, options, report, &mut |_| (), &mut |line| {
            let mut fields = line.split('\t');
            let number = number(line, fields.next().unwrap_or(""), self.known.len(), "a number")?;
            let (name, label) = (fields.next().map(str::trim), fields.next().map(str::trim));
            let Some(name) = name.filter(|name| !name.is_empty()) else {
                return Err(Fault::new(line.len(), "the name is missing"));
            };
            let longest = options.limits.name;
            if name.len().max(label.map_or(0, str::len)) > longest {
                let message = format!("the name is longer than {}", size(longest as u64));
                return Err(Fault::new(0, message));
            }
            let known = &mut self.known[number as usize];
            if known.is_some() {
                return Err(Fault::new(0, format!("number {number} has a name already")));
            }
            let label = label.filter(|label| !label.is_empty() && *label != name);
            *known = Some((name.to_owned(), label.map(str::to_owned)));
            Ok(())
        })
    }

    fn make_unique(&mut self) {
        let mut taken: HashSet<&str> = HashSet::new();
        let mut again = Vec::new();
        for (number, known) in self.known.iter().enumerate() {
            let name = known.as_ref().map(|(name, _)| name.as_str());
            if name.is_some_and(|name| !taken.insert(name)) {
                again.push(number);
            }
        }
        // A number stands in for a missing name, unless it is the name of another thing.
        let missing = self.known.iter().enumerate().filter(|(_, known)| known.is_none());
        let clashes = missing.filter(|(number, _)| taken.contains(number.to_string().as_str()));
        let clashes: Vec<usize> = clashes.map(|(number, _)| number).collect();
        for number in again.into_iter().chain(clashes) {
            let (name, _) = self.known[number].get_or_insert_with(|| (number.to_string(), None));
            name.push_str(&format!("#{number}"));
        }
    }

    fn name(&self, number: u32) -> std::borrow::Cow<'_, str> {
        match self.known.get(number as usize) {
            Some(Some((name, _))) => name.into(),
            _ => number.to_string().into(),
        }
    }

    fn has(&self, number: u32) -> bool {
        self.known.get(number as usize).is_some_and(Option::is_some)
    }

    fn label(&self, number: u32) -> Option<&str> {
        self.known.get(number as usize)?.as_ref()?.1.as_deref()
    }

    fn taken(&self, folder: &Path, number: u32) -> Error {
        let message = format!("the name '{}' of {number} is taken already", self.name(number));
        Error::unusable(folder.join(self.file), message)
    }
}

fn read_edges(
    builder: &mut GraphBuilder,
    path: &Path,
    split: Split,
    stats: &Stats,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    let mut report = Report::default();
    let mut edges = 0;
    // An edge and its inverse are on neighbouring lines; the builder makes the second one itself.
    let mut before = None;
    for_each_line(path, options, &mut report, progress, &mut |line| {
        let mut fields = line.split_ascii_whitespace();
        let mut next =
            |most: u32, what: &str| number(line, fields.next().unwrap_or(""), most as usize, what);
        let head = Entity(next(stats.entities, "an entity's number")?);
        let relation = Relation(next(stats.relations, "a relation's number")?);
        let tail = Entity(next(stats.entities, "an entity's number")?);
        if let Some(more) = fields.next() {
            return Err(Fault::new(offset(line, more), "more than head, relation and tail"));
        }
        let mirror = (tail, relation.inverse(), head);
        if before == Some(mirror) {
            before = None;
        } else {
            builder.edge(split, head, relation, tail);
            edges += 1;
            before = Some((head, relation, tail));
        }
        Ok(())
    })?;
    report.edges = edges;
    Ok(report)
}

/// A number below `end`.
fn number(line: &str, field: &str, end: usize, what: &str) -> std::result::Result<u32, Fault> {
    let at = if field.is_empty() { line.len() } else { offset(line, field) };
    let digits = field.trim_ascii();
    match digits.parse::<u32>() {
        Ok(number) if (number as usize) < end => Ok(number),
        Ok(number) => Err(Fault::new(at, format!("{number} is not {what} below {end}"))),
        Err(_) => {
            let shown: String = digits.chars().take(40).collect();
            Err(Fault::new(at, format!("'{shown}' is not {what}")))
        }
    }
}

/// Where a part of a line begins in it.
fn offset(line: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize).min(line.len())
}

/// Calls a function with each line that is not blank.
fn for_each_line(
    path: &Path,
    options: &Options,
    report: &mut Report,
    progress: &mut Progress<'_>,
    each: &mut dyn FnMut(&str) -> std::result::Result<(), Fault>,
) -> Result<()> {
    let mut file = open(path)?;
    let input = Input::new(&mut file, path, Compression::None, &options.limits, progress)?;
    let mut lines = Lines::new(input);
    loop {
        let number = lines.number() + 1;
        let (bytes, result) = match lines.next()? {
            Line::End => return Ok(()),
            Line::TooLong => (&[][..], Err(Fault::too_long(options))),
            Line::Text(bytes) if bytes.trim_ascii().is_empty() => continue,
            Line::Text(bytes) => (bytes, text(bytes).and_then(&mut *each)),
        };
        if let Err(fault) = result {
            report.bad(options, fault.in_file(path, number, bytes))?;
        }
    }
}
