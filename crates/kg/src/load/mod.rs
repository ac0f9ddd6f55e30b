//! Reads graph files into a [`GraphBuilder`]: triples as TSV or CSV, RDF, and KGReasoning folders.
//!
//! ```no_run
//! use std::path::Path;
//! use skolem_kg::load::{Options, load};
//! use skolem_kg::{GraphBuilder, Split};
//! let mut builder = GraphBuilder::default();
//! let report = load(&mut builder, Path::new("edges.tsv.gz"), Split::Train, &Options::default(), &mut |_| ())?;
//! println!("{} edges", report.edges);
//! # Ok::<(), skolem_kg::Error>(())
//! ```
//!
//! Every file may come from a stranger: lines, names, nesting and decompressed size are bounded by
//! [`Limits`], and a reader never holds more than a few times those bounds.

mod delimited;
mod guard;
mod input;
mod kgreasoning;
mod labels;
mod lines;
mod options;
mod rdf;
mod report;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use crate::unpack::{Compression, Growth};
pub use kgreasoning::{is_kgreasoning, load_kgreasoning};
pub use options::{Format, Limits, Options};
pub use report::Report;

use crate::error::{Error, Result};
use crate::graph::GraphBuilder;
use crate::split::Split;
use input::Input;

/// Called now and then with the number of bytes read so far, of the file as it is on the disk.
pub type Progress<'a> = dyn FnMut(u64) + 'a;

/// A graph file that need not be a file.
pub struct Source<'a> {
    /// Where the bytes come from.
    pub reader: &'a mut dyn Read,
    /// What messages call it.
    pub path: &'a Path,
    /// What is in it.
    pub format: Format,
    /// How it is packed.
    pub compression: Compression,
}

/// Adds a file's edges to a split of the graph.
pub fn load(
    builder: &mut GraphBuilder,
    path: &Path,
    split: Split,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    let (by_name, compression) = Format::of(path);
    let format = options.format.or(by_name).ok_or_else(|| options::unknown_format(path))?;
    let mut file = open(path)?;
    let source = Source { reader: &mut file, path, format, compression };
    read_from(builder, source, split, options, progress)
}

/// Adds the edges that any reader gives to a split of the graph.
pub fn read_from(
    builder: &mut GraphBuilder,
    source: Source<'_>,
    split: Split,
    options: &Options,
    progress: &mut Progress<'_>,
) -> Result<Report> {
    let Source { reader, path, format, compression } = source;
    let input = Input::new(reader, path, compression, &options.limits, progress)?;
    match format {
        Format::Tsv | Format::Csv => delimited::read(builder, input, format, split, options),
        _ => rdf::read(builder, input, format, split, options),
    }
}

/// Opens a file for reading; a folder is refused here, since reading one fails with less to go by.
fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(Error::io(path))?;
    if file.metadata().map_err(Error::io(path))?.is_dir() {
        return Err(Error::unusable(path, "is a folder (name a file in it)"));
    }
    Ok(file)
}
