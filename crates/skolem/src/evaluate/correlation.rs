//! How closely two series of numbers go together.

/// Pearson's correlation: 1 where one is a rising line of the other, −1 where it is a falling one. None of
/// fewer than two points, of a series that does not vary, or of what is no number.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    // Rounding of the mean would make equal numbers vary.
    let varies = |series: &[f64]| series.iter().any(|number| *number != series[0]);
    if !varies(x) || !varies(y) {
        return None;
    }
    let [x, y] = [x, y].map(centred);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    // Both divided by their lengths first: squares of tiny numbers would be lost.
    let lengths = [&x, &y].map(|series| {
        let largest = series.iter().fold(0.0, |most: f64, number| most.max(number.abs()));
        let scaled: Vec<f64> = series.iter().map(|number| number / largest).collect();
        largest * dot(&scaled, &scaled).sqrt()
    });
    let unit = |series: &[f64], length: f64| -> Vec<f64> {
        series.iter().map(|number| number / length).collect()
    };
    let found = dot(&unit(&x, lengths[0]), &unit(&y, lengths[1]));
    found.is_finite().then(|| found.clamp(-1.0, 1.0))
}

/// Spearman's correlation: Pearson's of the ranks, so that 1 means that both rise together in any way.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    let numbers = x.iter().chain(y).all(|number| number.is_finite());
    numbers.then(|| pearson(&mid_ranks(x), &mid_ranks(y))).flatten()
}

/// The rank of each number, from 1; equal ones share the mean of theirs.
pub fn mid_ranks(series: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut first = 0;
    for equal in order.chunk_by(|a, b| series[*a] == series[*b]) {
        // The ranks first + 1 to first + len.
        let rank = first as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|at| ranks[*at] = rank);
        first += equal.len();
    }
    ranks
}

fn centred(series: &[f64]) -> Vec<f64> {
    let mean = series.iter().sum::<f64>() / series.len() as f64;
    series.iter().map(|number| number - mean).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cases_by_hand() {
        // Deviations (−1, 0, 1) and (−2, 1, 1): 3 / √(2 · 6).
        let pearson_of = pearson(&[1.0, 2.0, 3.0], &[0.0, 3.0, 3.0]).unwrap();
        assert!((pearson_of - 3.0 / 12f64.sqrt()).abs() < 1e-15);
        assert_eq!(mid_ranks(&[3.0, 1.0, 3.0, 2.0, 3.0]), [4.0, 1.0, 4.0, 2.0, 4.0]);
        // Ranks (1, 2, 3, 4) and (2.5, 1, 2.5, 4): deviations' products 3 of √(5 · 4.5).
        let spearman_of = spearman(&[1.0, 2.0, 4.0, 9.0], &[5.0, 1.0, 5.0, 7.0]).unwrap();
        assert!((spearman_of - 3.0 / 22.5f64.sqrt()).abs() < 1e-15);
        for (y, expected) in [([1.0, 10.0, 11.0], 1.0), ([7.0, 1.0, 0.0], -1.0)] {
            assert!((spearman(&[1.0, 2.0, 3.0], &y).unwrap() - expected).abs() < 1e-15);
        }
        // Tiny and huge numbers correlate as others do.
        let huge = pearson(&[1e200, 2e200, 3e200], &[1e-200, 2e-200, 3e-200]).unwrap();
        assert!((huge - 1.0).abs() < 1e-15);
    }

    #[test]
    fn what_has_no_correlation_has_none() {
        for correlation in [pearson, spearman] {
            assert_eq!(correlation(&[], &[]), None);
            assert_eq!(correlation(&[1.0], &[1.0]), None);
            assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), None);
            assert_eq!(correlation(&[1.0, f64::NAN], &[1.0, 2.0]), None);
            assert_eq!(correlation(&[1.0, f64::INFINITY, 2.0], &[1.0, 2.0, 3.0]), None);
        }
    }

    proptest! {
        #[test]
        fn they_are_those_of_the_definitions(
            points in proptest::collection::vec((0u8..6, -9i32..9), 2..40),
        ) {
            let x: Vec<f64> = points.iter().map(|(x, _)| f64::from(*x)).collect();
            let y: Vec<f64> = points.iter().map(|(_, y)| f64::from(*y).exp()).collect();
            // One more than those below, and half of the others that are equal.
            let ranks = |series: &[f64]| -> Vec<f64> {
                let count = |is: &dyn Fn(&f64) -> bool| series.iter().filter(|one| is(one)).count() as f64;
                series.iter().map(|own| {
                    1.0 + count(&|one| one < own) + (count(&|one| one == own) - 1.0) / 2.0
                }).collect()
            };
            prop_assert_eq!(mid_ranks(&x), ranks(&x));
            let plain = |x: &[f64], y: &[f64]| {
                let n = x.len() as f64;
                let mean = |of: &dyn Fn(usize) -> f64| (0..x.len()).map(of).sum::<f64>() / n;
                let [mx, my] = [mean(&|at| x[at]), mean(&|at| y[at])];
                let covariance = mean(&|at| (x[at] - mx) * (y[at] - my));
                covariance / (mean(&|at| (x[at] - mx).powi(2)) * mean(&|at| (y[at] - my).powi(2))).sqrt()
            };
            for (found, expected) in [
                (pearson(&x, &y), plain(&x, &y)),
                (spearman(&x, &y), plain(&ranks(&x), &ranks(&y))),
            ] {
                match found {
                    Some(found) => prop_assert!((found - expected).abs() < 1e-9),
                    None => prop_assert!([&x, &y].iter().any(|series| series.iter().all(|one| *one == series[0]))),
                }
            }
        }
    }
}
