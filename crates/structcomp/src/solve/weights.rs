//! How much each part counts, decided without labels.

/// What is known of a graph and its features.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The share of the features that two halves of a cluster agree on.
    pub(super) own: f64,
    /// The same for the directions that are left after two hops: near zero where features and edges have nothing to do
    /// with each other.
    pub(super) reliability: f64,
    /// The effective number of dimensions after sixteen hops: one or two where the graph mixes so fast that many hops
    /// leave nothing but the degrees.
    pub(super) dimensions: f64,
}

/// Below this reliability of two hops, edges count in proportion to it.
const RELIABLE: f64 = 0.1;
/// The range of dimensions, and that of the features' reliability, over which many hops come to count.
const DIMENSIONS: [f64; 2] = [2.0, 6.0];
const OWN: [f64; 2] = [0.1, 0.25];
/// The least weight of the features themselves, of neighbours, of positions and of sizes.
const LEAST: [f64; 4] = [0.15, 0.03, 0.08, 0.02];
/// What neighbours count where many hops do not.
const NEAR: f64 = 0.6;
/// What the features themselves count further where clusters agree on little of them, and two hops do not make it more:
/// then what a node says of itself is lost over hops. Nothing further where hops make it more by the second factor.
const LOST: f64 = 1.0;
const GAINED: [f64; 2] = [1.2, 1.5];
/// What positions count further where clusters do not agree on the features at all; nothing further from `AGREED` on.
const POSITION: f64 = 0.3;
const AGREED: f64 = 0.3;
/// What sizes count where clusters do not agree at all; no more than the least from `SIZED` on.
const SIZES: f64 = 0.1;
const SIZED: f64 = 0.25;

impl Evidence {
    /// The weights of the features themselves, of neighbours, of two hops, of sixteen, of positions and of sizes; they
    /// sum to one.
    pub(super) fn weights(self) -> [f64; 6] {
        let edges = (self.reliability / RELIABLE).clamp(0.0, 1.0);
        let within = |value: f64, [low, high]: [f64; 2]| ((value - low) / (high - low)).clamp(0.0, 1.0);
        let far = within(self.dimensions, DIMENSIONS).max(within(self.own, OWN)).powi(2);
        let gained = within(self.reliability, GAINED.map(|gain| gain * self.own.max(1e-6)));
        let lost = LOST * edges * (1.0 - gained) * (1.0 - self.own / OWN[1]).max(0.0);
        normalized([
            LEAST[0] + self.own.powi(2) + (1.0 - edges) + lost,
            LEAST[1] + NEAR * edges * (1.0 - far),
            edges * (1.0 - far * (1.0 - self.reliability)),
            edges * far,
            LEAST[2] + POSITION * (1.0 - (self.own / AGREED).min(1.0)),
            LEAST[3].max(SIZES * (1.0 - self.own / SIZED)),
        ])
    }
}

/// Weights that sum to one.
pub(super) fn normalized(weights: [f64; 6]) -> [f64; 6] {
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_without_meaning_leave_the_features_and_positions() {
        let weights = Evidence { own: 0.0, reliability: 0.0, dimensions: 10.0 }.weights();
        assert!(weights[0] > 0.6 && weights[4] > 0.2 && weights[5] > 0.05, "{weights:?}");
        assert!(weights[2] == 0.0 && weights[3] == 0.0);
    }

    #[test]
    fn sixteen_hops_count_most_where_they_leave_dimensions_or_clusters_agree() {
        let many = Evidence { own: 0.1, reliability: 0.5, dimensions: 10.0 }.weights();
        let alike = Evidence { own: 0.4, reliability: 0.5, dimensions: 1.5 }.weights();
        let few = Evidence { own: 0.1, reliability: 0.5, dimensions: 1.5 }.weights();
        assert!(many[3] > many[2] && alike[3] > alike[2] && few[3] == 0.0 && few[1] > many[1]);
        // Hops that make features no more reliable, though clusters agree on little of them.
        let lost = Evidence { own: 0.1, reliability: 0.1, dimensions: 10.0 }.weights();
        let kept = Evidence { own: 0.1, reliability: 0.16, dimensions: 10.0 }.weights();
        assert!(lost[0] > 2.0 * kept[0], "{lost:?} {kept:?}");
        for weights in [many, alike, few, lost, kept] {
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
