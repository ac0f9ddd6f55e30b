//! How many answers a query has, told by a small net from what a model says of its uncertainty.
//!
//! The net is the paper's: the d parts of a measure, divided by the mean of all that it learns from, then
//! d → d/4 → d/16 → 1 with relu, relu and σ; the target is min(n / 1000, 1) for n answers, and the loss the
//! mean of |told − target| / target. One net learns from half of the queries of each shape and is tried on
//! the other half.

use skolem_kg::rng::Rng;
use skolem_nn::kernel::map;
use skolem_nn::kernel::matmul::Precision;
use skolem_nn::op::linear;
use skolem_nn::optim::{Adam, State, Step};
use skolem_nn::{Real, rows};

use crate::error::Result;

/// Steps that the net learns for, all queries in each.
pub const STEPS: u64 = 250;
/// The learning rate.
const RATE: f64 = 1e-4;
/// This many answers or more are as good as any number.
const MOST: f64 = 1000.0;
/// Parts of the random numbers.
const HALVES: u64 = 0x6861_6c76_6573;
const WEIGHTS: u64 = 0x6361_7264_6e65;

/// The queries of a shape.
pub struct Points<'a, F> {
    /// Rows of as many numbers for every query.
    pub inputs: &'a [F],
    /// How many answers each has.
    pub answers: &'a [f64],
}

/// The mean relative error for each shape, on the half of its queries that the net did not learn from; none
/// for a shape without queries, or where there is nothing to learn from. `after` is told of every step.
pub fn predict<F: Real>(
    shapes: Vec<Points<'_, F>>,
    seed: u64,
    mut after: impl FnMut() -> Result<()>,
) -> Result<Vec<Option<f64>>> {
    let mut learnt = Rows::default();
    let mut tried = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        let mut order: Vec<usize> = (0..shape.answers.len()).collect();
        Rng::stream(seed, HALVES, number as u64).shuffle(&mut order);
        let (first, second) = order.split_at(order.len() / 2);
        learnt.extend(shape, first);
        let mut rest = Rows::default();
        rest.extend(shape, second);
        tried.push(rest);
    }
    let width = learnt.x.len().checked_div(learnt.y.len()).unwrap_or(0);
    if width == 0 {
        return Ok(vec![None; shapes.len()]);
    }
    let sum: f64 = learnt.x.iter().map(|x| x.wide()).sum();
    let scale = match sum / learnt.x.len() as f64 {
        mean if mean != 0.0 && mean.is_finite() => F::of(1.0 / mean),
        _ => F::one(),
    };
    for rows in tried.iter_mut().chain([&mut learnt]) {
        rows.x.iter_mut().for_each(|x| *x *= scale);
    }
    let mut net = Net::new(width, &mut Rng::stream(seed, WEIGHTS, 0));
    let mut tape = Tape::default();
    for number in 1..=STEPS {
        net.forward(&learnt.x, &mut tape);
        net.learn(&learnt, &mut tape, number);
        after()?;
    }
    let error = |rows: &Rows<F>| {
        net.forward(&rows.x, &mut tape);
        (!rows.y.is_empty()).then(|| loss(&tape.out[2], &rows.y))
    };
    Ok(tried.iter().map(error).collect())
}

/// Inputs and targets.
#[derive(Default)]
struct Rows<F> {
    x: Vec<F>,
    y: Vec<F>,
}

impl<F: Real> Rows<F> {
    fn extend(&mut self, shape: &Points<'_, F>, queries: &[usize]) {
        let width = shape.inputs.len() / shape.answers.len().max(1);
        for query in queries {
            self.x.extend_from_slice(&shape.inputs[query * width..][..width]);
            self.y.push(F::of((shape.answers[*query] / MOST).min(1.0)));
        }
    }
}

/// The mean of |told − target| / target.
fn loss<F: Real>(told: &[F], targets: &[F]) -> f64 {
    let error = |(told, y): (&F, &F)| ((*told - *y).abs() / *y).wide();
    told.iter().zip(targets).map(error).sum::<f64>() / targets.len() as f64
}

struct Net<F> {
    layers: [Layer<F>; 3],
}

struct Layer<F> {
    input: usize,
    weight: Parameters<F>,
    bias: Parameters<F>,
}

/// Parameters with their gradient and moments.
struct Parameters<F> {
    x: Vec<F>,
    dx: Vec<F>,
    m: Vec<F>,
    v: Vec<F>,
}

/// The results of each layer, and their gradients.
#[derive(Default)]
struct Tape<F> {
    out: [Vec<F>; 3],
    dout: [Vec<F>; 3],
}

impl<F: Real> Parameters<F> {
    fn new(x: Vec<F>) -> Self {
        let [dx, m, v] = [(); 3].map(|()| vec![F::zero(); x.len()]);
        Parameters { x, dx, m, v }
    }

    fn step(&mut self, step: Step) {
        let Parameters { x, dx, m, v } = self;
        step.apply(State { x, m, v }, dx);
    }
}

impl<F: Real> Net<F> {
    /// First values as PyTorch has them: uniform up to 1/√inputs.
    fn new(width: usize, rng: &mut Rng) -> Net<F> {
        let sizes = [width, (width / 4).max(1), (width / 16).max(1), 1];
        let layers = std::array::from_fn(|at| {
            let [input, output] = [sizes[at], sizes[at + 1]];
            let range = 1.0 / (input as f64).sqrt();
            let mut uniform = |count: usize| -> Vec<F> {
                let number = |bits: u64| (bits >> 11) as f64 / (1u64 << 53) as f64;
                (0..count).map(|_| F::of(range * (2.0 * number(rng.next()) - 1.0))).collect()
            };
            let [weight, bias] = [output * input, output].map(|n| Parameters::new(uniform(n)));
            Layer { input, weight, bias }
        });
        Net { layers }
    }

    fn forward(&self, x: &[F], tape: &mut Tape<F>) {
        for (at, layer) in self.layers.iter().enumerate() {
            let (before, rest) = tape.out.split_at_mut(at);
            let x = before.last().map_or(x, |x| &x[..]);
            let width = layer.bias.x.len();
            let out = rows::reuse(&mut rest[0], x.len() / layer.input * width);
            linear::forward(Precision::F32, out, x, &layer.weight.x, layer.input);
            let activate = if at == 2 { map::add_sigmoid } else { map::add_relu };
            rows::each(out, width, |_, row| activate(row, &layer.bias.x));
        }
    }

    /// Fills the gradients, after `forward` of the same rows.
    fn backward(&mut self, learnt: &Rows<F>, tape: &mut Tape<F>) {
        let Tape { out, dout } = tape;
        let count = F::of(learnt.y.len() as f64);
        let told = rows::reuse(&mut dout[2], learnt.y.len());
        for ((slope, told), y) in told.iter_mut().zip(&out[2]).zip(&learnt.y) {
            *slope = (*told - *y).signum() / (*y * count);
        }
        map::sigmoid_backward(told, &out[2]);
        for at in (0..3).rev() {
            let Layer { input, weight, bias } = &mut self.layers[at];
            let x = if at == 0 { &learnt.x } else { &out[at - 1] };
            let (before, here) = dout.split_at_mut(at);
            let precision = Precision::F32;
            linear::backward_weight(precision, &mut weight.dx, &mut bias.dx, &here[0], x, *input);
            if let Some(dx) = before.last_mut() {
                let dx = rows::reuse(dx, x.len());
                linear::backward_input(precision, dx, &here[0], &weight.x, *input);
                map::relu_backward(dx, x, F::one());
            }
        }
    }

    fn learn(&mut self, learnt: &Rows<F>, tape: &mut Tape<F>, number: u64) {
        self.backward(learnt, tape);
        let step = Step { adam: Adam::default(), number, rate: RATE };
        for layer in &mut self.layers {
            layer.weight.step(step);
            layer.bias.step(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<F> Net<F> {
        /// Weights and biases, layer by layer.
        fn parameters(&mut self, number: usize) -> &mut Parameters<F> {
            let layer = &mut self.layers[number / 2];
            if number.is_multiple_of(2) { &mut layer.weight } else { &mut layer.bias }
        }
    }

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| rng.below(1 << 20) as f64 / f64::from(1 << 20)).collect()
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let mut net = Net::<f64>::new(32, &mut Rng::new(1));
        let rows = Rows { x: numbers(7 * 32, 2), y: numbers(7, 3) };
        let mut tape = Tape::default();
        net.forward(&rows.x, &mut tape);
        net.backward(&rows, &mut tape);
        for number in 0..6 {
            let count = net.parameters(number).x.len();
            for place in 0..count {
                let mut loss_at = |by: f64| {
                    net.parameters(number).x[place] += by;
                    net.forward(&rows.x, &mut tape);
                    net.parameters(number).x[place] -= by;
                    loss(&tape.out[2], &rows.y)
                };
                let slope = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6;
                let gradient = net.parameters(number).dx[place];
                assert!(
                    (gradient - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{gradient} {slope}"
                );
            }
        }
    }

    #[test]
    fn a_loss_by_hand() {
        // 1000 answers or more count as 1, so the errors are ½, ½ and 1.
        let shape = Points { inputs: &[0.0; 6], answers: &[500.0, 1000.0, 4000.0] };
        let mut rows = Rows::default();
        rows.extend(&shape, &[0, 1, 2]);
        assert_eq!(rows.y, [0.5, 1.0, 1.0]);
        assert_eq!(loss(&[0.25, 0.5, 2.0], &rows.y), 2.0 / 3.0);
    }

    #[test]
    fn it_learns_what_measures_tell_and_the_same_whatever_the_threads() {
        // The more of a measure, the more answers.
        let count = 400;
        let answers: Vec<f64> = (0..count).map(|at| 1.0 + (at * at) as f64 / 200.0).collect();
        let noise = numbers(count * 256, 4);
        let of = |at: usize| -(answers[at / 256] / 1000.0 + 0.02 * noise[at]);
        let inputs: Vec<f32> = (0..count * 256).map(|at| of(at) as f32).collect();
        let run = |threads: usize, seed: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let point = || Points { inputs: &inputs[..], answers: &answers[..] };
            let none = Points { inputs: &[][..], answers: &[] };
            let mut steps = 0;
            let found = pool.install(|| {
                predict(vec![point(), none, point()], seed, || {
                    steps += 1;
                    Ok(())
                })
            });
            assert_eq!(steps, STEPS);
            found.unwrap()
        };
        let found = run(1, 1);
        assert_eq!(found, run(3, 1));
        assert_ne!(found, run(1, 2));
        assert_eq!(found[1], None);
        // Without looking, one half is as good as any: at one answer that is 499 times too much.
        let blind: f64 =
            answers.iter().map(|n| (0.5 - n / 1000.0).abs() / (n / 1000.0)).sum::<f64>() / 400.0;
        assert!(found[0].unwrap() < blind / 2.0, "{found:?} and {blind}");
        // Of a single query there is nothing to learn from, so none is told.
        let single = Points { inputs: &[1.0f32, 2.0][..], answers: &[3.0] };
        assert_eq!(predict(vec![single], 1, || Ok(())).unwrap(), [None]);
    }
}
