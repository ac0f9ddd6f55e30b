//! What a model has learnt.

use skolem_nn::Real;

/// A named block of numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor<F> {
    /// Its name in files.
    pub name: String,
    /// Its sizes, the last one being that of a row.
    pub shape: Vec<usize>,
    /// Its numbers, row after row.
    pub data: Vec<F>,
}

impl<F: Real> Tensor<F> {
    /// A tensor of numbers that a function gives one after the other.
    pub fn new(
        name: impl Into<String>,
        shape: &[usize],
        mut number: impl FnMut() -> f64,
    ) -> Tensor<F> {
        let count = shape.iter().product();
        let data = (0..count).map(|_| F::of(number())).collect();
        Tensor { name: name.into(), shape: shape.to_vec(), data }
    }
}

/// The tensors of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Weights<F> {
    /// A row for each entity.
    pub entities: Tensor<F>,
    /// A row for each relation, inverses included.
    pub relations: Tensor<F>,
    /// The networks.
    pub dense: Vec<Tensor<F>>,
}

impl<F: Real> Weights<F> {
    /// All tensors, in the order of files.
    pub fn all(&self) -> impl Iterator<Item = &Tensor<F>> {
        [&self.entities, &self.relations].into_iter().chain(&self.dense)
    }

    /// All tensors, to change.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Tensor<F>> {
        [&mut self.entities, &mut self.relations].into_iter().chain(&mut self.dense)
    }

    /// Number of numbers.
    pub fn len(&self) -> usize {
        self.all().map(|tensor| tensor.data.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of an entity.
    pub fn entity(&self, number: u32) -> &[F] {
        let width = self.entities.shape[1];
        &self.entities.data[number as usize * width..][..width]
    }

    /// The row of a relation.
    pub fn relation(&self, number: u32) -> &[F] {
        let width = self.relations.shape[1];
        &self.relations.data[number as usize * width..][..width]
    }

    /// The name of the first tensor that holds a number that is none, or infinite.
    pub fn broken(&self) -> Option<&str> {
        let broken = |tensor: &&Tensor<F>| tensor.data.iter().any(|x| !x.is_finite());
        self.all().find(broken).map(|tensor| &tensor.name[..])
    }
}

/// Gradients of the relations that a program follows, row after row in its order, and of the networks.
/// Those of entities are never stored together: see `train::update`.
#[derive(Default)]
pub struct Gradients<F> {
    /// Of the relations.
    pub relations: Vec<F>,
    /// Of the networks, tensor by tensor.
    pub dense: Vec<Vec<F>>,
}

impl<F: Real> Gradients<F> {
    /// Makes them as large as the weights need.
    pub fn fit(&mut self, weights: &Weights<F>, relations: usize) {
        self.relations.resize(relations * weights.relations.shape[1], F::zero());
        self.dense.resize_with(weights.dense.len(), Vec::new);
        for (gradient, tensor) in self.dense.iter_mut().zip(&weights.dense) {
            gradient.resize(tensor.data.len(), F::zero());
        }
    }
}
