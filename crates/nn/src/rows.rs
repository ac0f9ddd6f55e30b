//! Work on the rows of matrices by all threads.

use rayon::prelude::*;

use crate::kernel::fetch;

/// Rows that one task takes: enough to be worth a task, few enough to share out.
const CHUNK: usize = 8;

/// Does something with every row and its number.
pub fn each<F: Send>(matrix: &mut [F], width: usize, work: impl Fn(usize, &mut [F]) + Sync) {
    let width = width.max(1);
    matrix.par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, rows)| {
        for (at, row) in rows.chunks_mut(width).enumerate() {
            work(chunk * CHUNK + at, row);
        }
    });
}

/// Does something with every row of two matrices and its number; the second may be empty.
pub fn each_two<F: Send, G: Send>(
    first: (&mut [F], usize),
    second: (&mut [G], usize),
    work: impl Fn(usize, &mut [F], &mut [G]) + Sync,
) {
    let [width, other] = [first.1.max(1), second.1.max(1)];
    if second.0.is_empty() {
        return each(first.0, width, |number, row| work(number, row, &mut []));
    }
    let first = first.0.par_chunks_mut(CHUNK * width);
    let second = second.0.par_chunks_mut(CHUNK * other);
    first.zip(second).enumerate().for_each(|(chunk, (first, second))| {
        let rows = first.chunks_mut(width).zip(second.chunks_mut(other));
        for (at, (first, second)) in rows.enumerate() {
            work(chunk * CHUNK + at, first, second);
        }
    });
}

/// Does something with the rows whose numbers are listed, in order.
pub fn each_of<F: Send>(
    matrix: &mut [F],
    width: usize,
    list: &[u32],
    work: impl Fn(u32, &mut [F]) + Sync,
) {
    const ROWS: usize = 64;
    let width = width.max(1);
    matrix.par_chunks_mut(ROWS * width).enumerate().for_each(|(chunk, rows)| {
        let first = chunk * ROWS;
        let [from, to] = [first, first + ROWS]
            .map(|end| list.partition_point(|listed| (*listed as usize) < end));
        for &listed in &list[from..to] {
            work(listed, &mut rows[(listed as usize - first) * width..][..width]);
        }
    });
}

/// Does something with every `few` rows, and the number of the first.
pub fn each_few<F: Send>(
    matrix: &mut [F],
    width: usize,
    few: usize,
    work: impl Fn(usize, &mut [F]) + Sync,
) {
    let chunks = matrix.par_chunks_mut(few * width.max(1)).enumerate();
    chunks.for_each(|(chunk, rows)| work(chunk * few, rows));
}

/// Does something with every group of rows, given their sizes in rows.
pub fn each_group<F: Send>(
    matrix: &mut [F],
    width: usize,
    sizes: impl Iterator<Item = usize>,
    work: impl Fn(usize, &mut [F]) + Sync,
) {
    let mut rest = matrix;
    let mut groups = Vec::new();
    for size in sizes {
        let (group, after) = std::mem::take(&mut rest).split_at_mut(size * width);
        groups.push(group);
        rest = after;
    }
    let tasks = groups.into_par_iter().with_min_len(CHUNK).enumerate();
    tasks.for_each(|(number, group)| work(number, group));
}

/// Does something with every group of rows of two matrices, given their sizes in rows.
pub fn each_group_two<F: Send, G: Send>(
    first: (&mut [F], usize),
    second: (&mut [G], usize),
    sizes: &[usize],
    work: impl Fn(usize, &mut [F], &mut [G]) + Sync,
) {
    let (mut a, mut b) = (first.0, second.0);
    let mut groups = Vec::new();
    for size in sizes {
        let (group, after) = std::mem::take(&mut a).split_at_mut(size * first.1);
        let (other, rest) = std::mem::take(&mut b).split_at_mut(size * second.1);
        groups.push((group, other));
        (a, b) = (after, rest);
    }
    let tasks = groups.into_par_iter().with_min_len(CHUNK).enumerate();
    tasks.for_each(|(number, (group, other))| work(number, group, other));
}

/// A table of rows with two numbers of the same kind beside each of its numbers, and one per row.
pub struct Table<'a, F, G> {
    /// The numbers.
    pub x: &'a mut [F],
    /// The first beside them.
    pub m: &'a mut [F],
    /// The second beside them.
    pub v: &'a mut [F],
    /// The one of each row.
    pub row: &'a mut [G],
}

/// Does something with rows of a table: those whose numbers are in `list`, in order, with their place in
/// it; and if `all` is set with the others too. Each task has something of its own to work with.
pub fn each_listed<F: Send, G: Send, T: Default>(
    table: Table<'_, F, G>,
    width: usize,
    list: &[u32],
    all: bool,
    work: impl Fn(Option<usize>, Table<'_, F, G>, &mut T) + Sync,
) {
    const ROWS: usize = 32;
    let Table { x, m, v, row } = table;
    // Where few of many rows are listed, a task still has about as many of them.
    let rows = if all { ROWS } else { ROWS * row.len().div_ceil(list.len().max(1)) };
    let step = rows * width.max(1);
    let chunks = x.par_chunks_mut(step).zip(m.par_chunks_mut(step)).zip(v.par_chunks_mut(step));
    chunks.zip(row.par_chunks_mut(rows)).enumerate().for_each(|(chunk, (((x, m), v), row))| {
        let first = chunk * rows;
        let mut at = list.partition_point(|&listed| (listed as usize) < first);
        let (mut number, mut own) = (0, T::default());
        while number < row.len() {
            let next = list.get(at).map(|&listed| listed as usize - first);
            let place = (next == Some(number)).then_some(at);
            if place.is_none() && !all {
                // On to the next one listed, if it is in this chunk.
                number = next.unwrap_or(usize::MAX);
                continue;
            }
            // The next one is far away in memory.
            if let Some(&next) = list.get(at + usize::from(place.is_some())) {
                let next = (next as usize - first) * width;
                for numbers in [&*x, &*m, &*v] {
                    numbers.get(next..next + width).into_iter().for_each(fetch);
                }
            }
            let here = number * width..(number + 1) * width;
            let [x, m, v] = [&mut *x, &mut *m, &mut *v].map(|numbers| &mut numbers[here.clone()]);
            work(place, Table { x, m, v, row: &mut row[number..=number] }, &mut own);
            at += usize::from(place.is_some());
            number += 1;
        }
    });
}

/// Does something with parts of a table of one long row.
pub fn each_part<F: Send>(
    table: [&mut [F]; 3],
    part: usize,
    work: impl Fn(usize, [&mut [F]; 3]) + Sync,
) {
    let [x, m, v] = table.map(|numbers| numbers.par_chunks_mut(part));
    x.zip(m).zip(v).enumerate().for_each(|(at, ((x, m), v))| work(at, [x, m, v]));
}

/// A buffer of this length, in the memory it has where that is enough; what it holds is stale.
pub fn reuse<F: Clone + Default>(buffer: &mut Vec<F>, len: usize) -> &mut [F] {
    buffer.resize(len, F::default());
    buffer
}

/// A buffer of this length that holds zeros.
pub fn zeros<F: Clone + Default>(buffer: &mut Vec<F>, len: usize) -> &mut [F] {
    buffer.clear();
    buffer.resize(len, F::default());
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_seen_once() {
        let (mut a, mut b) = (vec![0usize; 100 * 3], vec![0usize; 100 * 2]);
        each(&mut a, 3, |number, row| row.iter_mut().for_each(|x| *x += number));
        each_two((&mut a, 3), (&mut b, 2), |number, a, b| {
            assert!(a.iter().all(|x| *x == number));
            b.fill(a[0] + 1);
        });
        assert!(b.iter().enumerate().all(|(at, x)| *x == at / 2 + 1));
    }

    #[test]
    fn rows_of_a_list_are_seen_and_no_others() {
        let mut matrix = vec![0; 3 * 200];
        each_of(&mut matrix, 3, &[0, 63, 64, 199], |number, row| row.fill(number + 1));
        for (number, row) in matrix.chunks(3).enumerate() {
            let listed = [0, 63, 64, 199].contains(&number);
            assert!(row.iter().all(|x| *x as usize == if listed { number + 1 } else { 0 }));
        }
    }

    #[test]
    fn listed_rows_are_seen_with_their_place() {
        let list = [0u32, 3, 31, 32, 70, 99];
        for all in [false, true] {
            let [mut x, mut m, mut v] = [0, 1, 2].map(|_| vec![0i64; 200]);
            let mut row = vec![-1i64; 100];
            let table = Table { x: &mut x, m: &mut m, v: &mut v, row: &mut row };
            each_listed(table, 2, &list, all, |place, table, ()| {
                assert_eq!(
                    [table.x.len(), table.m.len(), table.v.len(), table.row.len()],
                    [2, 2, 2, 1]
                );
                table.x.fill(1);
                table.row[0] = place.map_or(-2, |place| place as i64);
            });
            for number in 0..100 {
                let place = list.iter().position(|listed| *listed == number as u32);
                let expected = place.map_or(if all { -2 } else { -1 }, |place| place as i64);
                assert_eq!(row[number], expected);
                assert_eq!(x[2 * number], i64::from(all || place.is_some()));
            }
        }
    }
}
