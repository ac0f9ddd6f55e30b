//! Reports of findings that nobody measured: what is in them is all there, and does no harm.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use skolem::config::Config;
use skolem::evaluate::Figures;
use skolem::report::findings::{
    Cardinality, Correlation, Data, Findings, Measured, Point, Progress, Queries, Training,
    Uncertainty,
};
use skolem::report::{Machine, compare, html, markdown, models, paper, write};
use skolem::train::run::Limit;

const NAME: &str = "FB15k-237 <b>&\"'|_";

/// Figures that are a little off the paper's, for a model of its tables.
fn findings(label: &str, shift: f64) -> Findings {
    variant(label, label, shift)
}

/// The same of a model that is in the table of variants alone, made up from another one.
fn variant(label: &str, like: &str, shift: f64) -> Findings {
    let printed = |table: &str, model: &str| -> BTreeMap<String, f64> {
        let table = paper::table(table).unwrap();
        let row = table.rows.iter().find(|row| row.data == "FB15k-237" && row.model == model);
        let Some(row) = row else { return BTreeMap::new() };
        let cells = table.columns.iter().zip(&row.figures);
        cells.filter_map(|(name, figure)| Some(((*name).to_owned(), (*figure)?))).collect()
    };
    let (mut shapes, mut de_morgan) = (BTreeMap::new(), BTreeMap::new());
    for (column, figure) in printed("epfo", like).into_iter().chain(printed("negation", like)) {
        let mrr = (figure + shift + (column.len() as f64 - 2.0) * 0.3) / 100.0;
        let of =
            Figures { queries: 5000, mrr, hits1: 0.6 * mrr, hits3: 1.1 * mrr, hits10: 1.6 * mrr };
        match column.strip_suffix("/dm") {
            Some(shape) => de_morgan.insert(shape.to_owned(), of),
            None if column == "avg" => None,
            None => shapes.insert(column, of),
        };
    }
    let height = shapes["1p"].mrr / 2.0;
    let curve = (1..=20).map(|at| {
        let share = 1.0 - (-f64::from(at) * (0.12 + shift.abs() / 20.0)).exp();
        let wave = 0.004 * f64::from(at * 7 % 5) / f64::from(at);
        Progress {
            seconds: 90.0 * f64::from(at),
            update: 1500 * at as u64,
            epfo: Some(height * share + wave),
            negation: printed("negation", label)
                .contains_key("2in")
                .then_some(0.054 * share + wave / 3.0),
        }
    });
    let mut uncertainty = Vec::new();
    let mut cardinality = Vec::new();
    for measure in ["entropy", "interval", "size"] {
        let spearman = printed("spearman", &format!("{label}:{measure}"));
        if spearman.is_empty() {
            continue;
        }
        let pearson = printed("pearson", &format!("{label}:{measure}"));
        let shapes: BTreeMap<String, Correlation> = spearman
            .into_iter()
            .filter(|(shape, _)| shape != "avg")
            .map(|(shape, of)| {
                let pearson = pearson.get(&shape).copied();
                (shape, Correlation { spearman: Some(of - 0.02), pearson })
            })
            .collect();
        let names: Vec<_> = shapes.keys().cloned().collect();
        let point = |at: usize| {
            let answers = 1 + (at * at * 37) % (1 + at % 11 * at);
            let noise = (at * 7919 % 101) as f64 / 101.0;
            let value = -300.0 + 40.0 * (answers as f64).ln() + 90.0 * noise;
            Point { shape: names[at % names.len()].clone(), answers, value }
        };
        let points = (0..500).map(point).collect();
        uncertainty.push(Uncertainty { measure: measure.into(), shapes, points });
        let errors = printed("cardinality", &format!("{label}:{measure}")).into_iter();
        let shapes: BTreeMap<_, _> = errors
            .filter(|(shape, _)| shape != "avg")
            .map(|(shape, of)| (shape, of / 100.0 + 0.03))
            .collect();
        if !shapes.is_empty() {
            cardinality.push(Cardinality { measure: measure.into(), shapes });
        }
    }
    let trained =
        shapes.iter().filter(|(shape, _)| !["pi", "ip", "2u", "up"].contains(&&shape[..]));
    let valid = trained.map(|(shape, of)| (shape.clone(), of.mrr - 0.003)).collect();
    let settings: Vec<_> =
        models::find(label).unwrap().settings.iter().map(|pair| pair.to_string()).collect();
    let settings = Config::layered(None, &settings).unwrap();
    Findings {
        label: label.into(),
        kind: settings.model.name().into(),
        settings: settings.to_toml().unwrap(),
        seed: 7,
        data: Data {
            name: NAME.into(),
            fingerprint: "0123456789abcdef".into(),
            entities: 14_505,
            relations: 237,
            edges: [272_115, 17_526, 20_438],
        },
        training: Training {
            limit: Some(Limit::Seconds(1800.0)),
            seconds: 1800.4,
            updates: 30_211,
            curve: curve.collect(),
            valid,
        },
        test: Measured {
            queries: Queries {
                file: Some("betae.test.jsonl.gz".into()),
                most: None,
                count: 87_804,
                fingerprint: "00ff".into(),
            },
            shapes,
        },
        de_morgan,
        uncertainty,
        cardinality,
        machine: Machine {
            processor: "Quick <Processor> 9".into(),
            instructions: "avx512".into(),
            cores: 2,
            threads: 2,
            memory: Some(24 << 30),
            system: "Debian 12".into(),
            skolem: "0.1.0".into(),
        },
        command: "skolem reproduce FB15k-237 --time 30m --out report".into(),
        ..Findings::default()
    }
}

fn all() -> Vec<Findings> {
    [
        ("logic-point", 0.8),
        ("logic-bounds", -0.4),
        ("beta", -0.9),
        ("query2box", 0.2),
        ("gqe", -0.6),
    ]
    .map(|(label, shift)| findings(label, shift))
    .into()
}

/// Every element is closed in its order, and every attribute is in quotes.
fn check_well_formed(text: &str) {
    let body = text.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open = Vec::new();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        assert!(!tag.contains('<'), "{tag}");
        let name = tag
            .split(|sign: char| sign.is_whitespace() || sign == '/')
            .find(|name| !name.is_empty())
            .unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed by </{name}>");
            continue;
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        assert_eq!(
            tag.matches('=').count(),
            tag.matches("=\"").count() + usize::from(tag.contains("initial-scale")) * 2,
            "{tag}"
        );
        if !tag.ends_with('/') {
            open.push(name);
        }
        if name == "style" {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The text of a page without its tags.
fn words(html: &str) -> String {
    let after = html.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text));
    after.collect::<Vec<_>>().join(" ")
}

#[test]
fn pages_hold_every_figure() {
    let all = all();
    let pages = [words(&html(&all)), markdown(&all)];
    // To be looked at.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("report.html"), html(&all)).unwrap();
    std::fs::write(folder.join("report.md"), markdown(&all)).unwrap();
    for page in &pages {
        for table in compare::tables(&all) {
            for row in &table.rows {
                let sides = [&row.ours, &row.paper];
                for figure in sides.into_iter().flatten().flatten() {
                    assert!(page.contains(&table.figure(*figure)), "{} {}", table.title, row.name);
                }
            }
        }
        for found in &all {
            for of in found.test.shapes.values() {
                let share = format!("{:.1}", 100.0 * of.hits10);
                assert!(page.contains(&share), "{share}");
            }
        }
        for text in [
            "87,804",
            "betae.test.jsonl.gz",
            "30 min",
            "24.0 GiB",
            "30,211",
            "0123456789abcdef",
            "seed",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }
}

#[test]
fn pages_are_well_formed_and_names_do_no_harm() {
    for all in [Vec::new(), all(), all()[3..4].to_vec()] {
        let page = html(&all);
        check_well_formed(&page);
        assert!(!page.contains("<b>&\"") && !page.contains("<Processor>"));
        for reference in ["http:", "https:", "url(", "<script", "@import", "src="] {
            assert!(!page.contains(reference), "{reference}");
        }
    }
    let page = html(&all());
    assert!(page.contains("FB15k-237 &lt;b&gt;&amp;&quot;&#39;|_"), "the name");
    assert!(markdown(&all()).contains("FB15k-237 &lt;b>&amp;\"'\\|\\_"), "the name");
}

#[test]
fn differences_are_of_what_is_shown() {
    let tables = compare::tables(&all());
    let epfo = &tables[0];
    assert_eq!(epfo.columns.join(" "), "1p 2p 3p 2i 3i pi ip 2u 2u DM up up DM avg");
    let point = &epfo.rows[0];
    assert_eq!(point.name, "LogicE");
    // 41.3 + 0.8, and the average of nine shapes that are all 0.8 more.
    assert_eq!(epfo.figure(point.ours.as_ref().unwrap()[0]), "42.1");
    assert_eq!(epfo.figure(point.difference(0)), "0.8");
    assert_eq!(epfo.figure(point.ours.as_ref().unwrap()[11]), "23.0");
    let order = epfo.order().unwrap();
    assert_eq!(order.ours, "LogicE > LogicE + bounds > Query2Box > BetaE > GQE");
    assert_eq!(order.paper, "LogicE > LogicE + bounds > BetaE > Query2Box > GQE");
    assert_eq!(order.by_average, (9, 10));
    assert!(order.sentence().contains("; in the paper: "));
    let cardinality = tables.iter().find(|table| table.key == "cardinality").unwrap();
    assert!(cardinality.order().unwrap().paper.starts_with("LogicE + bounds, entropy > BetaE"));
}

#[test]
fn variants_have_a_table() {
    let labels = models::MODELS.map(|entry| entry.label);
    let like = |label: &str| {
        ["logic-bounds", "logic-point"].into_iter().find(|like| label.starts_with(like))
    };
    let each = labels.iter().enumerate().filter_map(|(at, label)| Some((at, *label, like(label)?)));
    let all: Vec<_> =
        each.map(|(at, label, like)| variant(label, like, at as f64 / 10.0)).collect();
    let tables = compare::tables(&all);
    let of = tables.iter().find(|table| table.key == "ablation").unwrap();
    assert_eq!(of.columns.join(" "), "i n p all");
    // The paper's models that were not made here are left out.
    assert_eq!(of.rows.len(), all.len());
    let prod =
        of.rows.iter().find(|row| row.name == "LogicE + bounds (prod, no attention)").unwrap();
    assert_eq!(prod.paper, Some(vec![Some(12.9), Some(5.3), Some(11.9), Some(14.3)]));
    let order = of.order().unwrap();
    assert_eq!(order.by_average.1, 36);
    assert!(order.sentence().starts_with("By the average "), "{}", order.sentence());
    assert!(prod.ours.as_ref().unwrap().iter().all(Option::is_some));
    let page = html(&all);
    check_well_formed(&page);
    assert!(page.contains("class=\"keys\""));
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("variants.html"), page).unwrap();
}

#[test]
fn what_is_missing_is_said() {
    let all = all();
    let titles = compare::missing(&all).join("; ");
    assert_eq!(titles, "Generalization on Query2Box’s queries; Entailment on Query2Box’s queries");
    // What would mislead if it was not said.
    let page = markdown(&all);
    assert!(page.contains("learnt for 30 min each") && !page.contains("Not all models"));
    let mut mixed = all.clone();
    mixed[1].test.queries.fingerprint = "other".into();
    mixed[1].training.limit = Some(Limit::Updates(7));
    mixed[2].machine.threads = 1;
    let page = markdown(&mixed);
    for said in [
        "learnt for times of their own",
        "tested on the same queries",
        "learnt on the same machine",
    ] {
        assert!(page.contains(said), "{said}");
    }
    // A model of a graph that the paper has not: ours alone.
    let mut other = all[0].clone();
    other.data.entities = 7;
    other.test.shapes.remove("2u");
    let tables = compare::tables(&[other]);
    let names: Vec<_> = tables.iter().map(|table| table.key).collect();
    assert_eq!(names, ["epfo", "negation"]);
    assert!(tables[0].rows[0].paper.is_none() && tables[0].order().is_none());
    assert_eq!(tables[0].rows[0].ours.as_ref().unwrap()[11], None, "no average of eight shapes");
    assert!(tables[1].rows[0].ours.as_ref().unwrap()[5].is_some());
}

#[test]
fn findings_come_back_and_strangers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for found in all().iter().rev() {
        found.write(at).unwrap();
    }
    let labels: Vec<_> =
        Findings::read_all(at).unwrap().into_iter().map(|found| found.label).collect();
    assert_eq!(labels, ["logic-point", "logic-bounds", "beta", "query2box", "gqe"]);
    let page = html(&[Findings::read(at, "gqe").unwrap().unwrap()]);
    assert_eq!(page, html(&all()[4..]));
    assert_eq!(Findings::read(at, "mine").unwrap(), None);
    write(at).unwrap();
    assert!(at.join("report.html").exists() && at.join("report.md").exists());

    let mut other = all()[0].clone();
    (other.label, other.data.name) = ("mine".into(), "another".into());
    other.write(at).unwrap();
    assert!(write(at).unwrap_err().to_string().contains("take one of them away"));
    std::fs::write(Findings::file(at, "mine"), "{}").unwrap();
    assert!(write(at).unwrap_err().to_string().contains("format_version is missing"));
    std::fs::write(Findings::file(at, "mine"), "{\"format_version\": 9}").unwrap();
    assert!(write(at).unwrap_err().to_string().contains("newer version"));
    std::fs::write(Findings::file(at, "mine"), "{\"label\":").unwrap();
    assert!(write(at).unwrap_err().to_string().contains("no findings"));
}
