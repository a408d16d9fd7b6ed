//! Agreement of clusters with classes, independent of their numbering.

use crate::{Error, Labels, Result};
use serde::Serialize;
use std::collections::BTreeMap;

/// How well clusters match classes, over the labelled nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Normalized mutual information: the mutual information over the mean of both entropies. 1 if clusters and
    /// classes are the same.
    pub nmi: f64,
    /// Adjusted Rand index: pairs that are together in both, corrected for chance. 1 if clusters and classes are the
    /// same, 0 on average for random clusters.
    pub ari: f64,
}

impl Agreement {
    /// Compares the cluster of each node with its class.
    ///
    /// ```
    /// use structcomp::evaluate::Agreement;
    /// use structcomp::Labels;
    ///
    /// let labels = Labels::from_signed([0, 0, 1, 1, -1])?;
    /// let same = Agreement::of(&[7, 7, 2, 2, 2], &labels)?;
    /// assert_eq!((same.nmi, same.ari), (1.0, 1.0));
    /// # Ok::<(), structcomp::Error>(())
    /// ```
    pub fn of(clusters: &[u32], labels: &Labels) -> Result<Self> {
        if clusters.len() != labels.nodes() {
            let (given, nodes) = (clusters.len(), labels.nodes());
            return Err(Error::Input(format!(
                "there are clusters for {given} nodes, but labels for {nodes}"
            )));
        }
        // Sorted maps, so that sums have a fixed order.
        let (mut both, mut cluster, mut class) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (&a, b) in clusters.iter().zip(labels.iter()).filter_map(|(a, b)| Some((a, b?))) {
            *both.entry((a, b)).or_insert(0u64) += 1;
            *cluster.entry(a).or_insert(0u64) += 1;
            *class.entry(b).or_insert(0u64) += 1;
        }
        let total: u64 = class.values().sum();
        if total == 0 {
            return Err(Error::Input(
                "no node has a label, so clusters cannot be compared with classes".into(),
            ));
        }
        let information = both.iter().map(|(&(a, b), &count)| {
            let expected = cluster[&a] as f64 * class[&b] as f64 / total as f64;
            count as f64 / total as f64 * (count as f64 / expected).ln()
        });
        let mean = (entropy(cluster.values(), total) + entropy(class.values(), total)) / 2.0;
        // One cluster and one class are the same, though both entropies are zero.
        let nmi = if mean > 0.0 { (information.sum::<f64>() / mean).clamp(0.0, 1.0) } else { 1.0 };
        let ari = rand_index(pairs(both.values()), pairs(cluster.values()), pairs(class.values()), total);
        Ok(Self { nmi, ari })
    }
}

fn entropy<'a>(sizes: impl Iterator<Item = &'a u64>, total: u64) -> f64 {
    sizes.map(|&size| size as f64 / total as f64).map(|share| -share * share.ln()).sum()
}

/// The number of pairs that are together.
fn pairs<'a>(sizes: impl Iterator<Item = &'a u64>) -> f64 {
    sizes.map(|&size| size as f64 * (size as f64 - 1.0) / 2.0).sum()
}

fn rand_index(both: f64, cluster: f64, class: f64, total: u64) -> f64 {
    let all = total as f64 * (total as f64 - 1.0) / 2.0;
    let chance = if all > 0.0 { cluster * class / all } else { 0.0 };
    let most = (cluster + class) / 2.0;
    // Both are a single cluster, or every node is by itself in both: then they are the same.
    if most == chance { 1.0 } else { (both - chance) / (most - chance) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(clusters: &[u32], classes: &[i64]) -> Agreement {
        Agreement::of(clusters, &Labels::from_signed(classes.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn six_nodes_agree_as_computed_by_hand() {
        // Clusters {0 1 2} {3 4 5}, classes {0 1} {2 3} {4 5}: counts 2 1 0 / 0 1 2.
        let found = of(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 2, 2]);
        // The entropy of the class is log 3, and log 3 - ⅔ log 2 once its cluster is known.
        let (ln2, ln3) = (2f64.ln(), 3f64.ln());
        assert!((found.nmi - 2.0 / 3.0 * ln2 / ((ln2 + ln3) / 2.0)).abs() < 1e-15);
        // Pairs together: 2 in both, 6 and 3 of 15: expected 6 · 3 / 15 = 1.2.
        assert!((found.ari - (2.0 - 1.2) / (4.5 - 1.2)).abs() < 1e-15);
    }

    #[test]
    fn numbering_and_order_do_not_matter() {
        let (a, b) = ([0, 0, 1, 1, 2, 2, 2], [1, 1, 1, 0, 0, 2, 2]);
        let (ab, ba) = (of(&a, &b.map(i64::from)), of(&b, &a.map(i64::from)));
        assert!((ab.nmi - ba.nmi).abs() < 1e-15 && (ab.ari - ba.ari).abs() < 1e-15);
        let renamed = of(&a.map(|c| 9 - c), &b.map(i64::from));
        assert!((ab.nmi - renamed.nmi).abs() < 1e-15 && (ab.ari - renamed.ari).abs() < 1e-15);
    }

    #[test]
    fn independent_clusters_have_no_information_and_worse_than_chance_is_negative() {
        // A square: rows against columns. Pairs together: 0 in both, 2 and 2 of 6.
        let square = of(&[0, 0, 1, 1], &[0, 1, 0, 1]);
        assert_eq!(square.nmi, 0.0);
        assert!((square.ari - (0.0 - 4.0 / 6.0) / (2.0 - 4.0 / 6.0)).abs() < 1e-15);
    }

    #[test]
    fn unlabelled_nodes_are_ignored_and_trivial_clusters_agree() {
        assert_eq!(of(&[0, 0, 1, 1, 0], &[4, 4, 2, 2, -1]), Agreement { nmi: 1.0, ari: 1.0 });
        assert_eq!(of(&[3, 3], &[1, 1]), Agreement { nmi: 1.0, ari: 1.0 });
        assert_eq!(of(&[0, 1], &[1, 0]), Agreement { nmi: 1.0, ari: 1.0 });
        assert_eq!(of(&[0, 0], &[1, 0]), Agreement { nmi: 0.0, ari: 0.0 });
        let labels = Labels::from_signed([-1, -1]).unwrap();
        assert!(Agreement::of(&[0, 1], &labels).is_err());
        assert!(Agreement::of(&[0], &labels).is_err());
    }
}
