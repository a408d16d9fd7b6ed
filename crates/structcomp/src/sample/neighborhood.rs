//! Rows around some roots: a sample of the rows that a loss compares, for losses over all pairs.

use crate::compress::Coarsening;
use crate::random::Rng;
use crate::{Csr, Result, Seed};
use rand::RngExt;

/// How many rows a loss compares at most, and how they are drawn if there are more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Neighborhood {
    pub(crate) size: usize,
    /// Rows around which others are drawn.
    pub(crate) roots: usize,
    /// How many hops around them.
    pub(crate) reach: usize,
}

impl Neighborhood {
    /// The sampler for `rows` rows; none if they are few enough to compare all.
    pub(super) fn drawn(
        &self,
        rows: usize,
        seed: Seed,
        adjacency: impl Fn(&Coarsening) -> Result<Csr>,
    ) -> Result<Option<Drawn>> {
        if rows <= self.size {
            return Ok(None);
        }
        let Self { size, roots, reach } = *self;
        let near = adjacency(&Coarsening::default())?;
        Ok(Some(Drawn { rows, size, roots: roots.min(rows), reach, seed, near }))
    }
}

/// A sampler of rows.
pub(super) struct Drawn {
    rows: usize,
    size: usize,
    roots: usize,
    reach: usize,
    seed: Seed,
    near: Csr,
}

impl Drawn {
    /// Some of the rows around the roots of a step; a row around two roots may be drawn twice.
    pub(super) fn rows(&self, step: usize) -> Vec<u32> {
        let mut rng = self.seed.stream_at("sp-gcl batch", step as u64);
        let roots = chosen((0..self.rows as u32).collect(), self.roots, &mut rng);
        let mut seen = vec![0u32; self.rows];
        let around = roots.iter().zip(1..).flat_map(|(&root, mark)| self.around(root, &mut seen, mark));
        let around: Vec<u32> = around.collect();
        let mut batch = chosen(around, self.size, &mut rng);
        // Sums are rounded in an order that does not depend on the draw.
        batch.sort_unstable();
        batch
    }

    /// A row and all rows within reach of it; `seen` holds a mark for those that were met.
    fn around(&self, root: u32, seen: &mut [u32], mark: u32) -> Vec<u32> {
        let mut met = vec![root];
        seen[root as usize] = mark;
        let mut edge = 0;
        for _ in 0..self.reach {
            let end = met.len();
            for at in edge..end {
                for &next in self.near.row(met[at] as usize).0 {
                    if std::mem::replace(&mut seen[next as usize], mark) != mark {
                        met.push(next);
                    }
                }
            }
            edge = end;
            if edge == met.len() {
                break;
            }
        }
        met
    }
}

/// `count` of them, drawn without replacement.
fn chosen(mut from: Vec<u32>, count: usize, rng: &mut Rng) -> Vec<u32> {
    let count = count.min(from.len());
    for at in 0..count {
        let other = rng.random_range(at..from.len());
        from.swap(at, other);
    }
    from.truncate(count);
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Graph, Partition};

    #[test]
    fn rows_around_the_roots_are_drawn() {
        // A path of 30 rows.
        let edges: Vec<(u32, u32)> = (1..30).map(|v| (v - 1, v)).collect();
        let graph = Graph::from_edges(30, &edges).unwrap();
        let partition = Partition::new((0..30).collect()).unwrap();
        let drawn = |size, roots| {
            let neighborhood = Neighborhood { size, roots, reach: 2 };
            neighborhood.drawn(30, Seed(1), |coarsening| coarsening.adjacency(&graph, &partition)).unwrap()
        };
        assert!(drawn(30, 3).is_none(), "few rows are all compared");
        let one = drawn(29, 1).unwrap();
        for step in 0..10 {
            let rows = one.rows(step);
            let (first, last) = (rows[0], rows[rows.len() - 1]);
            assert!(last - first < 5 && rows.len() as u32 == last - first + 1, "{rows:?}");
        }
        let many = drawn(20, 15).unwrap().rows(0);
        assert_eq!(many.len(), 20);
        assert!(many.windows(2).any(|pair| pair[0] == pair[1]), "around two roots, twice in the batch");
        assert_ne!(many, drawn(20, 15).unwrap().rows(1));
    }
}
