//! Dropout: while learning, a share of the numbers of a hidden layer is zero by chance and the others are
//! larger to make up for it, so that no number relies on a few others.
//!
//! What is dropped is a function of a seed, the layer, the row and the column: no mask is kept. Backward
//! needs none either, since after relu a gradient goes through where the result is above zero.

use crate::Real;
use crate::kernel::map;

/// Which numbers are dropped.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Dropout {
    /// The share that is; 0 for none.
    pub share: f64,
    /// Another seed, other numbers.
    pub seed: u64,
}

impl Dropout {
    /// What the numbers that stay are multiplied with.
    pub fn scale<F: Real>(&self) -> F {
        F::of(1.0 / (1.0 - self.share))
    }

    /// Drops numbers of a row of a layer.
    pub fn apply<F: Real>(&self, x: &mut [F], layer: usize, row: usize) {
        if self.share > 0.0 {
            let least = (self.share * (1u64 << 32) as f64) as u32;
            let place = ((layer as u64) << 40) + row as u64;
            let key = self.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // The low bits of a product are poor, the high ones are good.
            let key = (key.wrapping_mul(0xd134_2543_de82_ef95) >> 32) as u32;
            map::drop_some(x, key, least, self.scale());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_the_share_is_dropped_and_the_mean_stays() {
        for share in [0.1, 0.5, 0.9] {
            let dropout = Dropout { share, seed: 7 };
            let (rows, width) = (200, 100);
            let mut columns = vec![0.0; width];
            let mut sum = 0.0;
            for row in 0..rows {
                let mut x = vec![1.0f64; width];
                dropout.apply(&mut x, 1, row);
                columns.iter_mut().zip(&x).for_each(|(column, x)| *column += x / rows as f64);
                sum += x.iter().sum::<f64>();
            }
            let mean = sum / (rows * width) as f64;
            let error = (share / (1.0 - share) / (rows * width) as f64).sqrt();
            assert!((mean - 1.0).abs() < 5.0 * error, "{share}: {mean}");
            let error = (share / (1.0 - share) / rows as f64).sqrt();
            assert!(columns.iter().all(|mean| (mean - 1.0).abs() < 5.0 * error), "{share}");
        }
    }

    #[test]
    fn rows_layers_and_seeds_differ_and_nothing_else_does() {
        let run = |seed, layer, row| {
            let mut x = [1.0f32; 64];
            Dropout { share: 0.5, seed }.apply(&mut x, layer, row);
            x
        };
        let all = [run(1, 0, 0), run(2, 0, 0), run(1, 1, 0), run(1, 0, 1)];
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| one != other));
        }
        assert_eq!(run(1, 0, 0), all[0]);
        let mut x = [1.0f32; 64];
        Dropout::default().apply(&mut x, 0, 0);
        assert_eq!(x, [1.0; 64]);
    }
}
