//! How fast the inner loops are, beside what memory and arithmetic allow: `cargo bench -p skolem-nn`.

use std::hint::black_box;
use std::time::Instant;

use skolem_nn::coarse::Coarse;
use skolem_nn::kernel::matmul::{Precision, View, matmul};
use skolem_nn::kernel::peak::peak;
use skolem_nn::kernel::{Level, l1, limit, softmax};

const WIDTH: usize = 800;
const ROWS: usize = 64;

fn main() {
    products();
    let numbers = |seed: usize, count: usize| -> Vec<f32> {
        (0..count).map(|at| ((at * 7919 + seed * 104_729) % 1000) as f32 / 1000.0).collect()
    };
    let (sets, entities) = (numbers(1, 4 * WIDTH), numbers(2, ROWS * WIDTH));
    let rows: Vec<u32> = (0..ROWS as u32).rev().collect();
    let weights = numbers(3, ROWS);
    let [mut coarse, mut coarse_sets] = [Coarse::default(), Coarse::default()];
    coarse.fill(&entities, WIDTH);
    coarse_sets.fill(&sets, WIDTH);
    println!("nanoseconds a pair of rows of {WIDTH}, one thread");
    for level in Level::ALL.into_iter().filter(|level| *level <= Level::best()) {
        limit(level);
        let one = time(ROWS, || {
            entities.chunks(WIDTH).map(|entity| l1::l1(&sets[..WIDTH], entity)).sum::<f32>()
        });
        let four = time(4 * ROWS, || {
            entities.chunks(WIDTH).map(|entity| l1::l1_four(&sets, WIDTH, entity)[0]).sum::<f32>()
        });
        let mut out = vec![0.0; WIDTH];
        let signs = time(ROWS, || {
            let of = l1::Weighted { table: &entities, rows: &rows, weights: &weights };
            l1::add_signs(&mut out, &sets[..WIDTH], of, 0.1);
            out[0]
        });
        let mut found = vec![0.0; 4 * ROWS];
        let bytes = time(4 * ROWS, || {
            coarse.distances(&coarse_sets, &mut found, [0.0, 1.0]);
            found[0]
        });
        let mut scores = numbers(4, 16_000);
        let exponential = time(16_000, || softmax::exponentials(&mut scores, 0.5));
        println!(
            "{:<9} l1 {one:6.1}  l1_four {four:6.1}  bytes {bytes:6.1}  add_signs {signs:6.1}  a number: e^x {exponential:6.2}",
            level.name()
        );
    }
}

/// Products at the sizes of training: of `f32` and of bf16, in turns.
fn products() {
    let (m, n, k) = (1024, 1600, 1600);
    let threads = rayon::current_num_threads();
    let peak = peak(Level::best(), threads).unwrap_or(f64::NAN) / 1e9;
    println!(
        "products {m} × {n} × {k}, {threads} threads, GFLOP/s (the peak for f32 is {peak:.0})"
    );
    let numbers = |count: usize| -> Vec<f32> {
        (0..count).map(|at| ((at * 7919) % 1000) as f32 / 1000.0 - 0.5).collect()
    };
    let (a, b, mut out) = (numbers(m * k), numbers(n * k), vec![0.0f32; m * n]);
    let cases = [
        ("x · Wᵀ", View::new(&a, k), View::new(&b, k).transposed()),
        ("dy · W", View::new(&a, k), View::new(&b, n)),
        ("dyᵀ · x", View::new(&a, m).transposed(), View::new(&b, n)),
    ];
    let speed = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        2.0 * (m * n * k) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    for (name, x, y) in cases {
        let mut best = [0f64; 2];
        for _ in 0..20 {
            let found = Precision::ALL
                .map(|precision| speed(&mut || matmul(precision, &mut out, n, x, y, false)));
            best.iter_mut().zip(found).for_each(|(best, found)| *best = best.max(found));
        }
        println!("{name:<8} f32 {:6.0}  bf16 {:6.0}", best[0], best[1]);
    }
}

fn time(pairs: usize, mut run: impl FnMut() -> f32) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..50 {
        let start = Instant::now();
        for _ in 0..20 {
            black_box(run());
        }
        best = best.min(start.elapsed().as_secs_f64() / (20 * pairs) as f64);
    }
    best * 1e9
}
