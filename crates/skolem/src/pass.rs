//! Runs a program: forward to the embeddings of its queries, backward to the gradients of what they
//! were made from. It knows no model.

use skolem_nn::{Real, rows};

use crate::model::{Gradients, Level, Manner, Model, Weights};
use crate::program::{Operand, Program, Step, User};

/// The buffers of a run, kept between batches for their memory.
pub struct Pass<F: Real, M: Model<F>> {
    /// How it runs; as for answers but while learning.
    pub manner: Manner,
    /// The embeddings of the queries' disjuncts, row after row.
    pub roots: Vec<F>,
    /// Their gradient; the caller fills it before backward.
    pub droots: Vec<F>,
    /// The gradient of each anchor of the program.
    pub danchors: Vec<F>,
    values: Vec<F>,
    inputs: Vec<F>,
    dinputs: Vec<F>,
    operands: Vec<F>,
    doperands: Vec<F>,
    dout: Vec<F>,
    tape: M::Tape,
}

impl<F: Real, M: Model<F>> Default for Pass<F, M> {
    fn default() -> Self {
        let tape = M::Tape::default();
        let [roots, droots, danchors, values, inputs, dinputs, operands, doperands, dout] =
            [const { Vec::new() }; 9];
        Pass {
            manner: Manner::default(),
            roots,
            droots,
            danchors,
            values,
            inputs,
            dinputs,
            operands,
            doperands,
            dout,
            tape,
        }
    }
}

impl<F: Real, M: Model<F>> Pass<F, M> {
    /// Embeds all queries of a program.
    pub fn forward(&mut self, model: &M, weights: &Weights<F>, program: &Program) {
        let width = model.width();
        model.begin(weights, program, self.manner, &mut self.tape);
        rows::reuse(&mut self.values, program.users.len() * width);
        rows::reuse(&mut self.inputs, program.inputs.len() * width);
        rows::reuse(&mut self.operands, program.operands.len() * width);
        rows::each(&mut self.values[..program.anchors.len() * width], width, |at, row| {
            model.anchor(weights.entity(program.anchors[at].0), row);
        });
        for step in &program.steps {
            let (first, range, count) = match step {
                Step::Follow { rows, first } => (*first, rows.clone(), rows.len()),
                Step::And { groups, first } => (*first, groups.clone(), groups.len()),
            };
            let (values, rest) = self.values.split_at_mut(first * width);
            let out = &mut rest[..count * width];
            match step {
                Step::Follow { rows, .. } => {
                    let here = &mut self.inputs[rows.start * width..rows.end * width];
                    take(model, values, &program.inputs[rows.clone()], here);
                    let level = Level { weights, program, range };
                    model.follow(level, &self.inputs, out, &mut self.tape);
                }
                Step::And { groups, .. } => {
                    let rows = program.operands_of_all(groups.clone());
                    let here = &mut self.operands[rows.start * width..rows.end * width];
                    take(model, values, &program.operands[rows], here);
                    let level = Level { weights, program, range };
                    model.intersect(level, &self.operands, out, &mut self.tape);
                }
            }
        }
        let roots = rows::reuse(&mut self.roots, program.roots.len() * width);
        take(model, &self.values, &program.roots, roots);
    }

    /// Turns `droots` into the gradients of the weights, and into `danchors`.
    pub fn backward(
        &mut self,
        model: &M,
        weights: &Weights<F>,
        program: &Program,
        gradients: &mut Gradients<F>,
    ) {
        let width = model.width();
        gradients.fit(weights, program.relations.len());
        model.begin_backward(weights, program, &mut self.tape);
        rows::reuse(&mut self.dinputs, self.inputs.len());
        rows::reuse(&mut self.doperands, self.operands.len());
        for step in program.steps.iter().rev() {
            let mut dout = std::mem::take(&mut self.dout);
            match step {
                Step::Follow { rows, first } => {
                    rows::reuse(&mut dout, rows.len() * width);
                    self.collect(model, program, *first, &mut dout);
                    let out = &self.values[first * width..][..dout.len()];
                    let dx = &mut self.dinputs[rows.start * width..rows.end * width];
                    let level = Level { weights, program, range: rows.clone() };
                    model.follow_backward(level, out, &mut dout, dx, &mut self.tape);
                }
                Step::And { groups, first } => {
                    rows::reuse(&mut dout, groups.len() * width);
                    self.collect(model, program, *first, &mut dout);
                    let rows = program.operands_of_all(groups.clone());
                    let dx = &mut self.doperands[rows.start * width..rows.end * width];
                    let level = Level { weights, program, range: groups.clone() };
                    model.intersect_backward(level, &self.operands, &mut dout, dx, &mut self.tape);
                }
            }
            self.dout = dout;
        }
        let mut danchors = std::mem::take(&mut self.danchors);
        rows::reuse(&mut danchors, program.anchors.len() * width);
        self.collect(model, program, 0, &mut danchors);
        self.danchors = danchors;
        model.finish(weights, program, &self.inputs, &self.operands, gradients, &mut self.tape);
    }

    /// The gradients of nodes from `first` on, from the places that used them.
    fn collect(&self, model: &M, program: &Program, first: usize, out: &mut [F]) {
        let width = model.width();
        let Pass { roots, droots, inputs, dinputs, operands, doperands, .. } = self;
        rows::each(out, width, |at, out| {
            let (value, gradient, row, operand) = match program.users[first + at] {
                User::Follow(row) => (inputs, dinputs, row, &program.inputs),
                User::And(row) => (operands, doperands, row, &program.operands),
                User::Root(row) => (roots, droots, row, &program.roots),
            };
            let here = row as usize * width..(row as usize + 1) * width;
            out.copy_from_slice(&gradient[here.clone()]);
            if operand[row as usize].negated {
                model.complement_backward(&value[here], out);
            }
        });
    }
}

/// Copies the values of operands, complemented where they are negated.
fn take<F: Real, M: Model<F>>(model: &M, values: &[F], operands: &[Operand], out: &mut [F]) {
    let width = model.width();
    rows::each(out, width, |at, row| {
        let operand = operands[at];
        row.copy_from_slice(&values[operand.node as usize * width..][..width]);
        if operand.negated {
            model.complement(row);
        }
    });
}
