//! Statistics of a dataset, as printed by `structcomp info`.

use crate::graph::Repairs;
use crate::{Dataset, Features, Graph, NodeIds, Result};
use rayon::prelude::*;
use serde::Serialize;

/// Statistics of a dataset.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Sizes and origin.
    pub data: DataSummary,
    /// Number of connected components.
    pub components: usize,
    /// Nodes in the largest component.
    pub largest_component: usize,
    /// Share of edges within a class; `None` without labels.
    pub homophily: Option<f64>,
    /// Distribution of node degrees.
    pub degree: Degrees,
}

/// The sizes of a dataset and where it came from.
#[derive(Clone, Debug, Serialize)]
pub struct DataSummary {
    /// Name of the dataset.
    pub name: String,
    /// Whether the dataset was generated.
    pub synthetic: bool,
    /// SHA-256 of the files.
    pub sha256: String,
    /// The format it was read as.
    pub format: &'static str,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of undirected edges.
    pub edges: usize,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Features per node, if there are features.
    pub features: Option<usize>,
    /// Details of the features, if there are features.
    pub feature_matrix: Option<FeatureSummary>,
    /// Number of classes, if there are labels.
    pub classes: Option<usize>,
    /// Nodes per class, if there are labels.
    pub class_sizes: Option<Vec<usize>>,
    /// Unlabelled nodes, if there are labels.
    pub unlabelled: Option<usize>,
    /// `implicit`, `numbers` or `names`.
    pub ids: &'static str,
    /// The splits that came with the data.
    pub splits: Vec<SplitSummary>,
    /// Repairs made while reading.
    pub repairs: Repairs,
    /// Remarks that matter for the results.
    pub notes: Vec<String>,
}

/// How features are stored, and how sparse they are.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureSummary {
    /// `dense` or `sparse`.
    pub storage: &'static str,
    /// Whether they are memory-mapped.
    pub mapped: bool,
    /// Number of non-zero values.
    pub nonzeros: usize,
    /// Rows of zeros only.
    pub zero_rows: usize,
}

/// The sizes of a set of splits.
#[derive(Clone, Debug, Serialize)]
pub struct SplitSummary {
    /// `public`, `geom-gcn`, …
    pub name: String,
    /// Number of splits.
    pub splits: usize,
    /// Training nodes of the first split.
    pub train: usize,
    /// Validation nodes of the first split.
    pub validation: usize,
    /// Test nodes of the first split.
    pub test: usize,
}

/// The distribution of node degrees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Degrees {
    /// Smallest degree.
    pub min: usize,
    /// Median degree; the mean of the middle two for an even number of nodes.
    pub median: f64,
    /// Largest degree.
    pub max: usize,
    /// Mean degree.
    pub mean: f64,
    /// Number of nodes of degree 0, 1, 2-3, 4-7, 8-15 and so on.
    pub histogram: Vec<usize>,
}

impl Dataset {
    /// Computes the statistics in one pass over the graph, the features and the files.
    pub fn summary(&self) -> Result<Summary> {
        let components = self.graph.components();
        let features = self.features.as_ref();
        let labels = self.labels.as_ref();
        let data = DataSummary {
            name: self.name.clone(),
            synthetic: self.source.synthetic,
            sha256: self.sha256()?,
            format: self.source.format,
            nodes: self.graph.nodes(),
            edges: self.graph.edges(),
            weighted: self.graph.weights().is_some(),
            features: features.map(Features::cols),
            feature_matrix: features.map(FeatureSummary::of),
            classes: labels.map(|labels| labels.classes()),
            class_sizes: labels.map(|labels| labels.sizes()),
            unlabelled: labels.map(|labels| labels.unlabelled()),
            ids: match self.ids {
                NodeIds::Implicit => "implicit",
                NodeIds::Numbers(_) => "numbers",
                NodeIds::Names(_) => "names",
            },
            splits: self.splits.iter().filter_map(SplitSummary::of).collect(),
            repairs: self.repairs.clone(),
            notes: self.source.notes.clone(),
        };
        Ok(Summary {
            data,
            components: components.count(),
            largest_component: components.largest(),
            homophily: self.homophily(),
            degree: Degrees::of(&self.graph),
        })
    }
}

impl FeatureSummary {
    fn of(features: &Features) -> Self {
        let (storage, mapped) = match features {
            Features::Dense(x) => ("dense", x.is_mapped()),
            Features::Sparse(_) => ("sparse", false),
        };
        Self { storage, mapped, nonzeros: features.nonzeros(), zero_rows: features.zero_rows() }
    }
}

impl SplitSummary {
    fn of(set: &crate::SplitSet) -> Option<Self> {
        let first = set.splits.first()?;
        let (train, validation, test) = (first.train.len(), first.validation.len(), first.test.len());
        Some(Self { name: set.name.clone(), splits: set.splits.len(), train, validation, test })
    }
}

impl Degrees {
    /// The degrees of a graph; all zero for a graph without nodes.
    pub fn of(graph: &Graph) -> Self {
        let mut degrees: Vec<u64> = graph.offsets().par_windows(2).map(|row| row[1] - row[0]).collect();
        degrees.par_sort_unstable();
        let nodes = degrees.len();
        let at = |place: usize| degrees.get(place).copied().unwrap_or(0);
        let mut histogram = Vec::new();
        for &degree in &degrees {
            let bin = (u64::BITS - degree.leading_zeros()) as usize;
            histogram.resize(histogram.len().max(bin + 1), 0);
            histogram[bin] += 1;
        }
        Self {
            min: at(0) as usize,
            median: (at(nodes.saturating_sub(1) / 2) + at(nodes / 2)) as f64 / 2.0,
            max: at(nodes.saturating_sub(1)) as usize,
            mean: graph.targets().len() as f64 / nodes.max(1) as f64,
            histogram,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_of_a_star_and_an_isolated_node() {
        // A star with center 0 and leaves 1, 2, 3; node 4 is isolated.
        let graph = Graph::from_edges(5, &[(0, 1), (0, 2), (0, 3)]).unwrap();
        let degrees = Degrees::of(&graph);
        assert_eq!(degrees.histogram, [1, 3, 1]);
        assert_eq!((degrees.min, degrees.median, degrees.max, degrees.mean), (0, 1.0, 3, 1.2));
        let none = Degrees::of(&Graph::from_edges(0, &[]).unwrap());
        assert_eq!((none.min, none.median, none.max, none.mean), (0, 0.0, 0, 0.0));
    }
}
