//! Greedy matching: the ends of the strongest edge become one, then those of the next.

use super::{Groups, Step};
use crate::partition::level::Level;
use rayon::prelude::*;

/// Pairs of nodes that an edge joins, the strongest edges first; equals come in random order.
///
/// Around a hub only one edge can be matched, so a level of stars hardly shrinks. Where that would
/// stop us short, nodes left over join the pair at the other end of their strongest edge, as in
/// the aggregation of multigrid methods; then a level has half as many nodes, or the number wanted.
pub(in crate::partition) fn matching(
    level: &Level,
    step: Step,
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
            // Of two neighbours at least one has been matched.
            match (groups.is_alone(u), groups.is_alone(v)) {
                (true, false) => groups.add(u, v),
                (false, true) => groups.add(v, u),
                _ => {}
            }
        }
    }
    groups
}

fn by_strength(level: &Level, step: Step, strength: impl Fn(u32, u32) -> f64 + Sync) -> Vec<(f64, u32, u32)> {
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
