//! Reads SPARQL where it can do no harm: bounded in length and nesting, on a stack of its own.

use spargebra::SparqlParser;
use spargebra::algebra::GraphPattern;

use super::BASE;
use super::translate::Translator;
use crate::error::{Error, Place, Result};
use crate::query::formula::{Formula, Strictness, to_query};
use crate::query::{MOST_DEPTH, Names, Notation, Question, check_text, too_deep};

/// The parser recurses without a limit of its own. Nesting is bounded beforehand; should a text
/// hide some, this is enough for every byte of the longest text to be a level.
const STACK: usize = 256 << 20;

/// Reads a SPARQL question.
///
/// ```
/// use skolem_kg::query::{names::Numbers, sparql, text};
/// let question = sparql::parse("SELECT ?t { :e1 :r0/^:r2 ?t FILTER NOT EXISTS { :e2 :r4 ?t } } LIMIT 5", &Numbers)?;
/// assert_eq!(text::print(&question.query, &Numbers, text::Style::Ascii), "^r2(r0(e1)) & !r4(e2)");
/// assert_eq!(question.limit, Some(5));
/// # Ok::<(), skolem_kg::Error>(())
/// ```
pub fn parse(text: &str, names: &dyn Names) -> Result<Question> {
    check_text(text)?;
    check_nesting(text)?;
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().name("sparql".into()).stack_size(STACK);
        let worker = parser.spawn_scoped(scope, || question(text, names));
        let worker = worker.map_err(|error| {
            Error::Setting(format!("no memory to read SPARQL in ({error}); free some"))
        })?;
        worker.join().unwrap_or_else(|_| Err(unsupported("this SPARQL text")))
    })
    .map_err(|error| point(error, text))
}

/// Points an error at the word or variable that it names: the algebra has lost the places.
fn point(error: Error, text: &str) -> Error {
    let Error::Unsupported { what, .. } = &error else { return error.at_its_variable(text) };
    let is_keyword =
        |word: &&str| word.len() > 1 && word.chars().all(|sign| sign.is_ascii_uppercase());
    let Some(keyword) = what.split(' ').find(is_keyword) else { return error };
    // Upper and lower case of ASCII letters have the same length.
    let folded = text.to_ascii_uppercase();
    let found = folded.match_indices(keyword).map(|(at, _)| at).find(|at| {
        let in_word = |sign: char| sign.is_alphanumeric() || "_?$:<".contains(sign);
        let (before, after) = (&folded[..*at], &folded[at + keyword.len()..]);
        !before.ends_with(in_word) && !after.starts_with(in_word)
    });
    match found {
        Some(offset) => error.at(Place::of(text, offset)),
        None => error,
    }
}

fn question(text: &str, names: &dyn Names) -> Result<Question> {
    let mut parser = SparqlParser::new();
    let known = names.prefixes();
    let prefixes = known.iter().map(|(prefix, iri)| (&prefix[..], &iri[..]));
    for (prefix, iri) in std::iter::once(("", BASE)).chain(prefixes) {
        // A prefix that is no IRI cannot be meant by a question either.
        if let Ok(with) = parser.clone().with_prefix(prefix, iri) {
            parser = with;
        }
    }
    let parser = parser.with_base_iri(BASE).map_err(|error| Error::Setting(error.to_string()))?;
    let query = parser.parse_query(text).map_err(|error| syntax(&error.to_string()))?;
    let pattern = match query {
        spargebra::Query::Select { dataset: Some(_), .. } => return Err(unsupported("FROM")),
        spargebra::Query::Select { pattern, .. } => pattern,
        spargebra::Query::Ask { .. } => return Err(unsupported("ASK")),
        spargebra::Query::Construct { .. } => return Err(unsupported("CONSTRUCT")),
        spargebra::Query::Describe { .. } => return Err(unsupported("DESCRIBE")),
    };
    let (pattern, limit) = match pattern {
        GraphPattern::Slice { start: 0, length, inner } => (*inner, length),
        GraphPattern::Slice { .. } => return Err(unsupported("OFFSET")),
        other => (other, None),
    };
    let pattern = match pattern {
        GraphPattern::Distinct { inner } => *inner,
        other => other,
    };
    let (target, pattern) = match pattern {
        GraphPattern::Project { inner, variables } => match &variables[..] {
            [only] => (only.as_str().to_owned(), *inner),
            several => {
                let what = format!("SELECT with {} variables (ask for one)", several.len());
                return Err(unsupported(&what));
            }
        },
        GraphPattern::Reduced { .. } => return Err(unsupported("REDUCED")),
        GraphPattern::OrderBy { .. } => return Err(unsupported("ORDER BY")),
        other => return Err(unsupported(super::translate::name_of(&other))),
    };
    let mut translator = Translator::new(text, names, &pattern);
    let (formula, _) = translator.pattern(&pattern)?;
    let others = formula.free().into_iter().filter(|name| *name != target).collect();
    let formula = Formula::Exists(others, Box::new(formula));
    let query = to_query(&formula, &target, Strictness::Standard)?;
    Ok(Question { query, limit, notation: Notation::Sparql, target: Some(target) })
}

pub(super) fn unsupported(what: &str) -> Error {
    Error::Unsupported { what: what.to_owned(), place: None }
}

/// The parser's message, which starts with `error at 1:23: `.
fn syntax(message: &str) -> Error {
    let place = message.strip_prefix("error at ").and_then(|rest| {
        let (place, what) = rest.split_once(": ")?;
        let (line, column) = place.split_once(':')?;
        let place = Place { line: line.parse().ok()?, column: column.parse().ok()? };
        Some((place, what))
    });
    let (place, what) = place.unwrap_or((Place { line: 1, column: 1 }, message));
    Error::Syntax { place, message: format!("SPARQL: {}", explain(what)) }
}

/// The parser lists everything that could stand at a place, down to single letters; of that, the
/// few words that help.
fn explain(message: &str) -> String {
    if message.contains("IRI parsing failed") {
        return "this is no IRI (a space in a name is written %20, or _ as in :South_Africa)"
            .into();
    }
    let Some(expected) = message.strip_prefix("expected ") else { return message.to_owned() };
    let words: Vec<&str> = expected
        .trim_start_matches("one of ")
        .split(", ")
        .map(|word| word.trim_matches('"'))
        .filter(|word| word.len() > 1 && word.chars().all(|sign| sign.is_ascii_alphabetic()))
        .take(6)
        .collect();
    match words.is_empty() {
        true => "something is missing or wrong here".into(),
        false => format!("something is missing or wrong here (perhaps {})", words.join(", ")),
    }
}

/// Refuses brackets nested too deep, not counting those in strings, IRIs and comments.
fn check_nesting(text: &str) -> Result<()> {
    let mut depth = 0usize;
    let mut rest = text.chars();
    while let Some(sign) = rest.next() {
        match sign {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            '#' => while rest.next().is_some_and(|sign| sign != '\n') {},
            '\\' => drop(rest.next()),
            '"' | '\'' => {
                let mut inside = rest.clone();
                while let Some(next) = inside.next() {
                    match next {
                        '\\' => drop(inside.next()),
                        next if next == sign => {
                            rest = inside;
                            break;
                        }
                        _ => {}
                    }
                }
            }
            '<' => {
                let after = rest.as_str();
                let end = after.find(|sign: char| sign <= ' ' || "<>\"{}|^`\\".contains(sign));
                if let Some(end) = end.filter(|&end| after[end..].starts_with('>')) {
                    rest = after[end + 1..].chars();
                }
            }
            _ => {}
        }
        if depth > MOST_DEPTH {
            return Err(too_deep("the brackets"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::names::Numbers;
    use crate::query::text::{Style, print};

    fn set(pattern: &str) -> String {
        match parse(pattern, &Numbers) {
            Ok(question) => print(&question.query, &Numbers, Style::Ascii),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn patterns_become_sets() {
        for (sparql, expected) in [
            ("SELECT ?t { :e0 :r0 ?t }", "r0(e0)"),
            ("SELECT DISTINCT ?t WHERE { ?t :r0 <e0> . }", "^r0(e0)"),
            ("SELECT ?t { :e0 :r0 ?v . ?v :r2 ?t }", "r2(r0(e0))"),
            ("SELECT * { :e0 :r0/:r2 ?t }", "r2(r0(e0))"),
            ("SELECT ?t { :e0 ^:r0|:r2 ?t }", "^r0(e0) | r2(e0)"),
            ("SELECT ?t { ?t :r0 [ :r2 :e1 ] }", "^r0(^r2(e1))"),
            (
                "SELECT ?t { { :e0 :r0 ?t } UNION { :e1 :r2 ?v . ?v :r0 ?t } }",
                "r0(e0) | r0(r2(e1))",
            ),
            ("SELECT ?t { :e0 :r0 ?t MINUS { :e1 :r2 ?t } }", "r0(e0) & !r2(e1)"),
            (
                "SELECT ?t { :e0 :r0 ?v . ?v :r2 ?t FILTER NOT EXISTS { :e1 :r4/:r6 ?v } }",
                "r2(r0(e0) & !r6(r4(e1)))",
            ),
            ("SELECT ?t { VALUES ?t { :e4 :e5 } :e0 :r0 ?t }", "(e4 | e5) & r0(e0)"),
            ("SELECT ?t { :e0 :r0 ?t FILTER(?t != :e3) }", "r0(e0) & !e3"),
            ("PREFIX x: <skolem:/> SELECT ?t { x:e0 x:r0 ?t }", "r0(e0)"),
        ] {
            assert_eq!(set(sparql), expected, "{sparql}");
        }
    }

    #[test]
    fn the_rest_is_refused_by_name() {
        for (sparql, reason) in [
            ("ASK { :e0 :r0 ?t }", "ASK is not supported"),
            ("CONSTRUCT { :e0 :r0 ?t } WHERE { :e0 :r0 ?t }", "CONSTRUCT"),
            ("DESCRIBE :e0", "DESCRIBE"),
            ("SELECT ?t FROM <g> { :e0 :r0 ?t }", "FROM"),
            (
                "SELECT ?t { :e0 :r0 ?t Optional { ?t :r2 ?x } }",
                "OPTIONAL is not supported at 1:24",
            ),
            ("SELECT ?t { GRAPH <g> { :e0 :r0 ?t } }", "GRAPH"),
            ("SELECT ?t { SERVICE <g> { :e0 :r0 ?t } }", "SERVICE"),
            ("SELECT ?t { :e0 :r0 ?t BIND(1 AS ?x) }", "BIND"),
            ("SELECT ?t { :e0 :r0+ ?t }", "the property path +"),
            ("SELECT ?t { :e0 :r0* ?t }", "the property path *"),
            ("SELECT ?t { :e0 !:r0 ?t }", "the property path !"),
            ("SELECT ?t { :e0 ?p ?t }", "a variable as predicate"),
            ("SELECT ?t { :e0 :r0 ?t } ORDER BY ?t", "ORDER BY"),
            ("SELECT ?t { :e0 :r0 ?t } LIMIT 3 OFFSET 2", "OFFSET"),
            ("SELECT (COUNT(?t) AS ?n) { :e0 :r0 ?t }", "not supported"),
            ("SELECT ?t ?v { :e0 :r0 ?v . ?v :r0 ?t }", "SELECT with 2 variables"),
            ("SELECT ?t { { SELECT ?t { :e0 :r0 ?t } } }", "a subquery"),
            ("SELECT ?t { :e0 :r0 ?t FILTER(?t > 3) }", "FILTER with >"),
            ("SELECT ?t { :e0 :r0 ?t FILTER(regex(?t, \"a\")) }", "FILTER with a function"),
            ("SELECT REDUCED ?t { :e0 :r0 ?t }", "REDUCED"),
            ("SELECT ?t { :e0 :r0 ?v . FILTER NOT EXISTS { ?v :r2 ?t } :e1 :r4 ?t }", "joins"),
            ("SELECT ?t { :e0 :r0 ?t FILTER NOT EXISTS { :e0 :r2 ?x } }", "binds nothing"),
            ("SELECT ?t { :e0 :r0 ?t MINUS { :e0 :r2 ?x } }", "binds nothing"),
            ("SELECT ?t { :e0 :r0 ?v . ?v :r0 ?t . ?v :r2 ?t }", "cycle"),
            ("SELECT ?t { ?t :r0 ?v }", "no anchor"),
            ("SELECT ?t { :e0 :r0 ?t . :e1 :r0 ?v }", "question at 1:34: two sinks"),
            ("SELECT ?t { :e0 :q ?t }", "unknown relation 'q' at 1:18"),
            ("SELECT ?t { :e0 :r0 ", "1:21: SPARQL: something is missing or wrong here"),
        ] {
            assert!(set(sparql).contains(reason), "{sparql}: {}", set(sparql));
        }
    }

    #[test]
    fn nesting_is_bounded_and_never_overflows() {
        for open in ["{", "(", "[ :r0 ", "{{ :e0 :r0 ?t } UNION ", "FILTER NOT EXISTS {", "("] {
            let text = format!("SELECT ?t {{ :e0 :r0 ?t {}", open.repeat(2000));
            assert!(set(&text).contains("exceeds the limit of"), "{open}");
        }
        let quiet = format!("SELECT ?t {{ :e0 :r0 ?t }} # {}", "{".repeat(100));
        assert_eq!(set(&quiet), "r0(e0)");
        for hidden in ["^".repeat(16000), ":r0/".repeat(4000), "!".repeat(16000)] {
            let text = format!("SELECT ?t {{ :e0 {hidden}:r0 ?t }}");
            assert!(parse(&text, &Numbers).is_err());
            let text = format!("SELECT ?t {{ :e0 :r0 ?t FILTER({hidden}?t) }}");
            assert!(parse(&text, &Numbers).is_err());
        }
    }
}
