//! Evening clusters out whatever it cuts: what METIS 5.1 does to clusters of a few nodes.

use crate::random::mix;
use crate::{Graph, Seed};

/// How often all nodes are visited.
const PASSES: usize = 10;

/// Moves nodes to the smallest cluster next to them until every size is within `imbalance` of the
/// average, or [`PASSES`] times. Bounds are rounded down to whole nodes, as METIS 5.1 has them, so in
/// clusters of ten they cannot be met, and nodes go on moving between clusters that differ by one.
/// Last, nodes move where fewer edges are cut, but only within the bounds.
pub(super) fn even_out(graph: &Graph, part: &mut [u32], clusters: usize, imbalance: f64, seed: Seed) {
    let mut size = vec![0usize; clusters];
    part.iter().for_each(|&cluster| size[cluster as usize] += 1);
    let average = part.len() as f64 / clusters as f64;
    let (least, most) = ((average / (1.0 + imbalance)) as usize, (average * (1.0 + imbalance)) as usize);
    let mut joined = vec![0.0; clusters];
    let salt = seed.key("even out");
    for pass in 0..PASSES {
        if size.iter().all(|size| (least..=most).contains(size)) {
            break;
        }
        let mut moved = false;
        for node in order(graph, part, mix(salt ^ pass as u64)) {
            let own = part[node as usize];
            if size[own as usize] <= least {
                continue;
            }
            let near = join(graph, part, node, &mut joined);
            let open = |cluster: u32| {
                let after = size[cluster as usize] + 1;
                cluster != own && (after <= most || after <= size[own as usize])
            };
            let target = near.iter().copied().filter(|&c| open(c)).min_by_key(|&c| (size[c as usize], c));
            if let Some(target) = target {
                let worse = joined[target as usize] < joined[own as usize];
                let needed = size[own as usize] >= most || size[target as usize] <= least;
                if needed || !worse {
                    shift(part, &mut size, node, target);
                    moved = true;
                }
            }
            forget(&near, &mut joined);
        }
        if !moved {
            break;
        }
    }
    for pass in 0..PASSES {
        let mut moved = false;
        for node in order(graph, part, mix(salt ^ (PASSES + pass) as u64)) {
            let own = part[node as usize];
            let near = join(graph, part, node, &mut joined);
            let open =
                |cluster: u32| cluster != own && size[cluster as usize] < most && size[own as usize] > least;
            let better = |cluster: u32| joined[cluster as usize] > joined[own as usize];
            let target = near
                .iter()
                .copied()
                .filter(|&cluster| open(cluster) && better(cluster))
                .max_by(|&a, &b| joined[a as usize].total_cmp(&joined[b as usize]).then(b.cmp(&a)));
            if let Some(target) = target {
                shift(part, &mut size, node, target);
                moved = true;
            }
            forget(&near, &mut joined);
        }
        if !moved {
            break;
        }
    }
}

fn shift(part: &mut [u32], size: &mut [usize], node: u32, target: u32) {
    let own = std::mem::replace(&mut part[node as usize], target);
    size[own as usize] -= 1;
    size[target as usize] += 1;
}

/// The clusters around a node, with the weight that joins it to each in `joined`.
fn join(graph: &Graph, part: &[u32], node: u32, joined: &mut [f64]) -> Vec<u32> {
    let weights = graph.edge_weights(node);
    let mut near = Vec::new();
    for (i, &neighbor) in graph.neighbors(node).iter().enumerate() {
        let cluster = part[neighbor as usize];
        if joined[cluster as usize] == 0.0 {
            near.push(cluster);
        }
        joined[cluster as usize] += weights.map_or(1.0, |weights| weights[i] as f64);
    }
    near
}

fn forget(near: &[u32], joined: &mut [f64]) {
    near.iter().for_each(|&cluster| joined[cluster as usize] = 0.0);
}

/// Nodes with edges to other clusters, those first that are joined to others most and to their own least.
fn order(graph: &Graph, part: &[u32], salt: u64) -> Vec<u32> {
    let mut wish: Vec<(f64, u64, u32)> = Vec::new();
    for node in 0..part.len() as u32 {
        let mut others: Vec<u32> = graph.neighbors(node).iter().map(|&v| part[v as usize]).collect();
        let inside = others.iter().filter(|&&cluster| cluster == part[node as usize]).count();
        let outside = others.len() - inside;
        if outside == 0 {
            continue;
        }
        others.sort_unstable();
        others.dedup();
        let clusters = others.len() - usize::from(inside > 0);
        wish.push((outside as f64 / (clusters as f64).sqrt() - inside as f64, mix(salt ^ node as u64), node));
    }
    wish.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    wish.into_iter().map(|(_, _, node)| node).collect()
}
