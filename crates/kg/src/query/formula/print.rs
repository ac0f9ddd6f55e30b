//! Writes first-order logic that means exactly the set: negated variables are quantified inside.

use crate::query::lexer::quote;
use crate::query::text::Style;
use crate::query::{Names, Query, Variables};

/// Writes a query as a formula.
///
/// ```
/// use skolem_kg::query::{formula, names::Numbers, text};
/// let query = text::parse("r4(r0(e1) & !r2(e2))", &Numbers)?;
/// let formula = formula::print(&query, &Numbers, text::Style::Ascii);
/// assert_eq!(formula, "?T : exists ?V. r0(e1, ?V) & !r2(e2, ?V) & r4(?V, ?T)");
/// # Ok::<(), skolem_kg::Error>(())
/// ```
pub fn print(query: &Query, names: &dyn Names, style: Style) -> String {
    let mut printer = Printer { names, style, variables: Variables::default() };
    format!("?T : {}", printer.scope(query, "?T"))
}

struct Printer<'a> {
    names: &'a dyn Names,
    style: Style,
    variables: Variables,
}

impl Printer<'_> {
    /// A formula about a variable, with its own quantifiers in front.
    fn scope(&mut self, query: &Query, variable: &str) -> String {
        let mut bound = Vec::new();
        let mut parts = Vec::new();
        self.conjunction(query, variable, &mut bound, &mut parts);
        let body = parts.join(self.style.and());
        match (bound.is_empty(), self.style) {
            (true, _) => body,
            (false, Style::Ascii) => format!("exists {}. {body}", bound.join(", ")),
            (false, Style::Unicode) => format!("∃{}. {body}", bound.join(",")),
        }
    }

    fn conjunction(
        &mut self,
        query: &Query,
        variable: &str,
        bound: &mut Vec<String>,
        parts: &mut Vec<String>,
    ) {
        match query {
            Query::Anchor(entity) => {
                parts.push(format!("{variable} = {}", quote(&self.names.entity_name(*entity))));
            }
            Query::Follow(relation, inner) => {
                let from = match &**inner {
                    Query::Anchor(entity) => quote(&self.names.entity_name(*entity)),
                    set => {
                        let from = format!("?{}", self.variables.before(set));
                        self.conjunction(set, &from, bound, parts);
                        self.variables.used();
                        bound.push(from.clone());
                        from
                    }
                };
                // An inverse is written as the relation itself, turned.
                let (relation, ends) = match relation.is_inverse() {
                    true => (relation.inverse(), [variable, &from]),
                    false => (*relation, [&from, variable]),
                };
                let name = self.style.relation(relation, self.names);
                parts.push(format!("{name}({}, {})", ends[0], ends[1]));
            }
            Query::And(inner) => {
                inner.iter().for_each(|part| self.conjunction(part, variable, bound, parts));
            }
            Query::Or(inner) => {
                let branch = |part: &Query, printer: &mut Self| {
                    let text = printer.scope(part, variable);
                    if is_atom(part) { text } else { format!("({text})") }
                };
                let branches: Vec<String> = inner.iter().map(|part| branch(part, self)).collect();
                parts.push(format!("({})", branches.join(self.style.or())));
            }
            Query::Not(inner) => {
                let text = self.scope(inner, variable);
                // `!?T = e` would read as if the variable were negated.
                let bare = is_atom(inner) && !matches!(**inner, Query::Anchor(_));
                let text = if bare { text } else { format!("({text})") };
                parts.push(format!("{}{text}", self.style.not()));
            }
        }
    }
}

/// Whether a query is written as a single atom about the variable.
fn is_atom(query: &Query) -> bool {
    match query {
        Query::Anchor(_) => true,
        Query::Follow(_, inner) => matches!(**inner, Query::Anchor(_)),
        _ => false,
    }
}
