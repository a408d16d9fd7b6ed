//! How clusters are distributed over connected components.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of clusters of each component.
pub(super) struct Shares {
    /// Zero for components that share the pool.
    pub(super) of: Vec<usize>,
    /// The number of clusters shared by small components.
    pub(super) pool: usize,
}

/// Shares in proportion to the number of nodes that add up to `clusters`. Components that are due less
/// than one cluster share a pool. Clusters left over by rounding go to the largest remainders.
pub(super) fn exact(sizes: &[u32], clusters: usize) -> Shares {
    let nodes: u64 = sizes.iter().map(|&size| size as u64).sum();
    let due = |size: u64| (size * clusters as u64 / nodes, size * clusters as u64 % nodes);
    let mut of: Vec<usize> = sizes.iter().map(|&size| due(size as u64).0 as usize).collect();
    let pooled: u64 = sizes.iter().zip(&of).filter(|(_, of)| **of == 0).map(|(&size, _)| size as u64).sum();
    // If small components exist, the large ones are due less than `clusters`, so the pool gets at least one.
    let mut pool = if pooled > 0 { due(pooled).0.max(1) as usize } else { 0 };
    let mut remainders: Vec<(Reverse<u64>, usize)> = (0..sizes.len())
        .filter(|&c| of[c] > 0)
        .map(|c| (Reverse(due(sizes[c] as u64).1), c))
        .chain((due(pooled).0 > 0).then_some((Reverse(due(pooled).1), sizes.len())))
        .collect();
    remainders.sort_unstable();
    let left = clusters - pool - of.iter().sum::<usize>();
    for &(_, c) in &remainders[..left] {
        *of.get_mut(c).unwrap_or(&mut pool) += 1;
    }
    Shares { of, pool }
}

/// The same ratio for every component, rounded up; components of up to `small` nodes keep every node.
pub(super) fn same_ratio(sizes: &[u32], clusters: usize, small: u32) -> Shares {
    let nodes: u64 = sizes.iter().map(|&size| size as u64).sum();
    let share = |&size: &u32| match size {
        size if size <= small => size as usize,
        size => (size as u64 * clusters as u64).div_ceil(nodes) as usize,
    };
    Shares { of: sizes.iter().map(share).collect(), pool: 0 }
}

/// Assigns the pooled components to the clusters of the pool: from the largest down, each goes to the
/// cluster with the fewest nodes so far. There are at least as many components as clusters, so none
/// stays empty.
pub(super) fn packed(sizes: &[u32], shares: &Shares) -> Vec<(usize, u32)> {
    let mut pooled: Vec<usize> = (0..sizes.len()).filter(|&c| shares.of[c] == 0).collect();
    pooled.sort_by_key(|&c| Reverse(sizes[c]));
    let mut bins: BinaryHeap<Reverse<(u64, u32)>> =
        (0..shares.pool as u32).map(|bin| Reverse((0, bin))).collect();
    let mut place = |c: usize| {
        let mut least = bins.peek_mut()?;
        least.0.0 += sizes[c] as u64;
        Some((c, least.0.1))
    };
    pooled.into_iter().filter_map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_components_share_clusters_and_large_ones_are_split() {
        // 40 nodes into 4 clusters: ten nodes each.
        let sizes = [25, 1, 8, 2, 4];
        let shares = exact(&sizes, 4);
        assert_eq!((&shares.of[..], shares.pool), (&[3, 0, 0, 0, 0][..], 1));
        let shares = exact(&sizes, 12);
        // Due 7.5, .3, 2.4, .6 and 1.2; the pool .9, so one.
        assert_eq!((&shares.of[..], shares.pool), (&[8, 0, 2, 0, 1][..], 1));
        assert_eq!(packed(&sizes, &shares), [(3, 0), (1, 0)]);
        // Due 2.13 and 1.87.
        assert_eq!(exact(&[16, 14], 4).of, [2, 2]);
        assert_eq!(same_ratio(&sizes, 12, 4).of, [8, 1, 3, 2, 4]);
    }

    proptest! {
        #[test]
        fn shares_add_up_and_can_be_filled(
            sizes in prop::collection::vec(1u32..30, 1..40),
            share in 0.0f64..=1.0,
        ) {
            let nodes = sizes.iter().sum::<u32>() as usize;
            let clusters = 1 + (share * (nodes - 1) as f64) as usize;
            let shares = exact(&sizes, clusters);
            prop_assert_eq!(shares.of.iter().sum::<usize>() + shares.pool, clusters);
            prop_assert!(shares.of.iter().zip(&sizes).all(|(&of, &size)| of <= size as usize));
            let placed = packed(&sizes, &shares);
            let pooled = shares.of.iter().filter(|&&of| of == 0).count();
            prop_assert_eq!(placed.len(), pooled);
            for bin in 0..shares.pool as u32 {
                prop_assert!(placed.iter().any(|&(_, at)| at == bin));
            }
        }
    }
}
