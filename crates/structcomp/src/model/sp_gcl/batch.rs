//! Which rows an epoch of SP-GCL sees.

use super::super::Setting;
use super::SpGcl;
use crate::{Coarsening, Csr, Result, Seed};
use rand::RngExt;

pub(super) struct Batches {
    rows: usize,
    size: usize,
    roots: usize,
    reach: usize,
    seed: Seed,
    /// Who is next to whom; needed where not all rows are seen.
    near: Option<Csr>,
}

impl Batches {
    pub(super) fn new(config: &SpGcl, on: &Setting) -> Result<Self> {
        let rows = on.rows();
        let near = match rows > config.batch {
            true => Some(Coarsening::default().adjacency(on.graph, on.partition)?),
            false => None,
        };
        let SpGcl { batch: size, roots, reach, .. } = *config;
        Ok(Self { rows, size, roots: roots.min(rows), reach, seed: on.seed, near })
    }

    /// All rows where they are few; otherwise some of those around the roots, and as often as they are
    /// around one.
    pub(super) fn of(&self, epoch: usize) -> Vec<u32> {
        let all: Vec<u32> = (0..self.rows as u32).collect();
        let Some(near) = &self.near else { return all };
        let mut rng = self.seed.stream_at("sp-gcl batch", epoch as u64);
        let roots = chosen(all, self.roots, &mut rng);
        let mut seen = vec![0u32; self.rows];
        let around = roots.iter().zip(1..).flat_map(|(&root, mark)| self.around(near, root, &mut seen, mark));
        let around: Vec<u32> = around.collect();
        let mut batch = chosen(around, self.size, &mut rng);
        // Sums are rounded in an order that does not depend on the draw.
        batch.sort_unstable();
        batch
    }

    /// A row and all that are some hops away at most; `seen` holds a mark for those that were met.
    fn around(&self, near: &Csr, root: u32, seen: &mut [u32], mark: u32) -> Vec<u32> {
        let mut met = vec![root];
        seen[root as usize] = mark;
        let mut edge = 0;
        for _ in 0..self.reach {
            let end = met.len();
            for at in edge..end {
                for &next in near.row(met[at] as usize).0 {
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

/// So many of them, drawn without replacement.
fn chosen(mut from: Vec<u32>, count: usize, rng: &mut crate::Rng) -> Vec<u32> {
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
    fn few_rows_are_all_seen_and_of_many_those_around_the_roots() {
        // A path of 30 rows.
        let edges: Vec<(u32, u32)> = (1..30).map(|v| (v - 1, v)).collect();
        let graph = Graph::from_edges(30, &edges).unwrap();
        let partition = Partition::new((0..30).collect()).unwrap();
        let on = Setting { graph: &graph, partition: &partition, seed: Seed(1) };
        let batches =
            |batch, roots| Batches::new(&SpGcl { batch, roots, reach: 2, ..SpGcl::default() }, &on).unwrap();
        assert_eq!(batches(30, 3).of(0), (0..30).collect::<Vec<_>>());
        let one = batches(29, 1);
        for epoch in 0..10 {
            let batch = one.of(epoch);
            let (first, last) = (batch[0], batch[batch.len() - 1]);
            assert!(last - first < 5 && batch.len() as u32 == last - first + 1, "{batch:?}");
        }
        let many = batches(20, 15).of(0);
        assert_eq!(many.len(), 20);
        assert!(many.windows(2).any(|pair| pair[0] == pair[1]), "around two roots, twice in the batch");
        assert_ne!(many, batches(20, 15).of(1));
    }
}
