//! How much each filter counts, decided without labels.

/// What is known of a graph and its features.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The share of the features that two halves of a cluster agree on.
    pub(super) own: f64,
    /// The share of the two-hop features that two halves of a cluster agree on: near zero where features and edges
    /// have nothing to do with each other.
    pub(super) reliability: f64,
    /// The effective number of dimensions after sixteen hops: one or two where the graph mixes so fast that many hops
    /// leave nothing but the degrees.
    pub(super) dimensions: f64,
}

/// Below this reliability, edges count in proportion to it.
const RELIABLE: f64 = 0.2;
/// With so many dimensions or fewer, many hops do not count; they count in full from `ENOUGH` on.
const TOO_FEW: f64 = 2.0;
const ENOUGH: f64 = 6.0;

impl Evidence {
    /// The weights of the features themselves, of two hops and of sixteen; they sum to one.
    pub(super) fn weights(self) -> [f64; 3] {
        let edges = (self.reliability / RELIABLE).clamp(0.0, 1.0);
        let far = ((self.dimensions - TOO_FEW) / (ENOUGH - TOO_FEW)).clamp(0.0, 1.0).powi(2);
        let near = 1.0 - far * (1.0 - self.reliability);
        let own = self.own.powi(2) + (1.0 - edges);
        normalized([own, edges * near, edges * far])
    }
}

/// Weights that sum to one.
pub(super) fn normalized(weights: [f64; 3]) -> [f64; 3] {
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_without_meaning_leave_the_features_alone() {
        let weights = Evidence { own: 0.0, reliability: 0.0, dimensions: 10.0 }.weights();
        assert_eq!(weights, [1.0, 0.0, 0.0]);
    }

    #[test]
    fn sixteen_hops_count_most_where_they_leave_enough_dimensions() {
        let many = Evidence { own: 0.3, reliability: 0.5, dimensions: 10.0 }.weights();
        let few = Evidence { own: 0.3, reliability: 0.5, dimensions: 1.5 }.weights();
        assert!(many[2] > many[1] && few[1] > few[2]);
        for weights in [many, few] {
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
