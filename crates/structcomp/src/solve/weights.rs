//! How much each part counts, decided without labels.

use super::prediction::Prediction;

/// What is known of a graph and its features.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The share of the features that two halves of a cluster agree on.
    pub(super) own: f64,
    /// How well features can be told from others of the same node, and from those of its neighbours.
    pub(super) told: Prediction,
    /// How far beyond chance features are correlated with those of neighbours, in standard deviations.
    pub(super) correlated: f64,
    /// The effective number of dimensions after sixteen hops: one or two where the graph mixes so fast that many hops
    /// leave nothing but the degrees.
    pub(super) dimensions: f64,
}

/// Weights of the features themselves, of neighbours, two hops, sixteen hops, positions and sizes where edges have
/// nothing to do with the features.
const UNRELATED: [f64; 6] = [0.62, 0.20, 0.05, 0.0, 0.04, 0.09];
/// What the features themselves, positions and sizes count where they have, and what is left for hops.
const FEATURES: f64 = 0.06;
const POSITIONS: f64 = 0.06;
const SIZES: f64 = 0.02;
const HOPS: f64 = 0.83;
/// What features count further where clusters agree on them, and the range of agreement over which they come to do so:
/// then a single row has little noise, and hops do not improve it.
const AGREED: f64 = 0.35;
const AGREEMENT: [f64; 2] = [0.38, 0.6];
/// The range over which edges come to be related to the features: see [`Evidence::related`].
const RELATED: [f64; 2] = [0.2, 0.5];
/// Predictions worse than this are noise.
const NOISE: f64 = 0.005;
/// The range of predictions from a node's own features over which these come to say something, and the range over which
/// correlations with neighbours come to be more than chance.
const SAYING: [f64; 2] = [0.001, 0.003];
const CORRELATED: [f64; 2] = [4.0, 6.0];
/// The ranges of dimensions and of agreement over which sixteen hops come to count. Where they do not, these are the
/// shares of neighbours and two hops.
const FAR_DIMENSIONS: [f64; 2] = [2.0, 6.0];
const FAR_AGREEMENT: [f64; 2] = [0.1, 0.25];
const NEAR: [f64; 2] = [0.2, 0.65];
/// The share of two hops beside sixteen that leave few dimensions, up to these.
const TWO: f64 = 0.3;
const TWO_DIMENSIONS: [f64; 2] = [2.0, 8.0];

impl Evidence {
    /// How far edges have to do with the features, from 0 to 1: whether neighbours tell about a node's features what its
    /// other features tell, or much at all.
    pub(super) fn related(self) -> f64 {
        let Prediction { own, neighbors } = self.told;
        let told = within((neighbors + NOISE) / (own + NOISE) + neighbors, RELATED);
        // Features that say little are told badly by anything. But if they say something, and those of neighbours are
        // like any others, edges tell nothing.
        told * (1.0 - within(own, SAYING) * (1.0 - within(self.correlated, CORRELATED)))
    }

    /// The weights of the features themselves, of neighbours, of two hops, of sixteen, of positions and of sizes; they
    /// sum to one.
    pub(super) fn weights(self) -> [f64; 6] {
        let far = within(self.dimensions, FAR_DIMENSIONS).max(within(self.own, FAR_AGREEMENT)).powi(2);
        let two = TWO * (1.0 - within(self.dimensions, TWO_DIMENSIONS)) * far;
        let related = [
            FEATURES + AGREED * within(self.own, AGREEMENT),
            HOPS * NEAR[0] * (1.0 - far),
            HOPS * (NEAR[1] * (1.0 - far) + two),
            HOPS * (far - two),
            POSITIONS,
            SIZES,
        ];
        let share = self.related();
        normalized(std::array::from_fn(|at| share * related[at] + (1.0 - share) * UNRELATED[at]))
    }
}

/// Where a value lies in a range, from 0 to 1.
fn within(value: f64, [low, high]: [f64; 2]) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

/// Weights that sum to one.
pub(super) fn normalized(weights: [f64; 6]) -> [f64; 6] {
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(own: f64, told: [f64; 2], dimensions: f64) -> [f64; 6] {
        let told = Prediction { own: told[0], neighbors: told[1] };
        let weights = Evidence { own, told, correlated: 50.0, dimensions }.weights();
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && weights.iter().all(|&w| w >= 0.0));
        weights
    }

    #[test]
    fn edges_without_meaning_leave_the_features() {
        let weights = weights(0.1, [0.4, 0.0], 10.0);
        assert!(weights[0] > 0.6 && weights[3] == 0.0, "{weights:?}");
    }

    #[test]
    fn sixteen_hops_count_most_where_they_leave_dimensions_or_clusters_agree() {
        let [many, alike, few] = [(0.1, 10.0), (0.35, 1.5), (0.1, 1.5)]
            .map(|(own, dimensions)| weights(own, [0.1, 0.08], dimensions));
        assert!(many[3] > 0.8 && many[2] < 0.01, "{many:?}");
        assert!(alike[3] > alike[2] && alike[2] > 0.1 && few[3] == 0.0 && few[1] > 0.1);
    }

    #[test]
    fn features_count_where_clusters_agree_on_them() {
        assert!(weights(0.7, [0.1, 0.1], 10.0)[0] > 3.0 * weights(0.3, [0.1, 0.1], 10.0)[0]);
    }

    #[test]
    fn weak_features_count_more_than_edges_that_are_correlated_by_chance_only() {
        let related = |own: f64, correlated: f64| {
            let told = Prediction { own, neighbors: 0.0 };
            Evidence { own: 0.1, told, correlated, dimensions: 10.0 }.related()
        };
        assert_eq!([related(0.004, 0.5), related(0.004, 30.0), related(0.0, 0.5)], [0.0, 1.0, 1.0]);
    }

    #[test]
    fn features_that_nothing_tells_leave_the_choice_to_hops() {
        assert!(weights(0.1, [0.0, 0.0], 2.0)[2] > 0.5);
    }
}
