//! The three forms of the paper's appendix: first-order logic, Skolem normal form, Skolem set logic.
//!
//! These are for reading beside the paper, whose first-order form of `pni` leaves the negated
//! variable quantified outside; [`super::formula::print`] writes what is meant in full.

use super::{Names, Query, Variables};

/// A query as the paper's table of query forms writes it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Forms {
    /// `∃V,T. p(a,V) ∧ q(V,T)`
    pub first_order: String,
    /// `p(a,f_p(a)) ∧ q(f_p(a),f_q(f_p(a)))`
    pub normal_form: String,
    /// `f_q(f_p(a))`
    pub set_logic: String,
}

impl Forms {
    /// All three forms of a query.
    pub fn of(query: &Query, names: &dyn Names) -> Forms {
        let variables = Some(Variables::default());
        let mut first_order = Writer { names, variables, bound: Vec::new() };
        let body = first_order.literals(query, "T");
        let mut bound = first_order.bound;
        bound.push("T".into());
        let mut normal = Writer { names, variables: None, bound: Vec::new() };
        Forms {
            first_order: format!("∃{}. {body}", bound.join(",")),
            normal_form: normal.literals(query, ""),
            set_logic: normal.set(query, ["∧", "∨"]),
        }
    }
}

struct Writer<'a> {
    names: &'a dyn Names,
    /// Names for bound variables; none when sets stand in their place.
    variables: Option<Variables>,
    /// The bound variables so far.
    bound: Vec<String>,
}

impl Writer<'_> {
    /// The literals of a query about a variable or, in normal form, about its own sets.
    fn literals(&mut self, query: &Query, variable: &str) -> String {
        match query {
            Query::Anchor(entity) => {
                let entity = self.names.entity_name(*entity);
                let left = if variable.is_empty() { &entity } else { variable };
                format!("{left}={entity}")
            }
            Query::Follow(..) => self.literal(query, variable, ""),
            Query::Not(inner) => match &**inner {
                Query::Follow(..) => self.literal(inner, variable, "¬"),
                set => format!("¬[{}]", self.literals(set, variable)),
            },
            Query::And(parts) => self.join(parts, variable, " ∧ "),
            Query::Or(parts) => self.join(parts, variable, " ∨ "),
        }
    }

    fn join(&mut self, parts: &[Query], variable: &str, sign: &str) -> String {
        let part = |part: &Query, writer: &mut Self| {
            let text = writer.literals(part, variable);
            // A chain inside a union must not fall apart.
            let chain = sign == " ∨ " && text.contains(" ∧ ");
            if matches!(part, Query::And(_) | Query::Or(_)) || chain {
                format!("[{text}]")
            } else {
                text
            }
        };
        parts.iter().map(|query| part(query, self)).collect::<Vec<_>>().join(sign)
    }

    /// A followed relation: what leads to its source, then the relation itself.
    fn literal(&mut self, query: &Query, variable: &str, sign: &str) -> String {
        let Query::Follow(relation, inner) = query else { return String::new() };
        let name = self.relation(*relation);
        let named = match &mut self.variables {
            Some(variables) if !matches!(**inner, Query::Anchor(_)) => {
                Some(variables.before(inner))
            }
            _ => None,
        };
        let before = match &**inner {
            Query::Anchor(_) => String::new(),
            set => {
                let text = self.literals(set, named.as_deref().unwrap_or(""));
                match set {
                    Query::And(_) | Query::Or(_) => format!("[{text}] ∧ "),
                    _ => format!("{text} ∧ "),
                }
            }
        };
        if let (Some(variables), Some(named)) = (&mut self.variables, &named) {
            variables.used();
            self.bound.push(named.clone());
        }
        let from = named.unwrap_or_else(|| self.set(inner, ["∩", "∪"]));
        let to = match self.variables {
            Some(_) => variable.to_owned(),
            None => self.set(query, ["∩", "∪"]),
        };
        format!("{before}{sign}{name}({from},{to})")
    }

    /// A query as a term of sets.
    fn set(&self, query: &Query, signs: [&str; 2]) -> String {
        let spaced = if signs[0] == "∧" { " " } else { "" };
        let join = |parts: &[Query], sign: &str| {
            let part = |part: &Query| match part {
                Query::And(_) | Query::Or(_) => format!("({})", self.set(part, signs)),
                _ => self.set(part, signs),
            };
            parts.iter().map(part).collect::<Vec<_>>().join(&format!("{spaced}{sign}{spaced}"))
        };
        match query {
            Query::Anchor(entity) => self.names.entity_name(*entity),
            Query::Follow(relation, inner) => {
                format!("f_{}({})", self.relation(*relation), self.set(inner, signs))
            }
            Query::And(parts) => join(parts, signs[0]),
            Query::Or(parts) => join(parts, signs[1]),
            Query::Not(inner) => match **inner {
                Query::And(_) | Query::Or(_) => format!("¬({})", self.set(inner, signs)),
                _ => format!("¬{}", self.set(inner, signs)),
            },
        }
    }

    fn relation(&self, relation: crate::Relation) -> String {
        match relation.is_inverse() {
            true => format!("{}⁻¹", self.names.relation_name(relation.inverse())),
            false => self.names.relation_name(relation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::names::Letters;
    use crate::query::text;

    #[test]
    fn all_forms_as_the_paper_prints_them() {
        for (question, first_order, normal_form, set_logic) in [
            ("p(a)", "∃T. p(a,T)", "p(a,f_p(a))", "f_p(a)"),
            (
                "q(p(a))",
                "∃V,T. p(a,V) ∧ q(V,T)",
                "p(a,f_p(a)) ∧ q(f_p(a),f_q(f_p(a)))",
                "f_q(f_p(a))",
            ),
            (
                "r(q(p(a)))",
                "∃V,W,T. p(a,V) ∧ q(V,W) ∧ r(W,T)",
                "p(a,f_p(a)) ∧ q(f_p(a),f_q(f_p(a))) ∧ r(f_q(f_p(a)),f_r(f_q(f_p(a))))",
                "f_r(f_q(f_p(a)))",
            ),
            ("p(a) & q(b)", "∃T. p(a,T) ∧ q(b,T)", "p(a,f_p(a)) ∧ q(b,f_q(b))", "f_p(a) ∧ f_q(b)"),
            (
                "p(a) & q(b) & !r(c)",
                "∃T. p(a,T) ∧ q(b,T) ∧ ¬r(c,T)",
                "p(a,f_p(a)) ∧ q(b,f_q(b)) ∧ ¬r(c,f_r(c))",
                "f_p(a) ∧ f_q(b) ∧ ¬f_r(c)",
            ),
            (
                "q(p(a)) & !r(b)",
                "∃V,T. p(a,V) ∧ q(V,T) ∧ ¬r(b,T)",
                "p(a,f_p(a)) ∧ q(f_p(a),f_q(f_p(a))) ∧ ¬r(b,f_r(b))",
                "f_q(f_p(a)) ∧ ¬f_r(b)",
            ),
            (
                "p(a) & q(b) & r(c)",
                "∃T. p(a,T) ∧ q(b,T) ∧ r(c,T)",
                "p(a,f_p(a)) ∧ q(b,f_q(b)) ∧ r(c,f_r(c))",
                "f_p(a) ∧ f_q(b) ∧ f_r(c)",
            ),
            (
                "q(p(a)) & r(b)",
                "∃V,T. p(a,V) ∧ q(V,T) ∧ r(b,T)",
                "p(a,f_p(a)) ∧ q(f_p(a),f_q(f_p(a))) ∧ r(b,f_r(b))",
                "f_q(f_p(a)) ∧ f_r(b)",
            ),
            (
                "r(p(a) & q(b))",
                "∃V,T. [p(a,V) ∧ q(b,V)] ∧ r(V,T)",
                "[p(a,f_p(a)) ∧ q(b,f_q(b))] ∧ r(f_p(a)∩f_q(b),f_r(f_p(a)∩f_q(b)))",
                "f_r(f_p(a) ∧ f_q(b))",
            ),
            (
                "p(a) & !q(b)",
                "∃T. p(a,T) ∧ ¬q(b,T)",
                "p(a,f_p(a)) ∧ ¬q(b,f_q(b))",
                "f_p(a) ∧ ¬f_q(b)",
            ),
            (
                "!q(p(a)) & r(b)",
                "∃V,T. p(a,V) ∧ ¬q(V,T) ∧ r(b,T)",
                "p(a,f_p(a)) ∧ ¬q(f_p(a),f_q(f_p(a))) ∧ r(b,f_r(b))",
                "¬f_q(f_p(a)) ∧ f_r(b)",
            ),
            (
                "r(p(a) & !q(b))",
                "∃V,T. [p(a,V) ∧ ¬q(b,V)] ∧ r(V,T)",
                "[p(a,f_p(a)) ∧ ¬q(b,f_q(b))] ∧ r(f_p(a)∩¬f_q(b),f_r(f_p(a)∩¬f_q(b)))",
                "f_r(f_p(a) ∧ ¬f_q(b))",
            ),
            ("p(a) | q(b)", "∃T. p(a,T) ∨ q(b,T)", "p(a,f_p(a)) ∨ q(b,f_q(b))", "f_p(a) ∨ f_q(b)"),
            (
                "r(p(a) | q(b))",
                "∃V,T. [p(a,V) ∨ q(b,V)] ∧ r(V,T)",
                "[p(a,f_p(a)) ∨ q(b,f_q(b))] ∧ r(f_p(a)∪f_q(b),f_r(f_p(a)∪f_q(b)))",
                "f_r(f_p(a) ∨ f_q(b))",
            ),
        ] {
            let query = text::parse(question, &Letters).unwrap();
            let forms = Forms::of(&query, &Letters);
            assert_eq!(forms.first_order, first_order);
            assert_eq!(forms.normal_form, normal_form);
            assert_eq!(forms.set_logic, set_logic);
        }
    }
}
