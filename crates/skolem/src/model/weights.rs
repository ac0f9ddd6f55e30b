//! What a model has learnt.

use skolem_kg::rng::Rng;
use skolem_nn::Real;
use skolem_nn::op::{attention, projection};

use crate::program::Program;

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

/// The sizes of a layer of a network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Its name in files.
    pub name: String,
    /// Numbers that it gives.
    pub output: usize,
    /// Numbers that it is given.
    pub input: usize,
}

impl Layer {
    /// A layer of these sizes.
    pub fn new(name: impl Into<String>, output: usize, input: usize) -> Layer {
        Layer { name: name.into(), output, input }
    }

    /// The Skolem function: `depth` hidden layers between [x ‖ r] and numbers of a set.
    pub fn projection(width: usize, relation: usize, hidden: usize, depth: usize) -> Vec<Layer> {
        let mut layers = vec![Layer::new("projection.first", hidden, width + relation)];
        let between = |at| Layer::new(format!("projection.hidden{at}"), hidden, hidden);
        layers.extend((1..depth).map(between));
        layers.push(Layer::new("projection.last", width, hidden));
        layers
    }

    /// How much the operands of an intersection count: in each of so many columns.
    pub fn attention(width: usize, columns: usize) -> [Layer; 2] {
        let sizes = [("first", width), ("last", columns)];
        sizes.map(|(name, output)| Layer::new(format!("attention.{name}"), output, width))
    }

    /// First weights and biases of some layers, one after the other, as the published programs have them:
    /// weights as Xavier, biases as PyTorch.
    pub fn tensors<F: Real>(layers: &[Layer], rng: &mut Rng) -> Vec<Tensor<F>> {
        let mut tensors = Vec::new();
        for Layer { name, output, input } in layers {
            let xavier = (6.0 / (input + output) as f64).sqrt();
            tensors.push(Tensor::new(format!("{name}.weight"), &[*output, *input], || {
                uniform(rng, -xavier, xavier)
            }));
            let small = 1.0 / (*input as f64).sqrt();
            tensors.push(Tensor::new(format!("{name}.bias"), &[*output], || {
                uniform(rng, -small, small)
            }));
        }
        tensors
    }
}

/// A random number in [low, high).
pub(super) fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * (rng.next() >> 11) as f64 / (1u64 << 53) as f64
}

/// Layers as the Skolem function of sets of a width.
pub(super) fn network<F>(layers: &[Tensor<F>], width: usize) -> projection::Network<'_, F> {
    let pairs = layers.chunks_exact(2);
    let layers = pairs
        .map(|pair| projection::Layer { weight: &pair[0].data, bias: &pair[1].data })
        .collect();
    projection::Network { layers, width }
}

/// Their gradients.
pub(super) fn network_gradients<F>(layers: &mut [Vec<F>]) -> Vec<projection::LayerGradient<'_, F>> {
    let pairs = layers.chunks_exact_mut(2).filter_map(|pair| match pair {
        [weight, bias] => Some(projection::LayerGradient { weight, bias }),
        _ => None,
    });
    pairs.collect()
}

/// Two layers as the network that says how much the operands of an intersection count.
pub(super) fn attend<F>(layers: &[Tensor<F>]) -> attention::Weights<'_, F> {
    let [first, first_bias, second, second_bias] = layers else { unreachable!("two layers") };
    attention::Weights {
        first: &first.data,
        first_bias: &first_bias.data,
        second: &second.data,
        second_bias: &second_bias.data,
    }
}

/// Their gradients.
pub(super) fn attention_gradients<F>(layers: &mut [Vec<F>]) -> attention::Gradients<'_, F> {
    let [first, first_bias, second, second_bias] = layers else { unreachable!("two layers") };
    attention::Gradients { first, first_bias, second, second_bias }
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

    /// The rows of the relations that a program follows, each once and in its order.
    pub fn followed(&self, program: &Program, rows: &mut Vec<F>) {
        rows.clear();
        program.relations.iter().for_each(|at| rows.extend_from_slice(self.relation(at.0)));
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
