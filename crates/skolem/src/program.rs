//! A batch of queries turned into levels of operations.
//!
//! Every `Follow` of a level, whatever query it is from, goes into one matrix product. A complement
//! needs no operation of its own: it is a mark on the operand that uses it.
//!
//! Queries are trees, so each node has exactly one user. The gradient of a node is therefore found at
//! the one place that used it, and nothing is ever added up from several threads.

use std::ops::Range;

use skolem_kg::{Entity, Query, Relation};
use skolem_nn::op::projection::Relations;

use crate::error::{Error, Result};

/// A node's value, or its complement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The node.
    pub node: u32,
    /// Whether the complement is meant.
    pub negated: bool,
}

/// Where a node's value is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum User {
    /// As the input of a row of `Follow`.
    Follow(u32),
    /// As an operand row of an intersection.
    And(u32),
    /// As a result.
    Root(u32),
}

/// Operations of one level, which do not depend on each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Follows relations: these rows of [`Program::inputs`].
    Follow {
        /// The rows.
        rows: Range<usize>,
        /// The node of the first row; the others come after it.
        first: usize,
    },
    /// Intersects: these groups of [`Program::operands`].
    And {
        /// The groups.
        groups: Range<usize>,
        /// The node of the first group; the others come after it.
        first: usize,
    },
}

/// A batch of queries as levels of operations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The entity of each anchor; anchors are the first nodes.
    pub anchors: Vec<Entity>,
    /// In order of execution.
    pub steps: Vec<Step>,
    /// What each row of `Follow` starts from.
    pub inputs: Vec<Operand>,
    /// The relations that are followed, each once, in order.
    pub relations: Vec<Relation>,
    /// For each row of `Follow` its index in `relations`.
    pub relation_of_row: Vec<u32>,
    /// The rows of relation i are `relation_rows[relation_starts[i]..relation_starts[i + 1]]`.
    pub relation_starts: Vec<u32>,
    /// See `relation_starts`.
    pub relation_rows: Vec<u32>,
    /// What each operand row of an intersection is.
    pub operands: Vec<Operand>,
    /// The operand rows of group i are `group_starts[i]..group_starts[i + 1]`.
    pub group_starts: Vec<u32>,
    /// The results: the disjuncts of each query.
    pub roots: Vec<Operand>,
    /// The roots of query i are `root_starts[i]..root_starts[i + 1]`.
    pub root_starts: Vec<u32>,
    /// Where each node is used.
    pub users: Vec<User>,
}

/// How unions are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Union {
    /// Each disjunct is answered, and the best score counts.
    #[default]
    Disjuncts,
    /// a ∪ b is computed as ¬(¬a ∩ ¬b).
    DeMorgan,
}

impl Union {
    /// Whether a query, with its unions answered like this, takes a complement.
    pub fn takes_complement(self, query: &Query) -> bool {
        query.has_negation() || (self == Union::DeMorgan && query.has_union())
    }
}

/// A node while the program is being built.
enum Node {
    Anchor(Entity),
    Follow(Relation, Operand),
    And(Vec<Operand>),
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    /// Number of relations followed up to a node, then of intersections since: the order of steps.
    level: Vec<(u32, u32)>,
}

impl Program {
    /// Compiles queries.
    pub fn compile<'a>(
        queries: impl IntoIterator<Item = &'a Query>,
        union: Union,
    ) -> Result<Program> {
        let mut builder = Builder::default();
        let (mut roots, mut root_starts) = (Vec::new(), vec![0]);
        for query in queries {
            match union {
                _ if !query.has_union() => roots.push(builder.term(query)?),
                Union::DeMorgan => roots.push(builder.term(&query.without_unions())?),
                Union::Disjuncts => {
                    for disjunct in query.disjuncts()? {
                        roots.push(builder.term(&disjunct)?);
                    }
                }
            }
            root_starts.push(roots.len() as u32);
        }
        Ok(builder.finish(roots, root_starts))
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.root_starts.len().saturating_sub(1)
    }

    /// Whether there is no query.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The roots of a query.
    pub fn roots_of(&self, query: usize) -> Range<usize> {
        self.root_starts[query] as usize..self.root_starts[query + 1] as usize
    }

    /// The operand rows of an intersection.
    pub fn operands_of(&self, group: usize) -> Range<usize> {
        self.group_starts[group] as usize..self.group_starts[group + 1] as usize
    }

    /// The operand rows of some intersections.
    pub fn operands_of_all(&self, groups: Range<usize>) -> Range<usize> {
        self.group_starts[groups.start] as usize..self.group_starts[groups.end] as usize
    }

    /// Number of intersections.
    pub fn groups(&self) -> usize {
        self.group_starts.len().saturating_sub(1)
    }

    /// Which relation each row of `Follow` follows, given the vectors of [`Program::relations`].
    pub fn followed<'a, F>(&'a self, vectors: &'a [F]) -> Relations<'a, F> {
        Relations {
            vectors,
            of_row: &self.relation_of_row,
            starts: &self.relation_starts,
            rows: &self.relation_rows,
        }
    }
}

impl Builder {
    fn add(&mut self, node: Node, level: (u32, u32)) -> Operand {
        self.nodes.push(node);
        self.level.push(level);
        Operand { node: self.nodes.len() as u32 - 1, negated: false }
    }

    fn term(&mut self, query: &Query) -> Result<Operand> {
        Ok(match query {
            Query::Anchor(entity) => self.add(Node::Anchor(*entity), (0, 0)),
            Query::Not(inner) => {
                let inner = self.term(inner)?;
                Operand { negated: !inner.negated, ..inner }
            }
            Query::Follow(relation, inner) => {
                let inner = self.term(inner)?;
                let (follows, _) = self.level[inner.node as usize];
                self.add(Node::Follow(*relation, inner), (follows + 1, 0))
            }
            Query::And(parts) => {
                let parts = parts.iter().map(|part| self.term(part)).collect::<Result<Vec<_>>>()?;
                match parts[..] {
                    [] => {
                        return Err(Error::Setting(
                            "an intersection of nothing has no meaning".into(),
                        ));
                    }
                    [only] => only,
                    _ => {
                        let levels = parts.iter().map(|part| self.level[part.node as usize]);
                        let (follows, ands) = levels.max().unwrap_or_default();
                        self.add(Node::And(parts), (follows, ands + 1))
                    }
                }
            }
            Query::Or(_) => return Err(Error::Setting("a union is left in a query".into())),
        })
    }

    fn finish(self, mut roots: Vec<Operand>, root_starts: Vec<u32>) -> Program {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|node| self.level[*node as usize]);
        let mut place = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(at, node)| place[*node as usize] = at as u32);
        let moved = |operand: &Operand| Operand { node: place[operand.node as usize], ..*operand };

        let mut program = Program { root_starts, group_starts: vec![0], ..Program::default() };
        program.users = vec![User::Root(0); order.len()];
        let mut followed = Vec::new();
        for (at, node) in order.iter().enumerate() {
            match &self.nodes[*node as usize] {
                Node::Anchor(entity) => program.anchors.push(*entity),
                Node::Follow(relation, input) => {
                    let (input, row) = (moved(input), program.inputs.len());
                    program.users[input.node as usize] = User::Follow(row as u32);
                    program.inputs.push(input);
                    followed.push(*relation);
                    program.extend(
                        at,
                        self.level[*node as usize] != self.level[order[at - 1] as usize],
                        true,
                        row,
                    );
                }
                Node::And(parts) => {
                    for part in parts.iter().map(moved) {
                        program.users[part.node as usize] =
                            User::And(program.operands.len() as u32);
                        program.operands.push(part);
                    }
                    let group = program.group_starts.len() - 1;
                    program.group_starts.push(program.operands.len() as u32);
                    program.extend(
                        at,
                        self.level[*node as usize] != self.level[order[at - 1] as usize],
                        false,
                        group,
                    );
                }
            }
        }
        roots.iter_mut().enumerate().for_each(|(at, root)| {
            *root = moved(root);
            program.users[root.node as usize] = User::Root(at as u32);
        });
        program.roots = roots;
        program.group_relations(&followed);
        program
    }
}

impl Program {
    /// Adds a row or group to the last step, or starts a new one.
    fn extend(&mut self, node: usize, new: bool, is_follow: bool, at: usize) {
        if new {
            let range = at..at;
            self.steps.push(match is_follow {
                true => Step::Follow { rows: range, first: node },
                false => Step::And { groups: range, first: node },
            });
        }
        if let Some(Step::Follow { rows: range, .. } | Step::And { groups: range, .. }) =
            self.steps.last_mut()
        {
            range.end = at + 1;
        }
    }

    fn group_relations(&mut self, followed: &[Relation]) {
        let mut rows: Vec<u32> = (0..followed.len() as u32).collect();
        rows.sort_by_key(|row| followed[*row as usize]);
        self.relation_of_row = vec![0; followed.len()];
        for (at, row) in rows.iter().enumerate() {
            let relation = followed[*row as usize];
            if self.relations.last() != Some(&relation) {
                self.relations.push(relation);
                self.relation_starts.push(at as u32);
            }
            self.relation_of_row[*row as usize] = self.relations.len() as u32 - 1;
        }
        self.relation_starts.push(rows.len() as u32);
        self.relation_rows = rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skolem_kg::query::{names::Numbers, text::parse};

    fn program(texts: &[&str], union: Union) -> Program {
        let queries: Vec<Query> = texts.iter().map(|text| parse(text, &Numbers).unwrap()).collect();
        Program::compile(&queries, union).unwrap()
    }

    #[test]
    fn all_follows_of_a_level_are_one_step() {
        let program = program(
            &["r2(r1(e1))", "r1(e2) & !r2(e3)", "r3(r1(e1) & r2(e4)) & r4(e5)"],
            Union::Disjuncts,
        );
        let follows: Vec<_> = program
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Follow { rows, .. } => Some(rows.len()),
                Step::And { .. } => None,
            })
            .collect();
        assert_eq!(follows, [6, 2]);
        assert_eq!(program.anchors.len(), 6);
        assert_eq!(program.relations, [1, 2, 3, 4].map(Relation));
        // Every node is used once, by the one its user says.
        for (node, user) in program.users.iter().enumerate() {
            let operand = match *user {
                User::Follow(row) => program.inputs[row as usize],
                User::And(row) => program.operands[row as usize],
                User::Root(row) => program.roots[row as usize],
            };
            assert_eq!(operand.node as usize, node);
        }
        assert_eq!(program.operands.iter().filter(|operand| operand.negated).count(), 1);
    }

    #[test]
    fn rows_of_a_relation_are_found_again() {
        let program = program(&["r2(r1(e1))", "r1(e2) & r2(e3)"], Union::Disjuncts);
        for (relation, starts) in program.relation_starts.windows(2).enumerate() {
            for row in &program.relation_rows[starts[0] as usize..starts[1] as usize] {
                assert_eq!(program.relation_of_row[*row as usize] as usize, relation);
            }
        }
        assert_eq!(program.relation_rows.len(), 4);
    }

    #[test]
    fn unions_become_disjuncts_or_complements() {
        let text = ["r1(r1(e1) | r2(e2))", "r1(e1)"];
        let disjuncts = program(&text, Union::Disjuncts);
        assert_eq!((disjuncts.roots_of(0), disjuncts.roots_of(1)), (0..2, 2..3));
        let de_morgan = program(&text, Union::DeMorgan);
        assert_eq!((de_morgan.roots_of(0), de_morgan.roots_of(1)), (0..1, 1..2));
        assert!(de_morgan.inputs.iter().any(|input| input.negated));
    }

    #[test]
    fn complements_of_complements_and_lone_operands_cost_nothing() {
        let twice = Query::And(vec![Query::Anchor(Entity(3)).not().not()]);
        let program = Program::compile([&twice], Union::Disjuncts).unwrap();
        assert!(program.steps.is_empty());
        assert_eq!(program.roots, [Operand { node: 0, negated: false }]);
        assert!(Program::compile([&Query::And(vec![])], Union::Disjuncts).is_err());
    }
}
