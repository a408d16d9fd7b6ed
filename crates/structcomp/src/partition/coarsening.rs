//! Coarsening: some nodes are contracted into one, level by level, until few enough are left.
//!
//! This is the part that three methods share. They differ in which nodes of a level they put
//! together ([`Rule`]), and see connected graphs only: each component is coarsened by itself.

pub(super) mod laplacian;
pub(super) mod matching;
mod shares;

use super::level::{Level, group};
use super::{Partition, check_clusters};
use crate::random::mix;
use crate::{Graph, Result, Seed};
use rayon::prelude::*;

/// How far a coarsening method goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// To exactly the clusters asked for. A component gets its share of them, by its nodes;
    /// components too small for one cluster are put together, the largest first, into the smallest.
    #[default]
    Exact,
    /// As the paper's authors ran it: each component of more than ten nodes by the same ratio, in at
    /// most ten levels, as long as a level removes more than two nodes. The nodes of smaller
    /// components are clusters of one. So there are more clusters than asked for: 450 instead
    /// of 271 for Cora.
    PerComponent,
}

impl Reduction {
    /// What the shared setting means.
    pub(super) fn of(per_component: bool) -> Self {
        if per_component { Self::PerComponent } else { Self::Exact }
    }
}

/// With [`Reduction::PerComponent`], components of so many nodes stay as they are.
const SMALL: u32 = 10;
/// With [`Reduction::PerComponent`], no more levels than this.
const LEVELS: usize = 10;
/// With [`Reduction::PerComponent`], a level that removes no more nodes than this is the end.
const FEW: usize = 2;

/// How a method chooses what becomes one; made anew for each component, so it may keep a state.
pub(super) trait Rule {
    /// Puts nodes of `level`, which is connected, into groups.
    fn groups(&mut self, level: &Level, step: Step) -> Groups;
}

/// What is wanted of a level.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The most nodes that may go.
    pub(super) most: usize,
    /// Whether groups that the method would not make are better than hardly any. Then at least one
    /// node goes, and in two levels at least a tenth of them.
    pub(super) insist: bool,
    /// For what is random.
    pub(super) key: u64,
}

impl Step {
    /// Whether so few nodes would go that the method has to be helped.
    pub(super) fn stalls(&self, nodes: usize, groups: &Groups) -> bool {
        self.insist && groups.removed < self.most && groups.removed * 10 < nodes
    }

    /// Orders equals at random, but the same way each time. No two items get the same number.
    pub(super) fn chance(&self, item: u64) -> u64 {
        mix(self.key ^ item)
    }
}

/// Disjoint groups of nodes that become one each; all others stay alone.
pub(super) struct Groups {
    /// A node that stands for the group.
    leader: Vec<u32>,
    removed: usize,
}

const ALONE: u32 = u32::MAX;

impl Groups {
    pub(super) fn none(nodes: usize) -> Self {
        Self { leader: vec![ALONE; nodes], removed: 0 }
    }

    pub(super) fn is_alone(&self, node: u32) -> bool {
        self.leader[node as usize] == ALONE
    }

    /// How many nodes go when every group becomes one.
    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    /// Makes a group of nodes that are alone.
    pub(super) fn join(&mut self, members: &[u32]) {
        members.iter().for_each(|&node| self.leader[node as usize] = members[0]);
        self.removed += members.len() - 1;
    }

    /// Puts a node that is alone into the group of another.
    pub(super) fn add(&mut self, node: u32, to: u32) {
        self.leader[node as usize] = self.leader[to as usize];
        self.removed += 1;
    }

    /// The number of each node's group, in the order of their first nodes, and how many there are.
    pub(super) fn numbered(&self) -> (Vec<u32>, usize) {
        let mut number = vec![ALONE; self.leader.len()];
        let mut count = 0;
        let mut label = Vec::with_capacity(self.leader.len());
        for (node, &leader) in self.leader.iter().enumerate() {
            let slot = &mut number[if leader == ALONE { node } else { leader as usize }];
            if *slot == ALONE {
                *slot = count;
                count += 1;
            }
            label.push(*slot);
        }
        (label, count as usize)
    }
}

/// The partition that a method's rule makes.
pub(super) fn coarsened<R: Rule>(
    graph: &Graph,
    clusters: usize,
    reduction: Reduction,
    seed: Seed,
    rule: impl Fn() -> R + Sync,
) -> Result<Partition> {
    check_clusters(graph.nodes(), clusters)?;
    let components = graph.components();
    let sizes = components.sizes();
    let (starts, members) = group(components.of(), components.count());
    let nodes = |c: usize| &members[starts[c] as usize..starts[c + 1] as usize];
    let mut place = vec![0; graph.nodes()];
    for c in 0..sizes.len() {
        (0..).zip(nodes(c)).for_each(|(at, &node)| place[node as usize] = at);
    }
    let targets = match reduction {
        Reduction::Exact => shares::exact(sizes, clusters),
        Reduction::PerComponent => shares::same_ratio(sizes, clusters, SMALL),
    };
    let labels: Vec<Vec<u32>> = (0..sizes.len())
        .into_par_iter()
        .filter(|&c| (1..sizes[c] as usize).contains(&targets.of[c]))
        .map(|c| {
            let key = mix(seed.key("coarsening") ^ c as u64);
            coarsen(Level::component(graph, nodes(c), &place), targets.of[c], reduction, key, rule())
        })
        .collect();
    let mut labels = labels.into_iter();
    let (mut cluster, mut next) = (vec![0; graph.nodes()], 0);
    for c in 0..sizes.len() {
        // What was left out above keeps every node, or has no cluster of its own.
        let label = match targets.of[c] {
            0 => continue,
            target if target == sizes[c] as usize => (0..sizes[c]).collect(),
            _ => labels.next().unwrap_or_default(),
        };
        nodes(c).iter().zip(&label).for_each(|(&node, &label)| cluster[node as usize] = next + label);
        next += label.iter().max().map_or(0, |last| last + 1);
    }
    for (c, bin) in shares::packed(sizes, &targets) {
        nodes(c).iter().for_each(|&node| cluster[node as usize] = next + bin);
    }
    Partition::new(cluster)
}

/// Contracts a connected graph until `target` nodes are left; the number of each node's.
fn coarsen(level: Level, target: usize, reduction: Reduction, key: u64, mut rule: impl Rule) -> Vec<u32> {
    let exact = reduction == Reduction::Exact;
    let mut part: Vec<u32> = (0..level.nodes() as u32).collect();
    let mut level = level;
    for round in 0.. {
        let nodes = level.nodes();
        if nodes <= target || (!exact && round == LEVELS) {
            break;
        }
        // As in the published driver, one node of a hundred stays at least.
        let most = (nodes - target).min(nodes * 99 / 100);
        let step = Step { most, insist: exact, key: mix(key ^ round as u64) };
        let (label, count) = rule.groups(&level, step).numbered();
        if count == nodes || (!exact && nodes - count <= FEW) {
            break;
        }
        part.iter_mut().for_each(|part| *part = label[*part as usize]);
        level = level.contract(&label, count);
    }
    part
}
