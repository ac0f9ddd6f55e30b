//! Questions: asking them, and writing them in other notations.

mod support;

use support::{Folder, answers, ask, skolem};

/// One question in each notation.
const SAME: [&str; 3] = [
    "capital(borders(France) & !^member_of(EU))",
    "?T : exists ?V. borders(France, ?V) & !member_of(?V, EU) & capital(?V, ?T)",
    "SELECT ?t { :France :borders ?v . ?v :capital ?t MINUS { ?v :member_of :EU } }",
];

#[test]
fn all_notations_give_the_same_answers() {
    for question in SAME {
        let expected = ["Andorra la Vella", "Brasília", "Monaco City", "Paramaribo", "Bern"];
        assert_eq!(answers(question), expected, "{question}");
    }
}

#[test]
fn quotes_hold_names_with_spaces() {
    let expected = ["Botswana", "Eswatini", "Lesotho", "Mozambique", "Namibia", "Zimbabwe"];
    assert_eq!(answers("borders(\"South Africa\")"), expected);
    assert_eq!(answers("?T : borders('South Africa', ?T)"), expected);
    assert_eq!(answers("SELECT ?c { :South_Africa :borders ?c }"), expected);
}

#[test]
fn a_question_can_come_from_standard_input() {
    let folder = Folder::new();
    let said = folder.run_with(&["ask", "@world", "-"], b"borders(Portugal)\n").done();
    assert!(said.starts_with("Spain\n— 1 answer (1p in "), "{said}");
    folder.run_with(&["ask", "@world", "-"], b"").fails(3, "1:1: expected an entity");
    folder.run_with(&["ask", "@world", "-"], b"\xff").fails(4, "standard input: ");
    let long = vec![b'a'; 1 << 20];
    folder.run_with(&["ask", "@world", "-"], &long).fails(3, "exceeds the limit of 16384 bytes");
    let said = folder.run_with(&["query", "@world", "-", "--to", "shape"], b"borders(Spain)");
    assert_eq!(said.done(), "1p\n");
}

#[test]
fn why_shows_edges_that_are_in_the_graph() {
    let said = skolem(&["ask", "@world", "capital(borders(Portugal))", "--why"]).done();
    let expected =
        "Madrid\n    Portugal —borders→ Spain\n    Spain —capital→ Madrid\n— 1 answer (2p";
    assert!(said.starts_with(expected), "{said}");
    // Inverse steps are shown as the edges stand.
    let reply = skolem(&["ask", "@world", "^capital(Madrid)", "--why", "--json"]).json();
    assert_eq!(reply["answers"][0]["why"], serde_json::json!(["Spain —capital→ Madrid"]));
}

#[test]
fn fewer_answers_can_be_shown() {
    let said = skolem(&["ask", "@world", "borders(France)", "--top", "2"]).done();
    assert!(said.starts_with("Andorra\nBelgium\n— 10 answers, 8 more not shown (1p"), "{said}");
    let limited = "SELECT ?c { ?c :member_of :EU } LIMIT 3";
    let reply = skolem(&["ask", "@world", limited, "--json"]).json();
    assert_eq!((&reply["count"], reply["answers"].as_array().unwrap().len()), (&27.into(), 3));
    let all = skolem(&["ask", "@world", "!France", "--top", "0"]).done();
    let some = skolem(&["ask", "@world", "!France"]).done();
    assert_eq!(some.lines().count(), 101);
    assert!(all.lines().count() > 800);
}

#[test]
fn splits_add_edges() {
    let folder = Folder::with_world();
    let count = |split: &str| {
        let question = "^member_of(\"United Nations\")";
        let reply = folder.run(&["ask", "world.kg", question, "--split", split, "--json"]);
        reply.json()["count"].as_u64().unwrap()
    };
    let [train, valid, test] = ["train", "valid", "test"].map(count);
    assert!(train < valid && valid < test, "{train} {valid} {test}");
    assert_eq!(test, 193);
}

#[test]
fn limits_of_time_and_memory_hold() {
    let limited = |option, value| skolem(&["ask", "@world", "borders(France)", option, value]);
    limited("--time", "0ms").fails(5, "the time allowed (allow more with --time)");
    limited("--memory", "0").fails(5, "more than the 0 MiB allowed");
    limited("--time", "soon").fails(2, "'soon' is no time (as in 10s or 2m)");
    limited("--time", "5y").fails(2, "unknown unit 'y' (ms, s, m or h)");
    for time in ["500ms", "10s", "2m", "1h", "7"] {
        limited("--time", time).done();
    }
}

#[test]
fn an_error_shows_its_place() {
    ask("borders(Frannce)").fails_with(
        3,
        "error: unknown entity 'Frannce' at 1:9 (did you mean 'France', 'French', 'Prague'?)
  | borders(Frannce)
  |         ^",
    );
    ask("borders(France").fails_with(
        3,
        "error: 1:15: expected ')', found the end
  | borders(France
  |               ^",
    );
    ask("borders(France)\n\t& ^member_of(EUU)").fails(
        3,
        "
  | \t& ^member_of(EUU)
  | \t             ^\n",
    );
    ask("?T : exists ?V. borders(Frannce, ?V) & capital(?V, ?T)").fails(
        3,
        "'Frannce' at 1:25 (did you mean 'France', 'French', 'Prague'?)
  | ?T : exists ?V. borders(Frannce, ?V) & capital(?V, ?T)
  |                         ^\n",
    );
    ask("SELECT ?c { ?c :member_of :EEU }").fails(3, "unknown entity 'EEU' at 1:28");
    // Far out in a long line, only what is around the place is shown.
    let far = format!("{}borders(Frannce)", " ".repeat(500));
    let shown = format!("\n  | {}borders(Frannce)\n  | {}^\n", " ".repeat(51), " ".repeat(59));
    ask(&far).fails(3, &shown);
}

#[test]
fn wrong_questions_are_refused() {
    for nothing in ["", "   "] {
        ask(nothing).fails(3, "1:1: expected an entity, a relation or '(', found the end");
    }
    ask("bordrs(France)").fails(3, "unknown relation 'bordrs' at 1:1 (did you mean 'borders'");
    ask("borders(South Africa)").fails(3, "a name with spaces needs quotes: \"South Africa\"");
    ask("\"").fails(3, "1:1: a quote without its end");
    ask("?T : borders(France, ?T").fails(3, "1:24: expected ')', found the end");
    ask("?T : borders(France, ?Z)").fails(3, "?Z is neither the target nor quantified");
    ask("?T : exists ?V. borders(?T, ?V) & borders(?V, ?T)").fails(3, "(a cycle)");
    ask("SELECT ?c { ?c :member_of ").fails(3, "error: 1:27: SPARQL: ");
    ask("SELECT ?c ?d { ?c :capital ?d }").fails(3, "SELECT with 2 variables");
    ask("SELECT ?c { ?c :member_of :EU OPTIONAL { ?c :capital ?d } }")
        .fails(3, "error: OPTIONAL is not supported at 1:31");
    ask(&format!("{}France", "!".repeat(5000))).fails(3, "exceeds the limit of 64 levels");
    let deep = format!("{}France{}", "borders(".repeat(1000), ")".repeat(1000));
    ask(&deep).fails(3, "exceeds the limit of 64 levels");
    ask(&" ".repeat(20_000)).fails(3, "a question of 20000 bytes exceeds the limit");
}

#[test]
fn every_form_is_written() {
    let question = "borders(France) & !^member_of(EU) & ^official_language(Spanish | French)";
    let expected = [
        ("set", question),
        ("unicode", "borders(France) ∧ ¬member_of⁻¹(EU) ∧ official_language⁻¹(Spanish ∨ French)"),
        (
            "fol",
            "?T : exists ?V. borders(France, ?T) & !member_of(?T, EU) & (?V = Spanish | ?V = French) \
             & official_language(?T, ?V)",
        ),
        ("shape", "p(e) & p(e | e) & !p(e)"),
        ("canonical", "borders(France) & ^official_language(Spanish | French) & !^member_of(EU)"),
        (
            "dnf",
            "borders(France) & !^member_of(EU) & ^official_language(Spanish)\n\
             borders(France) & !^member_of(EU) & ^official_language(French)",
        ),
        (
            "demorgan",
            "borders(France) & !^member_of(EU) & ^official_language(!(!Spanish & !French))",
        ),
    ];
    for (form, expected) in expected {
        let written = skolem(&["query", "@world", question, "--to", form]).done();
        assert_eq!(written.trim_end(), expected, "{form}");
    }
}

#[test]
fn what_is_written_means_the_same() {
    for question in SAME {
        let expected = answers(question);
        for form in ["set", "unicode", "fol", "sparql", "canonical", "demorgan"] {
            let written = skolem(&["query", "@world", question, "--to", form]).done();
            assert_eq!(answers(written.trim_end()), expected, "{form}: {written}");
        }
    }
}

#[test]
fn forms_are_valid_json() {
    let all = skolem(&["query", "@world", SAME[0], "--json"]).json();
    assert_eq!(all["shape"], "inp");
    assert_eq!(all["set_logic"], SAME[0]);
    assert_eq!(all["first_order"], SAME[1]);
    assert!(all["sparql"].as_str().unwrap().starts_with("SELECT DISTINCT ?T"));
    assert!(all["tuple"][0][0].is_array(), "{all}");
    assert_eq!(
        skolem(&["query", "@world", SAME[0], "--to", "tuple", "--json"]).json(),
        all["tuple"]
    );
    // SPARQL has no complement of everything.
    let complement = skolem(&["query", "@world", "!France", "--json"]).json();
    assert!(complement["sparql"].is_null());
    skolem(&["query", "@world", "!France", "--to", "sparql"]).fails(3, "not supported");
}

#[test]
fn the_papers_table_is_shown() {
    let table = skolem(&["query", "--show"]).done();
    assert_eq!(table.lines().count(), 16, "{table}");
    let all = skolem(&["query", "--show", "--json"]).json();
    assert_eq!(all.as_object().unwrap().len(), 14);
    assert_eq!(all["2in"]["first_order"], "∃T. p(a,T) ∧ ¬q(b,T)");
    assert_eq!(all["2p"]["normal_form"], "p(a,f_p(a)) ∧ q(f_p(a),f_q(f_p(a)))");

    let one = skolem(&["query", "@world", "capital(borders(France))", "--show"]).done();
    assert!(one.ends_with("Skolem set logic    f_capital(f_borders(France))\n"), "{one}");
    skolem(&["query", "@world", "--show"]).fails(2, "a question is missing after the graph");
    skolem(&["query", "--show", "--to", "set"]).fails(2, "cannot be used with");
    skolem(&["query", "@world"]).fails(2, "<QUESTION>");
}
