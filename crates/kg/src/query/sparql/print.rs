//! Writes SPARQL: the disjuncts of a query as groups joined by `UNION`.

use super::BASE;
use crate::error::{Error, Result};
use crate::query::{Names, Query, Variables};

/// Writes a query as SPARQL. A set that is only a complement cannot be written: a SPARQL variable
/// must be bound by a triple.
///
/// ```
/// use skolem_kg::query::{names::Numbers, sparql, text};
/// let query = text::parse("r4(r0(e1) & !r2(e2))", &Numbers)?;
/// assert_eq!(
///     sparql::print(&query, &Numbers)?,
///     "SELECT DISTINCT ?T WHERE { :e1 :r0 ?V . FILTER NOT EXISTS { :e2 :r2 ?V . } ?V :r4 ?T . }"
/// );
/// # Ok::<(), skolem_kg::Error>(())
/// ```
pub fn print(query: &Query, names: &dyn Names) -> Result<String> {
    let mut writer = Writer {
        names,
        variables: Variables::default(),
        prefixes: Vec::new(),
        known: names.prefixes(),
    };
    let mut groups = Vec::new();
    for disjunct in query.disjuncts()? {
        if !binds(&disjunct) {
            let what = "a complement by itself in SPARQL".into();
            return Err(Error::Unsupported { what, place: None });
        }
        groups.push(writer.set(&disjunct, "?T"));
    }
    let body = match &groups[..] {
        [only] => only.clone(),
        several => {
            several.iter().map(|group| format!("{{ {group} }}")).collect::<Vec<_>>().join(" UNION ")
        }
    };
    let prefixes: String =
        writer.prefixes.iter().map(|(prefix, iri)| format!("PREFIX {prefix}: <{iri}>\n")).collect();
    Ok(format!("{prefixes}SELECT DISTINCT ?T WHERE {{ {body} }}"))
}

/// Whether the triples of a set bind its variable.
fn binds(query: &Query) -> bool {
    match query {
        Query::And(parts) => parts.iter().any(binds),
        Query::Not(_) => false,
        _ => true,
    }
}

struct Writer<'a> {
    names: &'a dyn Names,
    variables: Variables,
    /// Prefixes in use.
    prefixes: Vec<(String, String)>,
    known: Vec<(String, String)>,
}

impl Writer<'_> {
    /// The patterns of a set without unions, about a variable.
    fn set(&mut self, query: &Query, variable: &str) -> String {
        match query {
            Query::Anchor(entity) => {
                format!("VALUES {variable} {{ {} }}", self.term(&self.names.entity_iri(*entity)))
            }
            Query::Follow(relation, inner) => {
                let (before, from) = match &**inner {
                    Query::Anchor(entity) => {
                        (String::new(), self.term(&self.names.entity_iri(*entity)))
                    }
                    set => {
                        let from = format!("?{}", self.variables.before(set));
                        let before = self.set(set, &from) + " ";
                        self.variables.used();
                        (before, from)
                    }
                };
                let turned = relation.is_inverse();
                let relation = if turned { relation.inverse() } else { *relation };
                let name = self.term(&self.names.relation_iri(relation));
                let [subject, object] = if turned { [variable, &from] } else { [&from, variable] };
                let triple = format!("{subject} {name} {object} .");
                // A filter needs its variable bound by the same group, wherever it stands in it.
                format!("{before}{triple}")
            }
            Query::And(parts) => {
                parts.iter().map(|part| self.set(part, variable)).collect::<Vec<_>>().join(" ")
            }
            Query::Not(inner) => match &**inner {
                Query::Anchor(entity) => {
                    format!("FILTER({variable} != {})", self.term(&self.names.entity_iri(*entity)))
                }
                set => format!("FILTER NOT EXISTS {{ {} }}", self.set(set, variable)),
            },
            // Disjuncts have no unions.
            Query::Or(_) => String::new(),
        }
    }

    /// A name as a term: prefixed where a prefix fits, else an IRI, relative if it is none.
    fn term(&mut self, name: &str) -> String {
        if name.starts_with('"') {
            return name.to_owned();
        }
        let plain = |local: &str| {
            !local.is_empty()
                && local.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
        };
        if is_iri(name) {
            let known = self
                .known
                .iter()
                .find(|(_, iri)| name.strip_prefix(iri.as_str()).is_some_and(plain));
            let Some((prefix, iri)) = known.cloned() else { return format!("<{name}>") };
            let short = format!("{prefix}:{}", &name[iri.len()..]);
            if !self.prefixes.contains(&(prefix.clone(), iri.clone())) {
                self.prefixes.push((prefix, iri));
            }
            return short;
        }
        let own = self.known.iter().any(|(prefix, iri)| prefix.is_empty() && iri != BASE);
        if own {
            return format!("<{BASE}{}>", encode(name));
        }
        // An underscore is read as a space only where nothing has that very name.
        let spaced = name.replace(' ', "_");
        match plain(&spaced) && (spaced == name || !self.names.is_taken(&spaced)) {
            true => format!(":{spaced}"),
            false => format!("<{BASE}{}>", encode(name)),
        }
    }
}

/// Whether a name can stand in angle brackets as it is.
fn is_iri(name: &str) -> bool {
    let scheme = name.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
            && scheme.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign))
    }) && name.contains("://")
        && !name.chars().any(|sign| sign <= ' ' || "<>\"{}|^`\\".contains(sign))
}

/// Everything but letters, digits and a few signs as `%20` and the like.
fn encode(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                text.push(byte as char);
            }
            // Alone, dots would be taken for steps in a path.
            b'.' if !name.starts_with('.') => text.push('.'),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
