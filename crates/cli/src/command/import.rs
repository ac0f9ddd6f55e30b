//! `skolem import`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use skolem_kg::load::{self, Format, Options, Report};
use skolem_kg::{Error, GraphBuilder, Split};

use super::check_writable;
use crate::output::{self, count, grouped};
use crate::progress;

const AFTER_HELP: &str = "\
Formats, by extension (each also with .gz or .zst behind it):
  .tsv .txt .tab   head, relation and tail with tabs between them
  .csv             the same with commas; quotes as in RFC 4180
  .nt .ttl .rdf .owl .jsonld .nq .trig    RDF
  a folder         KGReasoning: stats.txt, train.txt, valid.txt, test.txt, names if there

Examples:
  skolem import data/world.tsv --out world.kg
  skolem import facts.nt.gz more.ttl --literals --out facts.kg
  skolem import train.tsv --valid valid.tsv --test test.tsv --out mine.kg
  skolem import edges.tsv --holdout 0.1,0.1 --seed 7 --out mine.kg
  skolem import FB15k-237/ --out fb237.kg";

/// Make a graph file from triples, RDF or a KGReasoning folder
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Files with the edges to learn from, or one KGReasoning folder
    #[arg(required = true, value_name = "FILE|FOLDER")]
    inputs: Vec<PathBuf>,

    /// Where to write the graph
    #[arg(long, short, value_name = "GRAPH.kg")]
    out: PathBuf,

    /// Files with the edges to choose settings by
    #[arg(long, value_name = "FILE", num_args = 1..)]
    valid: Vec<PathBuf>,

    /// Files with the edges to test on
    #[arg(long, value_name = "FILE", num_args = 1..)]
    test: Vec<PathBuf>,

    /// Shares of the edges to hold out for valid and test; every entity and relation stays in train
    #[arg(long, value_name = "VALID,TEST", value_parser = shares, conflicts_with_all = ["valid", "test"])]
    holdout: Option<(f64, f64)>,

    /// Which edges are held out depends on this number
    #[arg(long, value_name = "N", default_value_t = 0, requires = "holdout")]
    seed: u64,

    /// The format of all files, whatever their extension: tsv, csv, nt, ttl, rdfxml, jsonld, nq, trig
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Keep RDF literals as entities instead of leaving them out
    #[arg(long)]
    literals: bool,

    /// Count malformed lines and go on, instead of stopping at the first
    #[arg(long)]
    skip_bad: bool,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(serde::Serialize)]
struct Summary {
    graph: PathBuf,
    entities: usize,
    relations: usize,
    edges: [usize; 3],
    duplicates: usize,
    literals_skipped: u64,
    bad_lines: u64,
    first_bad: Option<String>,
    labels: u64,
    labels_unused: u64,
    fingerprint: String,
    seconds: f64,
}

pub fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let start = Instant::now();
    check_writable(&args.out)?;
    let options = Options {
        format: args.format,
        literals: args.literals,
        skip_bad: args.skip_bad,
        ..Options::default()
    };
    let mut builder = GraphBuilder::default();
    let report = read_all(args, &mut builder, &options)?;
    if builder.edge_count() == 0 {
        bail!("{}: there are no edges in the input", args.inputs[0].display());
    }
    if let Some((valid, test)) = args.holdout {
        builder.hold_out(valid, test, args.seed)?;
    }
    let waiting = progress::waiting("sorting and writing");
    let (graph, counted) = builder.finish()?;
    graph.write(&args.out)?;
    waiting.finish_and_clear();
    let summary = Summary {
        graph: args.out.clone(),
        entities: graph.entity_count(),
        relations: graph.relation_count() / 2,
        edges: Split::ALL.map(|split| graph.edges_added_by(split)),
        duplicates: counted.duplicates,
        literals_skipped: report.literals_skipped,
        bad_lines: report.bad_lines,
        first_bad: report.first_bad,
        labels: report.labels,
        labels_unused: report.labels_unused,
        fingerprint: format!("{:016x}", graph.fingerprint()),
        seconds: start.elapsed().as_secs_f64(),
    };
    match args.json {
        true => output::json(out, &summary)?,
        false => print(out, &summary)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn read_all(args: &Args, builder: &mut GraphBuilder, options: &Options) -> Result<Report> {
    if let [folder] = &args.inputs[..]
        && folder.is_dir()
    {
        if !load::is_kgreasoning(folder) {
            bail!(
                "{}: is a folder without stats.txt and train.txt (name the files in it)",
                folder.display()
            );
        }
        if !args.valid.is_empty() || !args.test.is_empty() || args.holdout.is_some() {
            let message = format!("{}: a KGReasoning folder has its own splits", folder.display());
            return Err(Error::Setting(message).into());
        }
        let bar = progress::counter("reading bytes");
        let mut on_bytes = |bytes| bar.set_position(bytes);
        return Ok(load::load_kgreasoning(builder, folder, options, &mut on_bytes)?);
    }
    let mut report = Report::default();
    for (split, files) in Split::ALL.into_iter().zip([&args.inputs, &args.valid, &args.test]) {
        for file in files {
            report += read(builder, file, split, options)?;
        }
    }
    Ok(report)
}

fn read(
    builder: &mut GraphBuilder,
    file: &Path,
    split: Split,
    options: &Options,
) -> Result<Report> {
    let metadata = std::fs::metadata(file).map_err(Error::io(file))?;
    if metadata.is_dir() {
        bail!("{}: is a folder (name the files in it)", file.display());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bar = progress::bytes(metadata.len(), &name);
    let report = load::load(builder, file, split, options, &mut |bytes| bar.set_position(bytes))?;
    bar.finish_and_clear();
    Ok(report)
}

fn print(out: &mut dyn Write, summary: &Summary) -> Result<()> {
    let [train, valid, test] = summary.edges;
    let (entities, relations) =
        (count(summary.entities, "entity"), count(summary.relations, "relation"));
    writeln!(out, "{}: {entities}, {relations}", summary.graph.display())?;
    writeln!(
        out,
        "edges: {} train, {} valid, {} test",
        grouped(train),
        grouped(valid),
        grouped(test)
    )?;
    if summary.duplicates > 0 {
        writeln!(out, "{} given more than once, kept once", count(summary.duplicates, "edge"))?;
    }
    if summary.literals_skipped > 0 {
        let literals = count(summary.literals_skipped as usize, "literal");
        writeln!(out, "{literals} left out (keep them with --literals)")?;
    }
    if summary.labels_unused > 0 {
        let labels = count(summary.labels_unused as usize, "label");
        writeln!(out, "{labels} left out: no edge read before mentions what they name")?;
    }
    if summary.bad_lines > 0 {
        let first = summary.first_bad.as_deref().unwrap_or_default();
        writeln!(
            out,
            "{} left out, the first: {first}",
            count(summary.bad_lines as usize, "bad line")
        )?;
    }
    writeln!(out, "done in {:.1} s", summary.seconds)?;
    Ok(())
}

fn shares(text: &str) -> Result<(f64, f64), String> {
    let parse = || -> Result<(f64, f64)> {
        let (valid, test) = text.split_once(',').context("two shares")?;
        Ok((valid.trim().parse()?, test.trim().parse()?))
    };
    parse().map_err(|_| format!("'{text}' is not two shares as in 0.1,0.1"))
}
