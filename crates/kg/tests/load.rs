//! Whole files through the readers: every format, every way they can be wrong.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use skolem_kg::load::{
    Compression, Format, Options, Report, Source, is_kgreasoning, load, load_kgreasoning, read_from,
};
use skolem_kg::rng::Rng;
use skolem_kg::{Error, Graph, GraphBuilder, Place, Result, Split};
use tempfile::TempDir;

fn read(text: &[u8], format: Format, options: &Options) -> Result<(Graph, Report)> {
    read_packed(text, format, Compression::None, options)
}

fn read_packed(
    mut bytes: &[u8],
    format: Format,
    compression: Compression,
    options: &Options,
) -> Result<(Graph, Report)> {
    let mut builder = GraphBuilder::default();
    let source = Source { reader: &mut bytes, path: Path::new("in"), format, compression };
    let report = read_from(&mut builder, source, Split::Train, options, &mut |_| ())?;
    Ok((builder.finish()?.0, report))
}

fn lenient() -> Options {
    Options { skip_bad: true, ..Options::default() }
}

fn edges(graph: &Graph) -> Vec<[String; 3]> {
    let (entities, relations) = (graph.entities().unwrap(), graph.relations().unwrap());
    let all = graph.edges(Split::Test).unwrap();
    let forward = all.iter().filter(|(_, relation, _)| !relation.is_inverse());
    let named = forward.map(|(head, relation, tail)| {
        [entities.name(head.0), relations.name(relation.0), entities.name(tail.0)]
            .map(str::to_owned)
    });
    let mut list: Vec<_> = named.collect();
    list.sort();
    list
}

/// Where the one malformed place is, and what is said of it.
fn malformed(text: &[u8], format: Format) -> (usize, usize, String) {
    match read(text, format, &Options::default()).map(drop) {
        Err(Error::Malformed { place: Place { line, column }, message, .. }) => {
            (line, column, message)
        }
        other => panic!("{other:?}"),
    }
}

fn refused(text: &[u8], format: Format, options: &Options) -> String {
    match read(text, format, options) {
        Err(error) => error.to_string(),
        Ok((_, report)) => panic!("{report:?}"),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn file(folder: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn load_file(path: &Path) -> Result<Report> {
    let mut builder = GraphBuilder::default();
    load(&mut builder, path, Split::Train, &Options::default(), &mut |_| ())
}

const NATO: &str = "France\tborders\tSpain\nSpain\tin\tNATO\n";

#[test]
fn a_file_is_read_by_its_name_whatever_packs_it() {
    let folder = TempDir::new().unwrap();
    let two = [gzip(NATO.as_bytes()), gzip(b"Spain\tin\tEU\n")].concat();
    let zst = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
    let frames = [zst(NATO.as_bytes()), zst(b"Spain\tin\tEU\n")].concat();
    let csv = "head,relation,tail\r\nFrance,borders,Spain\r\n";
    for (name, bytes, edges) in [
        ("a.tsv", NATO.as_bytes(), 2),
        ("a.txt", NATO.as_bytes(), 2),
        ("a.tsv.gz", &two[..], 3),
        ("a.tsv.zst", &frames[..], 3),
        ("a.csv", csv.as_bytes(), 1),
    ] {
        let path = file(&folder, name, bytes);
        let last = Cell::new(0);
        let mut builder = GraphBuilder::default();
        let report =
            load(&mut builder, &path, Split::Train, &Options::default(), &mut |at| last.set(at));
        assert_eq!(report.unwrap().edges, edges, "{name}");
        assert_eq!(last.get(), bytes.len() as u64, "{name}");
    }
}

#[test]
fn a_file_that_is_not_what_it_claims_is_refused() {
    let folder = TempDir::new().unwrap();
    let zst = zstd::encode_all(NATO.as_bytes(), 1).unwrap();
    for (name, bytes, says) in [
        ("a.tsv.gz", NATO.as_bytes(), "is named .gz and is not gzip data"),
        ("a.tsv.zst", NATO.as_bytes(), "is named .zst and is not zstd data"),
        ("b.tsv.gz", b"", "is named .gz and is not gzip data"),
        ("a.tsv", &gzip(b"x"), "is gzip data (add .gz to its name)"),
        ("b.tsv", &zst, "is zstd data (add .zst to its name)"),
        ("c.tsv", b"\xFF\xFEa\0", "is UTF-16 text (save it as UTF-8)"),
        ("a.xls", b"", "choose one with --format: tsv, csv, nt, ttl, rdfxml, jsonld, nq, trig"),
    ] {
        let error = load_file(&file(&folder, name, bytes)).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(name), "{error}");
    }
    let error = load_file(&folder.path().join("none.tsv")).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("none.tsv"));
    fs::create_dir(folder.path().join("f.tsv")).unwrap();
    let error = load_file(&folder.path().join("f.tsv")).unwrap_err().to_string();
    assert!(error.ends_with("is a folder (name a file in it)"), "{error}");
}

#[test]
fn cut_and_damaged_packing_is_named() {
    let lines: String = (0..5000).map(|at| format!("e{at}\tr\te{}\n", at * 7 % 501)).collect();
    let mut packed = gzip(lines.as_bytes());
    let zst = zstd::encode_all(lines.as_bytes(), 1).unwrap();
    for (bytes, compression, name) in
        [(&packed, Compression::Gzip, "gzip"), (&zst, Compression::Zstd, "zstd")]
    {
        for end in [bytes.len() / 2, bytes.len() - 1, 12] {
            let cut = read_packed(&bytes[..end], Format::Tsv, compression, &lenient());
            let error = cut.map(drop).unwrap_err().to_string();
            assert!(error.contains(&format!("the {name} data is cut off")), "{end}: {error}");
        }
    }
    let middle = packed.len() / 2;
    packed[middle..middle + 50].fill(0x55);
    let error = read_packed(&packed, Format::Tsv, Compression::Gzip, &lenient());
    let error = error.map(drop).unwrap_err().to_string();
    assert!(error.contains("damaged gzip data"), "{error}");
}

#[test]
fn the_byte_order_mark_comments_blanks_and_header_are_no_edges() {
    let text = "\u{FEFF}# made by hand\r\nHead\tRelation\tTail\r\n\r\n a \tr\tb c\r\na\tr\td";
    let (graph, report) = read(text.as_bytes(), Format::Tsv, &Options::default()).unwrap();
    assert_eq!(report, Report { edges: 2, ..Report::default() });
    assert_eq!(edges(&graph), [["a", "r", "b c"], ["a", "r", "d"]]);
    let text = "subject,predicate,object\nhead,relation,tail\n";
    let (graph, _) = read(text.as_bytes(), Format::Csv, &Options::default()).unwrap();
    assert_eq!(edges(&graph), [["head", "relation", "tail"]]);
    assert_eq!(read(b"", Format::Tsv, &Options::default()).unwrap().1, Report::default());
}

#[test]
fn malformed_lines_are_pointed_at() {
    let place = |text: &[u8], format| {
        let (line, column, message) = malformed(text, format);
        assert!(message.contains("--skip-bad"), "{message}");
        (line, column)
    };
    assert_eq!(place(b"a\tr\tb\na\tr\n", Format::Tsv), (2, 4));
    assert_eq!(place("ä\tö\tü\tx\n".as_bytes(), Format::Tsv), (1, 7));
    assert_eq!(place(b"a\t\tb", Format::Tsv), (1, 3));
    assert_eq!(place(b"a\tr\tb\n\xC3\xA4\t\xFF\tb", Format::Tsv), (2, 3));
    assert_eq!(place(b"a,r,b\n\na,\"r,b\nc,r,d", Format::Csv), (3, 3));
    assert_eq!(place(b"a,\"r\ns\"t,b", Format::Csv), (2, 3));
    assert_eq!(place(b"a,r,b,c", Format::Csv), (1, 7));
    let error = read(b"a\tr\tb\na\tr\n", Format::Tsv, &Options::default()).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in:2:4: 2 of the 3 fields head, relation, tail \
         (fix it, or pass over such lines with --skip-bad)"
    );
}

#[test]
fn bad_lines_can_be_skipped_and_are_counted() {
    let text = b"a\tr\tb\nbad\nc\t\xFF\td\n\tr\tb\ne\tr\tf\n";
    let (graph, report) = read(text, Format::Tsv, &lenient()).unwrap();
    assert_eq!(edges(&graph), [["a", "r", "b"], ["e", "r", "f"]]);
    assert_eq!((report.edges, report.bad_lines), (2, 3));
    assert!(report.first_bad.unwrap().starts_with("in:2:4: 1 of the 3 fields"));
}

#[test]
fn csv_records_may_be_several_lines_but_an_open_quote_spoils_one_only() {
    let text = "\"a\nb\",r,\"x,\"\"y\"\"\"\r\nc,r,d\n";
    let (graph, _) = read(text.as_bytes(), Format::Csv, &Options::default()).unwrap();
    assert_eq!(edges(&graph), [["a\nb", "r", "x,\"y\""], ["c", "r", "d"]]);
    let text = format!("a,r,\"b\n{}", "c,r,d\n".repeat(300));
    let (graph, report) = read(text.as_bytes(), Format::Csv, &lenient()).unwrap();
    assert_eq!(edges(&graph), [["c", "r", "d"]]);
    assert_eq!((report.edges, report.bad_lines), (300, 1));
}

/// A reader that gives the same byte for ever, or some times.
struct Same(u8, u64);

impl Read for Same {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = to.len().min(self.1 as usize);
        to[..count].fill(self.0);
        self.1 -= count as u64;
        Ok(count)
    }
}

#[test]
fn an_endless_line_is_an_error_in_every_format() {
    for format in Format::ALL {
        for byte in [b'a', b' ', b'<', b'[', b'"', b'{', b'_', b'#', b'.', b'\n'] {
            let mut options = Options::default();
            options.limits.growth.total = 2 << 20;
            options.limits.statement = 1 << 20;
            let mut builder = GraphBuilder::default();
            let mut reader = Same(byte, u64::MAX);
            let compression = Compression::None;
            let path = Path::new("in");
            let source = Source { reader: &mut reader, path, format, compression };
            let report = read_from(&mut builder, source, Split::Train, &options, &mut |_| ());
            assert!(report.is_err(), "{format} {}", byte as char);
        }
    }
    let mut long = b"a\tr\tb\n".to_vec();
    long.resize(3 << 20, b'x');
    long.extend(b"\nc\tr\td\n");
    let (line, column, message) = malformed(&long, Format::Tsv);
    assert_eq!((line, column), (2, 1));
    assert!(message.starts_with("the line is longer than 1 MiB"), "{message}");
    let report = read(&long, Format::Tsv, &lenient()).unwrap().1;
    assert_eq!((report.edges, report.bad_lines), (2, 1));
    let name = format!("a\tr\tb\na\t{}\tb\n", "x".repeat((64 << 10) + 1));
    assert_eq!(malformed(name.as_bytes(), Format::Tsv).1, 3);
    let name = format!("<a:b> <a:r> <a:{}> .\n", "x".repeat(64 << 10));
    assert_eq!(malformed(name.as_bytes(), Format::NTriples).0, 1);
    let error = refused(name.as_bytes(), Format::Turtle, &Options::default());
    assert!(error.contains("a name is longer than 64 KiB"), "{error}");
}

#[test]
fn what_unpacks_to_far_more_than_it_is_gets_refused() {
    let mut options = lenient();
    options.limits.growth.unratioed = 8 << 20;
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::best());
    io::copy(&mut Same(b' ', 32 << 20), &mut encoder).unwrap();
    let bomb = encoder.finish().unwrap();
    let zst = zstd::encode_all(Same(b' ', 32 << 20), 1).unwrap();
    for (bytes, compression) in [(bomb, Compression::Gzip), (zst, Compression::Zstd)] {
        let error = read_packed(&bytes, Format::Tsv, compression, &options).map(drop).unwrap_err();
        let says = "unpacks to more than 1000 times its size, the limit beyond 8 MiB";
        assert!(error.to_string().contains(says), "{error}");
    }
    options.limits.growth.total = 5;
    let error = refused(b"a\tb\tc\n", Format::Tsv, &options);
    assert_eq!(error, "in: holds more than the limit of 5 bytes (split the file)");
}

const TURTLE: &str = r#"@prefix ex: <http://ex.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:borders rdfs:label "grenzt an"@de, "borders"@en .
ex:unused rdfs:label "unused" .
ex:France ex:borders ex:Spain ; rdfs:label "France" ; ex:people 68 .
ex:Spain a ex:Country ; ex:capital [ ex:in _:x ] .
"#;

const XML: &str = r#"<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY ex "http://ex.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="http://ex.org/">
  <rdf:Description rdf:about="http://ex.org/France">
    <ex:borders rdf:resource="&ex;Spain"/>
    <ex:people>68</ex:people>
  </rdf:Description>
</rdf:RDF>
"#;

const JSON: &str = r#"{
  "@context": {"ex": "http://ex.org/", "label": "http://www.w3.org/2000/01/rdf-schema#label"},
  "@id": "ex:France",
  "label": "France",
  "ex:people": 68,
  "ex:borders": {"@id": "ex:Spain"}
}
"#;

const NQUADS: &str = "<http://ex.org/France> <http://ex.org/borders> <http://ex.org/Spain> \
                      <http://ex.org/g> .\n";

const TRIG: &str = "PREFIX ex: <http://ex.org/>\nex:g { ex:France ex:borders ex:Spain }\n";

#[test]
fn turtle_gives_edges_labels_and_prefixes() {
    let (graph, report) = read(TURTLE.as_bytes(), Format::Turtle, &Options::default()).unwrap();
    let ex = |name: &str| format!("http://ex.org/{name}");
    let type_of = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type".to_owned();
    assert_eq!(
        edges(&graph),
        [
            ["_:f0-1".into(), ex("in"), "_:f0.x".into()],
            [ex("France"), ex("borders"), ex("Spain")],
            [ex("Spain"), ex("capital"), "_:f0-1".into()],
            [ex("Spain"), type_of, ex("Country")],
        ]
    );
    let counts = (report.literals_skipped, report.labels, report.labels_unused);
    assert_eq!(counts, (1, 2, 1));
    let relations = graph.relations().unwrap();
    let borders = graph.relation("ex:borders").unwrap();
    assert_eq!(relations.label(borders.0), Some("borders"));
    assert_eq!(graph.entity("France").unwrap(), graph.entity("ex:France").unwrap());
    assert!(graph.relation("rdf:type").is_ok());
    assert!(graph.entity("ex:unused").is_err());
}

#[test]
fn every_notation_of_rdf_gives_the_same_edge() {
    let triple = NQUADS.replace(" <http://ex.org/g>", "");
    for (format, text) in [
        (Format::NTriples, &triple[..]),
        (Format::NQuads, NQUADS),
        (Format::TriG, TRIG),
        (Format::RdfXml, XML),
        (Format::JsonLd, JSON),
    ] {
        let (graph, report) = read(text.as_bytes(), format, &Options::default()).unwrap();
        let expected = ["http://ex.org/France", "http://ex.org/borders", "http://ex.org/Spain"];
        assert_eq!(edges(&graph), [expected], "{format}");
        let literals = u64::from(matches!(format, Format::RdfXml | Format::JsonLd));
        assert_eq!((report.edges, report.literals_skipped), (1, literals), "{format}");
    }
}

#[test]
fn literals_can_be_kept_as_entities() {
    let options = Options { literals: true, ..Options::default() };
    let (graph, report) = read(TURTLE.as_bytes(), Format::Turtle, &options).unwrap();
    assert_eq!((report.edges, report.literals_skipped), (5, 0));
    let number = "\"68\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    let entity = graph.entities().unwrap().with_name(number).unwrap();
    assert_eq!(graph.entities().unwrap().label(entity), Some("68"));
}

#[test]
fn blank_nodes_of_two_files_differ_and_do_not_depend_on_chance() {
    let graph = || {
        let mut builder = GraphBuilder::default();
        for text in ["_:x <r:r> [] .", "_:x <r:r> _:x ."] {
            let mut bytes = text.as_bytes();
            let (format, compression) = (Format::Turtle, Compression::None);
            let source = Source { reader: &mut bytes, path: Path::new("in"), format, compression };
            let options = Options::default();
            read_from(&mut builder, source, Split::Train, &options, &mut |_| ()).unwrap();
        }
        builder.finish().unwrap().0
    };
    let expected = [["_:f0.x", "r:r", "_:f0-1"], ["_:f2.x", "r:r", "_:f2.x"]];
    assert_eq!(edges(&graph()), expected);
    assert_eq!(graph().fingerprint(), graph().fingerprint());
}

#[test]
fn malformed_rdf_is_pointed_at() {
    let place = |text: &str, format| {
        let (line, column, _) = malformed(text.as_bytes(), format);
        (line, column)
    };
    assert_eq!(place("<a:b> <a:c> <a:d> .\n<a:b> <a:c> é .\n", Format::NTriples), (2, 13));
    assert_eq!(place("<a:b> <a:c> <a:d> .\n<a:b> <a:c> .\n", Format::Turtle), (2, 13));
    assert_eq!(place("{\n  \"@id\": nul }", Format::JsonLd).0, 2);
    assert_eq!(place(&XML.replace("</ex:people>", "</ex:x>"), Format::RdfXml).0, 6);
    assert_eq!(place(&XML.replace("http://ex.org/France", "no IRI"), Format::RdfXml).0, 4);
}

#[test]
fn bad_statements_can_be_skipped() {
    let text = "<a:b> <a:c> <a:d> .\n<a:b> <a:c> .\nnonsense\n\n# ok\n<a:e> <a:c> <a:f> .";
    for format in [Format::NTriples, Format::NQuads, Format::Turtle] {
        let (_, report) = read(text.as_bytes(), format, &lenient()).unwrap();
        assert!(report.edges >= 1 && report.bad_lines >= 1, "{format} {report:?}");
        assert!(report.first_bad.unwrap().starts_with("in:2:13"), "{format}");
    }
    let (_, report) = read(text.as_bytes(), Format::NTriples, &lenient()).unwrap();
    assert_eq!((report.edges, report.bad_lines), (2, 2));
    let wrong = XML.replace("</ex:people>", "</ex:x>");
    let (_, report) = read(wrong.as_bytes(), Format::RdfXml, &lenient()).unwrap();
    assert_eq!((report.edges, report.bad_lines), (1, 1));
    // What cannot be resumed must not end quietly.
    let lines = JSON.lines().collect::<Vec<_>>().join(&" ".repeat(100_000));
    let error = refused(lines.replace("68", "6x").as_bytes(), Format::JsonLd, &lenient());
    assert!(error.contains("nothing after this can be read"), "{error}");
}

#[test]
fn json_ld_never_fetches_a_context() {
    let text = r#"{"@context": "https://schema.org/", "@id": "a:b", "name": {"@id": "a:c"}}"#;
    let error = refused(text.as_bytes(), Format::JsonLd, &Options::default());
    assert!(error.contains("context"), "{error}");
}

const DEEP: usize = 100_000;

#[test]
fn deep_turtle_is_read() {
    let lists = format!("<a:b> <a:r> {} 1 {} .", "( ".repeat(DEEP), " )".repeat(DEEP));
    let (_, report) = read(lists.as_bytes(), Format::Turtle, &Options::default()).unwrap();
    assert_eq!(report.edges as usize, 2 * DEEP);
    for text in ["[ <a:r> ", "( "] {
        let text = format!("<a:b> <a:r> {}", text.repeat(DEEP));
        let (line, _, message) = malformed(text.as_bytes(), Format::Turtle);
        assert_eq!((line, message.starts_with("Unexpected end")), (1, true), "{message}");
    }
}

#[test]
fn deep_json_is_refused() {
    for text in ["[", "{\"@context\":", "{\"a:b\":[", "{\"@context\":["] {
        for depth in [490, DEEP] {
            let error = refused(text.repeat(depth).as_bytes(), Format::JsonLd, &Options::default());
            assert_eq!(error.contains("nested more than 1000 deep"), depth == DEEP, "{error}");
        }
    }
}

#[test]
fn deep_xml_is_read_and_its_end_is_missed() {
    let start = XML.split("  <rdf:Description").next().unwrap();
    let text = start.to_owned() + &"<rdf:Description><ex:in>".repeat(DEEP);
    let whole = text.clone() + &"</ex:in></rdf:Description>".repeat(DEEP) + "</rdf:RDF>";
    let (_, report) = read(whole.as_bytes(), Format::RdfXml, &Options::default()).unwrap();
    assert_eq!(report.edges as usize, DEEP - 1);
    let cut = &text[..start.len() + 24 * 1000];
    let (_, _, message) = malformed(cut.as_bytes(), Format::RdfXml);
    assert!(message.starts_with("the file ends while 2001 tags are open"), "{message}");
}

#[test]
fn xml_entities_cannot_blow_up() {
    let mut doctype = String::from("<!ENTITY a0 \"aaaaaaaaaa\">");
    for at in 1..10 {
        let uses = format!("&a{};", at - 1).repeat(10);
        doctype += &format!("<!ENTITY a{at} \"{uses}\">");
    }
    let text = XML.replace("<!ENTITY ex \"http://ex.org/\">", &doctype);
    let error = refused(text.replace("&ex;", "&a9;").as_bytes(), Format::RdfXml, &lenient());
    assert!(error.contains("declares XML entities by means of others"), "{error}");
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        file(&folder, name, text);
    }
    folder
}

fn load_folder(files: &[(&str, &str)]) -> Result<(Graph, Report, usize)> {
    let folder = folder(files);
    let mut builder = GraphBuilder::default();
    let report = load_kgreasoning(&mut builder, folder.path(), &Options::default(), &mut |_| ())?;
    let (graph, counted) = builder.finish()?;
    Ok((graph, report, counted.duplicates))
}

const STATS: (&str, &str) = ("stats.txt", "numentity: 4\nnumrelations: 4");
const TRAIN: (&str, &str) = ("train.txt", "3\t2\t1\n1\t3\t3\n0\t1\t2\n2\t0\t0\n1\t0\t1\n1\t1\t1\n");

#[test]
fn a_kgreasoning_folder_keeps_its_numbers() {
    let valid = ("valid.txt", "1\t3\t0\n");
    let (graph, report, duplicates) = load_folder(&[STATS, TRAIN, valid]).unwrap();
    assert_eq!((report.edges, duplicates), (4, 0));
    assert_eq!((graph.entity_count(), graph.relation_count()), (4, 4));
    assert_eq!(graph.edges_added_by(Split::Valid), 1);
    assert_eq!(edges(&graph), [["0", "2", "1"], ["1", "0", "1"], ["2", "0", "0"], ["3", "2", "1"]]);
    assert_eq!(graph.relations().unwrap().name(3), "3");
    assert!(is_kgreasoning(folder(&[STATS, TRAIN]).path()));
    assert!(!is_kgreasoning(folder(&[STATS]).path()));
}

#[test]
fn a_kgreasoning_folder_may_name_its_numbers() {
    let entities = ("entities.tsv", "1\tbee\tA bee\n0\tant\n2\tbee\n");
    let relations = ("relations.tsv", "0\teats\n1\teaten_by\n2\tnear\tclose to\n");
    let (graph, report, _) = load_folder(&[STATS, TRAIN, entities, relations]).unwrap();
    let names = |vocab: skolem_kg::Vocab<'_>| {
        (0..vocab.len() as u32).map(|at| vocab.name(at).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(graph.entities().unwrap()), ["ant", "bee", "bee#2", "3"]);
    assert_eq!(names(graph.relations().unwrap()), ["eats", "eaten_by", "near", "^near"]);
    assert_eq!(graph.entities().unwrap().label(1), Some("A bee"));
    assert_eq!(report.labels, 2);
}

#[test]
fn a_wrong_kgreasoning_folder_says_what_is_wrong() {
    let fails = |files: &[(&str, &str)], says: &str| {
        let error = load_folder(files).map(drop).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    };
    fails(&[TRAIN], "stats.txt: No such file");
    fails(&[STATS], "train.txt: No such file");
    fails(&[("stats.txt", "numentity: 4"), TRAIN], "has no line 'numrelations: <number>'");
    fails(&[("stats.txt", "numentity: x\nnumrelations: 4"), TRAIN], "is no number up to");
    fails(&[("stats.txt", "numentity: 4\nnumrelations: 3"), TRAIN], "is odd");
    fails(&[STATS, ("train.txt", "0\t0\t1\n0\t4\t1\n")], "train.txt:2:3: 4 is not a relation's");
    fails(
        &[STATS, ("train.txt", "0\t0\t4\n")],
        "train.txt:1:5: 4 is not an entity's number below 4",
    );
    fails(&[STATS, ("train.txt", "0\tx\t1\n")], "train.txt:1:3: 'x' is not a relation's number");
    fails(&[STATS, ("train.txt", "0\t0\n")], "train.txt:1:4: '' is not an entity's number");
    fails(&[STATS, ("train.txt", "0\t0\t1\t7\n")], "train.txt:1:7: more than head");
    fails(&[STATS, TRAIN, ("entities.tsv", "0\ta\n4\tb\n")], "entities.tsv:2:1: 4 is not");
    fails(&[STATS, TRAIN, ("entities.tsv", "0\ta\n0\tb\n")], "number 0 has a name already");
    fails(&[STATS, TRAIN, ("entities.tsv", "0\n")], "entities.tsv:1:2: the name is missing");
    let mut builder = GraphBuilder::default();
    builder.entity("x").unwrap();
    let folder = folder(&[STATS, TRAIN]);
    let again = load_kgreasoning(&mut builder, folder.path(), &Options::default(), &mut |_| ());
    assert!(again.unwrap_err().to_string().contains("first and only thing imported"));
}

/// How often each valid input is damaged at random; set `SKOLEM_CASES` for a longer run.
fn mutations() -> usize {
    let set = std::env::var("SKOLEM_CASES").ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(2000)
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const LIKELY: &[u8] = b"\n\r\t,\"'<>[](){}@^.;:_#& \\\xFF\x00";
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        match rng.below(6) {
            0 => bytes.truncate(at.max(4)),
            1 => bytes.insert(at, *rng.pick(LIKELY).unwrap()),
            2 if at < bytes.len() => bytes[at] = rng.next() as u8,
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            _ => {
                let end = (at + rng.below(20)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
        }
    }
}

#[test]
fn damaged_input_never_panics() {
    let triples = format!("{NQUADS}_:b0 <http://ex.org/r> \"a\\n\"@en .\n");
    let triples = triples.replace(" <http://ex.org/g>", "");
    let csv = "head,relation,tail\n\"a\nb\",r,\"x,\"\"y\"\"\"\r\nc,r,d\n";
    let plain = [
        (Format::Tsv, NATO),
        (Format::Csv, csv),
        (Format::NTriples, &triples),
        (Format::NQuads, NQUADS),
        (Format::Turtle, TURTLE),
        (Format::TriG, TRIG),
        (Format::RdfXml, XML),
        (Format::JsonLd, JSON),
    ];
    let many: String = (0..200).map(|at| format!("e{at}\tr\te{}\n", at * 7 % 51)).collect();
    let zst = zstd::encode_all(many.as_bytes(), 1).unwrap();
    let mut inputs: Vec<(Format, Compression, Vec<u8>)> =
        plain.map(|(format, text)| (format, Compression::None, text.as_bytes().to_vec())).to_vec();
    inputs.push((Format::Tsv, Compression::Gzip, gzip(many.as_bytes())));
    inputs.push((Format::Tsv, Compression::Zstd, zst));
    for (part, (format, compression, bytes)) in inputs.iter().enumerate() {
        for step in 0..mutations() {
            let mut rng = Rng::stream(11, part as u64, step as u64);
            let mut damaged = bytes.clone();
            mutate(&mut rng, &mut damaged);
            let options =
                Options { skip_bad: step % 2 == 0, literals: step % 3 == 0, ..Options::default() };
            let run = || read_packed(&damaged, *format, *compression, &options).map(drop);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            assert!(outcome.is_ok(), "{format} {compression:?} step {step}: {damaged:?}");
        }
    }
}

#[test]
fn damaged_folders_never_panic() {
    let files = [
        ("stats.txt", "numentity: 3\nnumrelations: 4\n"),
        ("train.txt", "0\t0\t1\n1\t1\t0\n1\t2\t2\n2\t3\t1\n"),
        ("valid.txt", "0\t2\t2\n"),
        ("entities.tsv", "0\ta\tA\n1\tb\n2\tc\n"),
        ("relations.tsv", "0\tr\n1\tr_reverse\n2\ts\n"),
    ];
    let folder = folder(&files);
    let mut loaded = 0;
    // Writing files is slow: a hundredth of the cases that readers in memory get, and some more.
    let cases = mutations() / 100 + 500;
    for step in 0..cases {
        let mut rng = Rng::stream(12, 0, step as u64);
        let (name, text) = files[rng.below(files.len())];
        let mut damaged = text.as_bytes().to_vec();
        mutate(&mut rng, &mut damaged);
        std::fs::write(folder.path().join(name), &damaged).unwrap();
        let options = Options { skip_bad: step % 2 == 0, ..Options::default() };
        let mut builder = GraphBuilder::default();
        let run = || load_kgreasoning(&mut builder, folder.path(), &options, &mut |_| ());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let outcome = outcome.unwrap_or_else(|_| panic!("{name} step {step}: {damaged:?}"));
        if outcome.is_ok() {
            builder.finish().unwrap().0.verify().unwrap();
            loaded += 1;
        }
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    assert!(loaded > cases / 20 && loaded < cases, "{loaded} of {cases} loaded");
}
