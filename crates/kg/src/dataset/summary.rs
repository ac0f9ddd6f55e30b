//! What a query set is made of.

use std::collections::HashMap;

use super::{Answers, Example};
use crate::error::Result;
use crate::query::Shape;

/// The numbers of a query set, shape by shape in the order met.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    shapes: Vec<ShapeSummary>,
    places: HashMap<Shape, usize>,
}

/// The numbers of the queries of one shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShapeSummary {
    /// The shape, its operands in a fixed order.
    pub shape: Shape,
    /// How many queries there are.
    pub queries: usize,
    /// Easy answers in all, and how many queries tell their number.
    pub easy: (usize, usize),
    /// Hard answers in all, and how many queries tell their number.
    pub hard: (usize, usize),
}

impl Summary {
    /// The numbers of a whole set.
    pub fn of(examples: impl IntoIterator<Item = Result<Example>>) -> Result<Summary> {
        let mut summary = Summary::default();
        for example in examples {
            summary.add(&example?);
        }
        Ok(summary)
    }

    /// Counts one more query.
    pub fn add(&mut self, example: &Example) {
        let shape = example.query.shape();
        let place = match self.places.get(&shape) {
            Some(place) => *place,
            None => self.place(shape),
        };
        let numbers = &mut self.shapes[place];
        numbers.queries += 1;
        let count = |of: &mut (usize, usize), answers: &Answers| {
            if let Some(count) = answers.count() {
                *of = (of.0.saturating_add(count), of.1 + 1);
            }
        };
        count(&mut numbers.easy, &example.easy);
        count(&mut numbers.hard, &example.hard);
    }

    /// The place of a shape that was not met before as it is written.
    fn place(&mut self, written: Shape) -> usize {
        let shape = written.canonical();
        let found = self.shapes.iter().position(|numbers| numbers.shape == shape);
        let place = found.unwrap_or(self.shapes.len());
        if found.is_none() {
            self.shapes.push(ShapeSummary { shape, queries: 0, easy: (0, 0), hard: (0, 0) });
        }
        self.places.insert(written, place);
        place
    }

    /// The numbers of each shape.
    pub fn shapes(&self) -> &[ShapeSummary] {
        &self.shapes
    }

    /// How many queries there are in all.
    pub fn queries(&self) -> usize {
        self.shapes.iter().map(|numbers| numbers.queries).sum()
    }
}

impl ShapeSummary {
    /// Easy answers of a query on average, where their number is known.
    pub fn mean_easy(&self) -> Option<f64> {
        mean(self.easy)
    }

    /// Hard answers of a query on average, where their number is known.
    pub fn mean_hard(&self) -> Option<f64> {
        mean(self.hard)
    }
}

fn mean((sum, count): (usize, usize)) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::tuple::Tuple;

    #[test]
    fn shapes_are_counted_whatever_the_order_of_operands() {
        let example = |json: &str, easy, hard| {
            let query = serde_json::from_str::<Tuple>(json).unwrap().to_query().unwrap();
            Ok(Example { query, easy, hard })
        };
        let summary = Summary::of([
            example("[[1,[2,3]],[4,[5]]]", Answers::Count(4), Answers::Unknown),
            example("[[4,[5]],[1,[2,3]]]", Answers::listed(vec![]), Answers::Unknown),
            example("[4,[5]]", Answers::Unknown, Answers::Count(1)),
        ])
        .unwrap();
        assert_eq!(summary.queries(), 3);
        let [pi, single] = summary.shapes() else { panic!("{summary:?}") };
        assert_eq!((pi.shape.to_string(), pi.queries), ("pi".to_owned(), 2));
        assert_eq!((pi.mean_easy(), pi.mean_hard()), (Some(2.0), None));
        assert_eq!((single.mean_easy(), single.mean_hard()), (None, Some(1.0)));
    }
}
