//! Curves of a training run: `metrics.jsonl`, `metrics.csv` and TensorBoard events in its folder.
//!
//! The JSON lines are what counts: the table is made from them whenever the log is opened.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use super::tensorboard::EventWriter;
use crate::error::{Error, Result};
use skolem_kg::store::write_atomically;

const JSONL: &str = "metrics.jsonl";
const CSV: &str = "metrics.csv";
const COLUMNS: &str = "update,seconds,loss,rate,mrr,epfo,negation";

/// What was measured at one update.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct Row {
    /// How many updates were made.
    pub update: u64,
    /// How long that took.
    #[serde(deserialize_with = "number")]
    pub seconds: f64,
    /// Mean loss since the row before.
    pub loss: Option<f64>,
    /// Learning rate.
    #[serde(deserialize_with = "number")]
    pub rate: f64,
    /// Mean reciprocal rank over all validation queries.
    pub mrr: Option<f64>,
    /// The same over queries without negation.
    pub epfo: Option<f64>,
    /// The same over queries with negation.
    pub negation: Option<f64>,
    /// The same for each shape of query.
    #[serde(default, deserialize_with = "numbers")]
    pub shapes: BTreeMap<String, f64>,
}

/// JSON has no NaN and no infinity; they are written as null.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let all = BTreeMap::<String, Option<f64>>::deserialize(from)?;
    Ok(all.into_iter().filter_map(|(shape, value)| Some((shape, value?))).collect())
}

/// The log of a training run, to which rows are added.
pub struct Log {
    jsonl: Lines,
    csv: Lines,
    events: EventWriter,
    rows: usize,
}

impl Log {
    /// Opens the log of a folder. Rows after the first `count` or after `update` (left by a run that was
    /// killed after its last checkpoint) are dropped, as is a torn last line.
    pub fn open(folder: &Path, update: u64, count: usize) -> Result<Log> {
        let (jsonl, csv) = (folder.join(JSONL), folder.join(CSV));
        let text = read(&jsonl)?;
        let mut rows = parse(&jsonl, &text)?;
        rows.truncate(count);
        rows.retain(|(row, _)| row.update <= update);
        write_atomically(&jsonl, |out| {
            // As they were: a row read and written again could differ in its last digits.
            rows.iter().try_for_each(|(_, line)| out.write_all(&[line, &b"\n"[..]].concat()))
        })?;
        write_atomically(&csv, |out| {
            writeln!(out, "{COLUMNS}")?;
            rows.iter().try_for_each(|(row, _)| writeln!(out, "{}", cells(row)))
        })?;
        let mut events = EventWriter::create(folder, update)?;
        events.restart(update.saturating_add(1))?;
        events.flush()?;
        let rows = rows.len();
        Ok(Log { jsonl: Lines::open(jsonl)?, csv: Lines::open(csv)?, events, rows })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a row; it survives the end of the process.
    pub fn add(&mut self, row: &Row) -> Result<()> {
        let json = serde_json::to_string(row)
            .map_err(|error| Error::io(&self.jsonl.path)(error.into()))?;
        self.jsonl.add(json)?;
        self.csv.add(cells(row))?;
        self.rows += 1;
        let fixed = [
            ("train/loss", row.loss),
            ("train/rate", Some(row.rate)),
            ("valid/mrr", row.mrr),
            ("valid/epfo", row.epfo),
            ("valid/negation", row.negation),
        ];
        let fixed = fixed.map(|(tag, value)| (tag.to_owned(), value));
        let shapes =
            row.shapes.iter().map(|(shape, &value)| (format!("valid/{shape}"), Some(value)));
        for (tag, value) in fixed.into_iter().chain(shapes) {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                self.events.scalar(&tag, row.update, value)?;
            }
        }
        self.events.flush()
    }

    /// Puts all rows on the disk: before a checkpoint, so that none outlives the rows before it.
    pub fn sync(&mut self) -> Result<()> {
        self.jsonl.sync()?;
        self.csv.sync()
    }

    /// The rows of a folder's log; none if it has no log yet.
    pub fn rows(folder: &Path) -> Result<Vec<Row>> {
        let path = folder.join(JSONL);
        Ok(parse(&path, &read(&path)?)?.into_iter().map(|(row, _)| row).collect())
    }
}

/// A text file that grows line by line.
struct Lines {
    /// Flushed after every line. What a full disk does not take stays here and goes first later, so
    /// that no line is torn while the process lives.
    out: BufWriter<File>,
    path: PathBuf,
}

impl Lines {
    fn open(path: PathBuf) -> Result<Lines> {
        let file = OpenOptions::new().append(true).open(&path).map_err(Error::io(&path))?;
        Ok(Lines { out: BufWriter::new(file), path })
    }

    fn add(&mut self, line: String) -> Result<()> {
        let added = self.out.write_all((line + "\n").as_bytes()).and_then(|()| self.out.flush());
        added.map_err(Error::io(&self.path))
    }

    fn sync(&mut self) -> Result<()> {
        self.out.get_ref().sync_data().map_err(Error::io(&self.path))
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(Error::io(path)),
    }
}

/// The rows with their lines. The last line may be torn; any other must make sense.
fn parse<'a>(path: &Path, text: &'a [u8]) -> Result<Vec<(Row, &'a [u8])>> {
    let lines = text.split(|&byte| byte == b'\n').enumerate();
    let mut lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty()).peekable();
    let mut rows = Vec::new();
    while let Some((at, line)) = lines.next() {
        match serde_json::from_slice(line) {
            Ok(row) => rows.push((row, line)),
            Err(_) if lines.peek().is_none() => {}
            Err(_) => {
                let what = format!("line {} is not a row of metrics; remove that line", at + 1);
                return Err(Error::corrupt(path, what));
            }
        }
    }
    Ok(rows)
}

fn cells(row: &Row) -> String {
    let numbers = [Some(row.seconds), row.loss, Some(row.rate), row.mrr, row.epfo, row.negation];
    let cell = |value: Option<f64>| {
        value.filter(|value| value.is_finite()).map_or(",".into(), |value| format!(",{value}"))
    };
    row.update.to_string() + &numbers.map(cell).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ALL: usize = usize::MAX;

    fn row(update: u64) -> Row {
        let bare = Row {
            update,
            seconds: update as f64 / 4.0,
            loss: Some(0.5),
            rate: 0.0001,
            mrr: None,
            epfo: None,
            negation: None,
            shapes: BTreeMap::new(),
        };
        match update % 20 {
            0 => Row { mrr: Some(0.25), shapes: BTreeMap::from([("2in".into(), 0.125)]), ..bare },
            _ => bare,
        }
    }

    fn text(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).unwrap()
    }

    fn append(folder: &Path, name: &str, torn: &[u8]) {
        let file = OpenOptions::new().append(true).open(folder.join(name));
        file.unwrap().write_all(torn).unwrap();
    }

    /// The log of a run that made 40 updates.
    fn run(folder: &Path) -> Log {
        let mut log = Log::open(folder, 0, ALL).unwrap();
        [10, 20, 30, 40].iter().for_each(|&update| log.add(&row(update)).unwrap());
        log.sync().unwrap();
        log
    }

    #[test]
    fn rows_come_back_and_the_table_has_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(Log::rows(folder).unwrap().is_empty());
        run(folder);
        assert_eq!(Log::rows(folder).unwrap(), [10, 20, 30, 40].map(row));
        let table = "update,seconds,loss,rate,mrr,epfo,negation\n10,2.5,0.5,0.0001,,,\n\
            20,5,0.5,0.0001,0.25,,\n30,7.5,0.5,0.0001,,,\n40,10,0.5,0.0001,0.25,,\n";
        assert_eq!(text(folder, CSV), table);
        let json = text(folder, JSONL);
        assert!(json.contains(r#""negation":null,"shapes":{"2in":0.125}}"#), "{json}");
        // Opening again changes nothing, and makes the table anew.
        fs::remove_file(folder.join(CSV)).unwrap();
        Log::open(folder, 40, ALL).unwrap();
        assert_eq!((text(folder, JSONL), text(folder, CSV)), (json, table.into()));
    }

    #[test]
    fn a_killed_run_goes_on_from_its_checkpoint() {
        let torn = [&b"{\"update\":50,\"sec"[..], b"\0\0\0\0", b"\xFF\xFE", b"{}\n", b"\n\n", b""];
        for torn in torn {
            let folder = tempfile::tempdir().unwrap();
            let folder = folder.path();
            run(folder);
            append(folder, JSONL, torn);
            append(folder, CSV, b"50,1");
            assert_eq!(Log::rows(folder).unwrap(), [10, 20, 30, 40].map(row));
            let mut log = Log::open(folder, 25, ALL).unwrap();
            assert_eq!(Log::rows(folder).unwrap(), [10, 20].map(row));
            log.add(&row(30)).unwrap();
            assert_eq!(Log::rows(folder).unwrap(), [10, 20, 30].map(row));
            assert!(text(folder, CSV).ends_with("0.25,,\n30,7.5,0.5,0.0001,,,\n"));
        }
    }

    #[test]
    fn rows_of_the_same_update_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut log = run(folder);
        assert!(log.len() == 4 && !log.is_empty());
        // Two rows of update 40, the second one after the checkpoint.
        log.add(&row(40)).unwrap();
        let mut log = Log::open(folder, 40, 4).unwrap();
        assert_eq!((log.len(), Log::rows(folder).unwrap().len()), (4, 4));
        log.add(&row(40)).unwrap();
        assert_eq!(Log::rows(folder).unwrap(), [10, 20, 30, 40, 40].map(row));
        assert_eq!(text(folder, CSV).lines().count(), 6);
    }

    #[test]
    fn every_torn_write_is_survived() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        run(folder);
        let whole = fs::read(folder.join(JSONL)).unwrap();
        for len in 0..whole.len() {
            fs::write(folder.join(JSONL), &whole[..len]).unwrap();
            // A row is there with its last brace, its line ended or not.
            let rows = whole[..=len].split(|&byte| byte == b'\n').count() - 1;
            assert_eq!(Log::rows(folder).unwrap(), [10, 20, 30, 40].map(row)[..rows]);
            // Opening waits for the disk, so not every time.
            if len % 5 == 0 || whole[len] == b'\n' {
                Log::open(folder, 100, ALL).unwrap().add(&row(100)).unwrap();
                assert_eq!(Log::rows(folder).unwrap().len(), rows + 1);
            }
        }
    }

    #[test]
    fn numbers_that_are_none_break_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut log = Log::open(folder, 0, ALL).unwrap();
        let shapes = BTreeMap::from([("1p".into(), f64::NAN), ("2p".into(), 0.5)]);
        let (loss, rate) = (Some(f64::NAN), f64::INFINITY);
        log.add(&Row { seconds: f64::NAN, loss, rate, shapes, ..row(10) }).unwrap();
        log.add(&row(20)).unwrap();
        let rows = Log::rows(folder).unwrap();
        assert!(rows[0].rate.is_nan() && rows[0].seconds.is_nan() && rows[0].loss.is_none());
        assert_eq!((rows[0].shapes.len(), rows[0].shapes["2p"], &rows[1]), (1, 0.5, &row(20)));
        Log::open(folder, 20, ALL).unwrap();
        assert!(text(folder, CSV).contains("\n10,,,,,,\n20,5,"), "{}", text(folder, CSV));
    }

    #[test]
    fn a_line_in_the_middle_that_makes_no_sense_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let mut log = run(folder);
        append(folder, JSONL, b"oops\n");
        log.add(&row(50)).unwrap();
        let before = text(folder, JSONL);
        let error = Log::open(folder, 50, ALL).err().unwrap().to_string();
        assert!(error.contains("metrics.jsonl: line 5 is not a row"), "{error}");
        assert_eq!(text(folder, JSONL), before);
        assert!(
            Log::open(&folder.join("missing"), 0, ALL).err().unwrap().to_string().contains(JSONL)
        );
    }
}
