//! What a dataset is, in numbers: the contents of `structcomp info`.

use crate::{Dataset, Features, Graph, NodeIds, Repairs, Result};
use rayon::prelude::*;
use serde::Serialize;

/// A dataset described.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Counts and origin.
    pub data: DataSummary,
    /// How many connected components the graph has.
    pub components: usize,
    /// Nodes in the largest component.
    pub largest_component: usize,
    /// Share of edges that join nodes of one class; none without labels.
    pub homophily: Option<f64>,
    /// How many edges a node has.
    pub degree: Degrees,
}

/// The counts of a dataset and where it came from.
#[derive(Clone, Debug, Serialize)]
pub struct DataSummary {
    /// What it is called.
    pub name: String,
    /// Whether a generator made it.
    pub synthetic: bool,
    /// Fingerprint of the files.
    pub sha256: String,
    /// The format it was read as.
    pub format: &'static str,
    /// Nodes.
    pub nodes: usize,
    /// Undirected edges.
    pub edges: usize,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Features a node, if there are any.
    pub features: Option<usize>,
    /// More about the features, if there are any.
    pub feature_matrix: Option<FeatureSummary>,
    /// Classes, if there are labels.
    pub classes: Option<usize>,
    /// Nodes of each class, if there are labels.
    pub class_sizes: Option<Vec<usize>>,
    /// Nodes without a label, if others have one.
    pub unlabelled: Option<usize>,
    /// `implicit`, `numbers` or `names`.
    pub ids: &'static str,
    /// The splits that came with the data.
    pub splits: Vec<SplitSummary>,
    /// What was mended.
    pub repairs: Repairs,
    /// What a reader of results should know.
    pub notes: Vec<String>,
}

/// How features are stored and how full they are.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureSummary {
    /// `dense` or `sparse`.
    pub storage: &'static str,
    /// Whether they lie in a mapped file.
    pub mapped: bool,
    /// Values other than zero.
    pub nonzeros: usize,
    /// Rows without any.
    pub zero_rows: usize,
}

/// The size of a set of splits.
#[derive(Clone, Debug, Serialize)]
pub struct SplitSummary {
    /// `public`, `geom-gcn`, …
    pub name: String,
    /// How many splits there are.
    pub splits: usize,
    /// Nodes to learn from in the first.
    pub train: usize,
    /// Nodes to choose by in the first.
    pub validation: usize,
    /// Nodes to be judged on in the first.
    pub test: usize,
}

/// The distribution of degrees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Degrees {
    /// The smallest.
    pub min: usize,
    /// The middle one; the mean of the middle two where the count is even.
    pub median: f64,
    /// The largest.
    pub max: usize,
    /// The average.
    pub mean: f64,
    /// Nodes of degree 0, 1, 2-3, 4-7, 8-15 and so on.
    pub histogram: Vec<usize>,
}

impl Dataset {
    /// Describes the dataset; walks the graph, the features and the files once.
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
    /// The degrees of a graph; all zero where it has no nodes.
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
    fn degrees_of_a_star_with_a_hermit() {
        // 0 in the middle of 1, 2, 3; 4 alone
        let graph = Graph::from_edges(5, &[(0, 1), (0, 2), (0, 3)]).unwrap();
        let degrees = Degrees::of(&graph);
        assert_eq!(degrees.histogram, [1, 3, 1]);
        assert_eq!((degrees.min, degrees.median, degrees.max, degrees.mean), (0, 1.0, 3, 1.2));
        let none = Degrees::of(&Graph::from_edges(0, &[]).unwrap());
        assert_eq!((none.min, none.median, none.max, none.mean), (0, 0.0, 0, 0.0));
    }
}
