//! The rows most alike to each row, found by tiles: products of all rows with all are never held at once.

use crate::matrix::{Right, Sum, View};
use rayon::prelude::*;

/// Rows that one task searches for.
const ROWS: usize = 64;
/// Rows that are searched at once.
const OTHERS: usize = 512;

/// For each of the rows of length one, `count` rows of the largest product with it, itself included, the
/// largest first and the first of equal ones.
pub(super) fn nearest(rows: &[f32], width: usize, count: usize) -> Vec<u32> {
    let total = rows.len() / width;
    let count = count.min(total);
    let view = View::new(rows, width);
    let all = Right::new(view.t(), total);
    let tasks: Vec<usize> = (0..total).step_by(ROWS).collect();
    let search = |&first: &usize| {
        let own = first..(first + ROWS).min(total);
        let mut found: Vec<Found> = own.clone().map(|_| Found::new(count)).collect();
        let mut tile = vec![0f32; own.len() * OTHERS.min(total)];
        for start in (0..total).step_by(OTHERS) {
            let others = start..(start + OTHERS).min(total);
            let tile = &mut tile[..own.len() * others.len()];
            let (a, part) = (view.part(own.clone(), 0..width), (0..width, others.clone()));
            all.multiply_part(a, part, tile, 0, Sum::Set);
            for (found, products) in found.iter_mut().zip(tile.chunks(others.len())) {
                products.iter().zip(others.start as u32..).for_each(|(&product, at)| found.see(product, at));
            }
        }
        found.into_iter().flat_map(|found| found.best.into_iter().map(|(_, at)| at)).collect::<Vec<u32>>()
    };
    tasks.par_iter().flat_map_iter(search).collect()
}

/// The best so far, the largest first.
struct Found {
    best: Vec<(f32, u32)>,
    count: usize,
}

impl Found {
    fn new(count: usize) -> Self {
        Self { best: Vec::with_capacity(count + 1), count }
    }

    #[inline]
    fn see(&mut self, product: f32, at: u32) {
        if self.best.len() == self.count && !self.best.last().is_some_and(|worst| product > worst.0) {
            return;
        }
        let place = self.best.partition_point(|other| other.0 >= product);
        self.best.insert(place, (product, at));
        self.best.truncate(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::super::some_rows;
    use super::super::unitary::Unitary;
    use super::*;

    #[test]
    fn they_are_those_of_a_full_sort() {
        let (count, width) = (700, 6);
        let rows = Unitary::new(some_rows(count, width, 1), width).values;
        let found = nearest(&rows, width, 5);
        for row in [0, 63, 64, 511, 512, 699] {
            let product = |other: usize| -> f32 {
                let pair = rows[row * width..][..width].iter().zip(&rows[other * width..][..width]);
                pair.map(|(a, b)| a * b).sum()
            };
            let mut all: Vec<usize> = (0..count).collect();
            all.sort_by(|&a, &b| product(b).total_cmp(&product(a)));
            let got: Vec<usize> = found[row * 5..][..5].iter().map(|&at| at as usize).collect();
            assert_eq!((got[0], &got[..]), (row, &all[..5]));
        }
    }

    #[test]
    fn no_more_are_found_than_there_are_and_numbers_beyond_all_do_no_harm() {
        assert_eq!(nearest(&[1.0, 1.0, 1.0], 1, 5), [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(nearest(&[f32::NAN, 1.0], 1, 1).len(), 2);
    }
}
