//! Graphs: importing, looking at and finding in them.

mod support;

use support::{Folder, WORLD, skolem};

const TURTLE: &str = "@prefix : <http://ex/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a :r :b ; rdfs:label \"Alpha\" . :b :r :c . :c rdfs:label \"Alpha\" ; :age 3 .
";

/// The numbers of entities, relations and train edges of a file imported.
fn imported(name: &str, text: &[u8], options: &[&str]) -> [u64; 3] {
    let folder = Folder::new();
    folder.write(name, text);
    let args = [&["import", name, "--out", "x.kg", "--json"], options].concat();
    let done = folder.run(&args).json();
    [&done["entities"], &done["relations"], &done["edges"][0]]
        .map(|n| n.as_u64().expect("a number"))
}

#[test]
fn every_format_is_read() {
    assert_eq!(imported("t.tsv", b"a\tr\tb\nb\tr\tc\na\ts\tc\n", &[]), [3, 2, 3]);
    assert_eq!(imported("t.csv", b"a,r,b\n\"b, x\",r,c\n", &[]), [4, 1, 2]);
    assert_eq!(imported("t.ttl", TURTLE.as_bytes(), &[]), [3, 1, 2]);
    assert_eq!(imported("t.ttl", TURTLE.as_bytes(), &["--literals"]), [4, 2, 3]);
    assert_eq!(imported("t.nt", b"<http://ex/a> <http://ex/r> <http://ex/b> .\n", &[]), [2, 1, 1]);
    let xml =
        br#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">
        <rdf:Description rdf:about="http://ex/a"><e:r rdf:resource="http://ex/b"/></rdf:Description>
        </rdf:RDF>"#;
    assert_eq!(imported("t.rdf", xml, &[]), [2, 1, 1]);
    let json = br#"{"@context": {"r": {"@id": "http://ex/r", "@type": "@id"}},
        "@id": "http://ex/a", "r": "http://ex/b"}"#;
    assert_eq!(imported("t.jsonld", json, &[]), [2, 1, 1]);
    assert_eq!(imported("t.data", b"a\tr\tb\n", &["--format", "tsv"]), [2, 1, 1]);
}

#[test]
fn gzipped_triples_are_read() {
    // `printf 'a\tr\tb\n' | gzip -n`
    let packed = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0xe4, 0x2c, 0xe2, 0x4c, 0xe2, 2, 0, 0x8e, 0xac,
        0x83, 6, 6, 0, 0, 0,
    ];
    assert_eq!(imported("t.tsv.gz", &packed, &[]), [2, 1, 1]);
    let folder = Folder::new();
    folder.write("cut.tsv.gz", &packed[..20]);
    folder.run(&["import", "cut.tsv.gz", "--out", "x.kg"]).fails(4, "cut.tsv.gz: ");
}

#[test]
fn a_kgreasoning_folder_is_read_with_its_splits() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("set")).unwrap();
    folder.write("set/stats.txt", "numentity: 3\nnumrelations: 2\n");
    // As KGReasoning has it, each edge is followed by its inverse.
    folder.write("set/train.txt", "0\t0\t1\n1\t1\t0\n1\t0\t2\n2\t1\t1\n");
    folder.write("set/valid.txt", "0\t0\t2\n2\t1\t0\n");
    folder.write("set/test.txt", "2\t0\t1\n1\t1\t2\n");
    let done = folder.run(&["import", "set", "--out", "set.kg", "--json"]).json();
    assert_eq!((&done["entities"], &done["relations"]), (&3.into(), &1.into()));
    assert_eq!(done["edges"], serde_json::json!([2, 1, 1]));
    folder
        .run(&["import", "set", "--holdout", "0.1,0.1", "--out", "set.kg"])
        .fails(2, "a KGReasoning folder has its own splits");
}

#[test]
fn holding_out_depends_on_the_seed_only() {
    let folder = Folder::new();
    let import = |seed: &str, out: &str, threads: &str| {
        let args = ["--holdout", "0.1,0.1", "--seed", seed, "--out", out, "--threads", threads];
        let done = folder.run(&[&["import", WORLD, "--json"], &args[..]].concat()).json();
        assert_eq!(done["edges"], serde_json::json!([3216, 402, 402]));
        folder.read(out)
    };
    let first = import("7", "a.kg", "1");
    assert!(first == import("7", "b.kg", "2"), "another file from the same seed");
    assert!(first != import("8", "c.kg", "1"), "the same file from another seed");
}

#[test]
fn files_for_valid_and_test_are_kept_apart() {
    let folder = Folder::new();
    folder.write("train.tsv", "a\tr\tb\n");
    folder.write("valid.tsv", "a\tr\tc\n");
    folder.write("test.tsv", "a\tr\td\na\tr\tb\n");
    let args =
        ["import", "train.tsv", "--valid", "valid.tsv", "--test", "test.tsv", "--out", "x.kg"];
    let said = folder.run(&args).done();
    assert!(said.contains("edges: 1 train, 1 valid, 1 test"), "{said}");
    assert!(said.contains("1 edge given more than once, kept once"), "{said}");
    for (split, expected) in [("train", 1), ("valid", 2), ("test", 3)] {
        let reply = folder.run(&["ask", "x.kg", "r(a)", "--split", split, "--json"]).json();
        assert_eq!(reply["count"], expected, "{split}");
    }
}

#[test]
fn malformed_lines_are_named_or_passed_over() {
    let folder = Folder::new();
    folder.write("bad.tsv", "a\tr\tb\na\tr\n");
    folder.run(&["import", "bad.tsv", "--out", "x.kg"]).fails(4, "error: bad.tsv:2:");
    assert!(!folder.path("x.kg").exists());
    let done = folder.run(&["import", "bad.tsv", "--skip-bad", "--out", "x.kg", "--json"]).json();
    assert_eq!((&done["bad_lines"], &done["edges"][0]), (&1.into(), &1.into()));
    assert!(done["first_bad"].as_str().unwrap().starts_with("bad.tsv:2:"));
}

#[test]
fn a_failed_import_leaves_the_old_graph_alone() {
    let folder = Folder::new();
    folder.write("good.tsv", "a\tr\tb\n");
    folder.write("bad.tsv", "a\tr\n");
    folder.run(&["import", "good.tsv", "--out", "x.kg"]).done();
    let before = folder.read("x.kg");
    folder.run(&["import", "bad.tsv", "--out", "x.kg"]).fails(4, "bad.tsv:1:");
    assert!(folder.read("x.kg") == before);
    assert_eq!(folder.files(""), ["bad.tsv", "good.tsv", "x.kg"], "something was left behind");
}

#[test]
fn stats_count_what_is_there() {
    let triples = std::fs::read_to_string(WORLD).unwrap().lines().count();
    let stats = skolem(&["stats", "@world", "--json"]).json();
    assert_eq!(stats["edges"], serde_json::json!([triples, 0, 0]));
    let names = stats["relation_names"].as_array().unwrap();
    assert_eq!(names.len(), stats["relations"].as_u64().unwrap() as usize);
    let borders = names.iter().position(|name| name == "borders").unwrap();
    assert_eq!(stats["per_relation"][borders]["symmetric"], 1.0);

    let folder = Folder::with_world();
    let said = folder.run(&["stats", "world.kg", "--verify"]).done();
    assert!(said.contains("(3,216 train, 402 valid, 402 test)"), "{said}");
}

#[test]
fn names_are_found_also_misspelt() {
    let france = skolem(&["find", "@world", "France", "--json"]).json();
    assert_eq!((&france[0]["name"], &france[0]["exact"]), (&"France".into(), &true.into()));
    let number = format!("#{}", france[0]["number"]);
    assert_eq!(skolem(&["find", "@world", &number, "--json"]).json(), france);

    let near = skolem(&["find", "@world", "frannce", "--json"]).json();
    assert_eq!((&near[0]["name"], &near[0]["exact"]), (&"France".into(), &false.into()));
    let one = skolem(&["find", "@world", "frannce", "--top", "1"]).done();
    assert_eq!(one.lines().count(), 2, "{one}");
    assert!(one.starts_with("nothing is called 'frannce'; the nearest:\n"), "{one}");

    let relation = skolem(&["find", "@world", "--relation", "bordr"]).done();
    assert!(relation.contains(" borders\n"), "{relation}");
    skolem(&["find", "@world", "zzzzzzqq"]).fails_with(3, "error: unknown entity 'zzzzzzqq'");
    skolem(&["find", "@world", "#99999"]).fails(3, "unknown entity '#99999'");
}

#[test]
fn labels_find_all_that_bear_them() {
    let folder = Folder::new();
    folder.write("t.ttl", TURTLE);
    folder.run(&["import", "t.ttl", "--out", "t.kg"]).done();
    let found = folder.run(&["find", "t.kg", "Alpha", "--json"]).json();
    let names: Vec<_> = found.as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["http://ex/a", "http://ex/c"]);
    // In a question a label must mean one thing.
    let asked = folder.run(&["ask", "t.kg", "<http://ex/r>(Alpha)"]);
    asked.fails(3, "'Alpha' at 1:15 is the label of several entities");
}

#[test]
fn the_demo_learns_and_answers() {
    let folder = Folder::new();
    // Two updates teach it nothing; all else is there.
    let said = folder.run(&["demo", "--updates", "2", "--out", "world.model"]).done();
    for part in [
        "857 entities, 16 relations, 4,020 facts",
        "exactly, with all facts: Brasília, Paramaribo, Bern\n",
        "\n2 updates in ",
        "official_language⁻¹(Arabic) ∧ government⁻¹(monarchy)\n",
        "\nOf 850 entities not known to be answers, Bahrain is number ",
        "\nBahrain —official_language→ Arabic: held out from learning, and true.\n",
        "\nThe model is in world.model.\n",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    // The model can be used.
    let sample = ["--split", "test", "--shape", "1p", "--count", "3", "--out", "queries"];
    folder.run(&[&["sample", "world.model/graph.kg"], &sample[..]].concat()).done();
    let eval = ["eval", "world.model", "--queries", "queries/test.skq", "--json"];
    assert_eq!(folder.run(&eval).json()["shapes"]["1p"]["queries"], 3);
    // A folder is used once, and the same is said again, whatever the threads.
    let again = folder.run(&["demo", "--updates", "2", "--out", "world.model"]);
    again.fails(4, "there is a model already");
    let without_time = |said: &str| {
        let lines = said.lines().filter(|line| !line.contains(" updates in "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let third = folder.run(&["demo", "--updates", "2", "--out", "third", "--threads", "3"]).done();
    let third = third.replace("third.", "world.model.");
    assert_eq!(without_time(&third), without_time(&said));
}
