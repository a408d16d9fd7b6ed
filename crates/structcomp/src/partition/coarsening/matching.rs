//! Greedy matching: contract the strongest edge, then the next one.

use super::{Groups, LevelLimits};
use crate::partition::level::Level;
use rayon::prelude::*;

/// Matches the ends of edges greedily by decreasing strength; ties are broken at random.
///
/// Only one edge of a hub can be matched, so a graph of stars hardly shrinks. If that would miss the
/// target, unmatched nodes join the pair at the other end of their strongest edge, as in aggregation
/// multigrid. The level then has at most half as many nodes, or reaches its target.
pub(in crate::partition) fn matching(
    level: &Level,
    step: LevelLimits,
    strength: impl Fn(u32, u32) -> f64 + Sync,
) -> Groups {
    let edges = by_strength(level, step, strength);
    let mut groups = Groups::none(level.nodes());
    for &(_, u, v) in &edges {
        if groups.removed() == step.most {
            break;
        }
        if groups.is_alone(u) && groups.is_alone(v) {
            groups.join(&[u, v]);
        }
    }
    if step.stalls(level.nodes(), &groups) {
        for &(_, u, v) in &edges {
            if groups.removed() == step.most {
                break;
            }
            // The matching is maximal: of two neighbours at least one is matched.
            match (groups.is_alone(u), groups.is_alone(v)) {
                (true, false) => groups.add(u, v),
                (false, true) => groups.add(v, u),
                _ => {}
            }
        }
    }
    groups
}

fn by_strength(
    level: &Level,
    step: LevelLimits,
    strength: impl Fn(u32, u32) -> f64 + Sync,
) -> Vec<(f64, u32, u32)> {
    let later = |u: u32| level.neighbors(u).iter().copied().filter(move |&v| u < v);
    let mut edges: Vec<(f64, u32, u32)> = (0..level.nodes() as u32)
        .into_par_iter()
        .flat_map_iter(|u| later(u).map(move |v| (u, v)))
        .map(|(u, v)| (strength(u, v), u, v))
        .collect();
    let chance = |&(_, u, v): &(f64, u32, u32)| step.chance((u as u64) << 32 | v as u64);
    edges.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| chance(a).cmp(&chance(b))));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::partition::coarsening::testing::{chords, levels, step};

    /// The definition: repeatedly the strongest edge with two unmatched ends.
    fn naive(level: &Level, most: usize, strength: impl Fn(u32, u32) -> f64) -> Vec<[u32; 2]> {
        let mut free = vec![true; level.nodes()];
        let mut pairs = Vec::new();
        while pairs.len() < most {
            let mut best = (f64::NEG_INFINITY, [0, 0]);
            for u in (0..level.nodes() as u32).filter(|&u| free[u as usize]) {
                for &v in level.neighbors(u).iter().filter(|&&v| u < v && free[v as usize]) {
                    if strength(u, v) > best.0 {
                        best = (strength(u, v), [u, v]);
                    }
                }
            }
            if best.0 == f64::NEG_INFINITY {
                break;
            }
            best.1.iter().for_each(|&node| free[node as usize] = false);
            pairs.push(best.1);
        }
        pairs
    }

    #[test]
    fn matching_repeatedly_takes_the_strongest_edge() {
        for (seed, most) in [(1, 7), (2, 1000), (3, 20)] {
            let graph = chords(60, 90, seed);
            for level in levels(&graph) {
                let strength =
                    |u: u32, v: u32| (crate::random::mix((u as u64) << 32 | v as u64) >> 20) as f64;
                let pairs = naive(&level, most, strength);
                let got = matching(&level, step(most), strength);
                assert_eq!(got.removed(), pairs.len());
                let (label, count) = got.numbered();
                assert_eq!(count, level.nodes() - pairs.len());
                assert!(pairs.iter().all(|&[u, v]| label[u as usize] == label[v as usize]));
            }
        }
    }

    #[test]
    fn leaves_join_their_hub_only_if_the_target_must_be_reached() {
        let star: Vec<(u32, u32)> = (1..50).map(|leaf| (0, leaf)).collect();
        let graph = Graph::from_edges(50, &star).unwrap();
        let [level, _] = levels(&graph);
        let run = |insist: bool| matching(&level, LevelLimits { insist, ..step(30) }, |_, v| v as f64);
        assert_eq!((run(false).removed(), run(true).removed()), (1, 30));
        let (label, _) = run(true).numbered();
        // The strongest edges are those to the last leaves.
        assert!((20..50).all(|leaf| label[leaf] == label[0]) && label[19] != label[0]);
    }

    #[test]
    fn ties_are_broken_by_the_seed() {
        let star: Vec<(u32, u32)> = (1..50).map(|leaf| (0, leaf)).collect();
        let graph = Graph::from_edges(50, &star).unwrap();
        let [level, _] = levels(&graph);
        let first = |key: u64| {
            let (label, _) = matching(&level, LevelLimits { key, ..step(1) }, |_, _| 1.0).numbered();
            (1..50).find(|&leaf| label[leaf] == label[0])
        };
        assert_eq!(first(1), first(1));
        assert!((0..20).any(|key| first(key) != first(20)));
    }
}
