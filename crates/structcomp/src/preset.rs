//! The settings that the paper publishes, by model and dataset.

use crate::{Model, Result, Training};

/// Model, dataset, clusters, layers, epochs, learning rate, weight decay; 512 wide throughout.
///
/// Learning rates, epochs and clusters are from the paper's tables; layers and, for the smaller graphs,
/// weight decay from the authors' scripts. The paper's two-layer GRACE collapses on Pubmed: one layer.
const PUBLISHED: &[(&str, &str, usize, usize, usize, f64, f64)] = &[
    ("sce", "cora", 300, 1, 50, 0.001, 0.0005),
    ("sce", "citeseer", 300, 1, 50, 0.0001, 0.0005),
    ("sce", "pubmed", 2000, 1, 25, 0.02, 0.0005),
    ("sce", "amazon-photo", 700, 1, 20, 0.001, 0.0005),
    ("sce", "amazon-computers", 1300, 1, 20, 0.001, 0.0005),
    ("sce", "ogbn-arxiv", 20000, 1, 10, 0.0001, 0.0),
    ("sce", "ogbn-products", 25000, 1, 5, 0.0001, 0.0005),
    ("sce", "ogbn-papers100M", 5000, 1, 1, 0.001, 0.0005),
    ("coles", "cora", 300, 1, 20, 0.001, 0.0005),
    ("coles", "citeseer", 300, 1, 50, 0.0001, 0.0005),
    ("coles", "pubmed", 2000, 1, 50, 0.02, 0.0005),
    ("coles", "amazon-photo", 700, 1, 20, 0.001, 0.0005),
    ("coles", "amazon-computers", 1300, 1, 20, 0.001, 0.0005),
    ("coles", "ogbn-arxiv", 20000, 1, 5, 0.0001, 0.0005),
    ("coles", "ogbn-products", 25000, 1, 5, 0.001, 0.0005),
    ("coles", "ogbn-papers100M", 5000, 1, 1, 0.001, 0.0005),
    ("grace", "cora", 300, 2, 20, 0.001, 0.0005),
    ("grace", "citeseer", 300, 2, 30, 0.0001, 0.0005),
    ("grace", "pubmed", 2000, 1, 75, 0.02, 0.0005),
    ("grace", "amazon-photo", 700, 1, 200, 0.001, 0.0005),
    ("grace", "amazon-computers", 1300, 1, 150, 0.001, 0.0005),
    ("grace", "ogbn-arxiv", 20000, 2, 5, 0.001, 0.0005),
    ("grace", "ogbn-products", 25000, 2, 5, 0.001, 0.0005),
    ("grace", "ogbn-papers100M", 5000, 2, 1, 0.001, 0.0005),
    ("cca-ssg", "cora", 300, 2, 20, 0.001, 0.0005),
    ("cca-ssg", "citeseer", 300, 2, 50, 0.0001, 0.0005),
    ("cca-ssg", "pubmed", 2000, 2, 50, 0.01, 0.0005),
    ("cca-ssg", "amazon-photo", 700, 1, 100, 0.002, 0.0005),
    ("cca-ssg", "amazon-computers", 1300, 1, 40, 0.005, 0.0005),
    ("cca-ssg", "ogbn-arxiv", 20000, 2, 10, 0.0001, 0.0),
    ("cca-ssg", "ogbn-products", 25000, 2, 10, 0.001, 0.0),
    ("cca-ssg", "ogbn-papers100M", 5000, 2, 1, 0.001, 0.0005),
];

/// A published setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// How many clusters.
    pub clusters: usize,
    /// How to train.
    pub training: Training,
}

impl Preset {
    /// The paper's setting for a model on a dataset, if it has one.
    pub fn paper(model: &str, dataset: &str) -> Result<Option<Self>> {
        let Some(&(_, _, clusters, layers, epochs, learning_rate, weight_decay)) =
            PUBLISHED.iter().find(|row| (row.0, row.1) == (model, dataset))
        else {
            return Ok(None);
        };
        let model = Model::named(model)?;
        let training = Training { model, layers, epochs, learning_rate, weight_decay, ..Training::default() };
        Ok(Some(Self { clusters, training }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_model_that_exists() {
        for row in PUBLISHED {
            assert!(Preset::paper(row.0, row.1).unwrap().is_some_and(|preset| preset.clusters == row.2));
        }
        assert!(Preset::paper("sce", "mine").unwrap().is_none());
    }
}
