//! The experiments by name.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// A table or figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Accuracy on the five small graphs.
    Small,
    /// Seconds an epoch and memory on the same.
    TimeMemory,
    /// Accuracy after random edges were added.
    Noise,
    /// Accuracy with an encoder of sixteen hops.
    Deep,
    /// Accuracy on clusters made otherwise.
    Partitioners,
    /// Other models, on the whole graph as the paper has them and on clusters.
    Recent,
    /// SP-GCL on graphs whose neighbours differ.
    Heterophilous,
    /// Accuracy against the number of clusters.
    Compression,
    /// The loss on the whole graph while training on clusters.
    LossTrend,
    /// Test nodes that training has not seen.
    Inductive,
    /// What the theorems promise, in numbers.
    Theory,
    /// Our own recipe for all data; the paper has none.
    Recipe,
}

impl Experiment {
    /// All of them, in the order of the report.
    pub const ALL: [Self; 12] = [
        Self::Small,
        Self::TimeMemory,
        Self::Noise,
        Self::Deep,
        Self::Partitioners,
        Self::Recent,
        Self::Heterophilous,
        Self::Compression,
        Self::LossTrend,
        Self::Inductive,
        Self::Theory,
        Self::Recipe,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::TimeMemory => "time-memory",
            Self::Noise => "noise",
            Self::Deep => "deep",
            Self::Partitioners => "partitioners",
            Self::Recent => "recent",
            Self::Heterophilous => "heterophilous",
            Self::Compression => "compression",
            Self::LossTrend => "loss-trend",
            Self::Inductive => "inductive",
            Self::Theory => "theory",
            Self::Recipe => "recipe",
        }
    }

    /// The experiments that a name stands for; `all` for every one.
    pub fn named(name: &str) -> Result<Vec<Self>> {
        if name == "all" {
            return Ok(Self::ALL.to_vec());
        }
        match Self::ALL.into_iter().find(|experiment| experiment.name() == name) {
            Some(experiment) => Ok(vec![experiment]),
            None => {
                let known: Vec<&str> = Self::ALL.iter().map(|experiment| experiment.name()).collect();
                Err(Error::Input(format!(
                    "'{name}' is no experiment; experiments are {} and all",
                    known.join(", ")
                )))
            }
        }
    }

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Small => "Accuracy on the small graphs",
            Self::TimeMemory => "Time and memory of training",
            Self::Noise => "Ten percent more edges, drawn at random",
            Self::Deep => "A deep encoder: SSGC with sixteen hops",
            Self::Partitioners => "Other partitioners",
            Self::Recent => "Other models",
            Self::Heterophilous => "Graphs whose neighbours differ",
            Self::Compression => "Accuracy against the number of clusters",
            Self::LossTrend => "The loss on the whole graph, trained on clusters",
            Self::Inductive => "Test nodes that training has not seen",
            Self::Theory => "The theorems in numbers",
            Self::Recipe => "One recipe for all data",
        }
    }

    /// What was done, for readers of the report.
    pub fn about(self) -> &'static str {
        match self {
            Self::Small => {
                "A logistic regression (C = 1) learns from 20 random nodes a class and is judged on all others; Cora \
                 on the authors' own splits. Â²X is two hops of the features with no training at all, untrained the \
                 same encoder with its initial weights, and random clusters the same training on as many clusters \
                 drawn at random."
            }
            Self::TimeMemory => {
                "Training alone, each cell in processes of its own, one at a time: the median seconds of an epoch after \
                 the first, in the fastest of three, and in one more the most memory above what the loaded data takes. \
                 The paper's are those of a graphics card, so that only ratios compare. On the whole graph too \
                 our losses hold no matrix of all pairs, but for 128 MiB of GRACE's, hence the smaller savings; \
                 benchmarks/run.sh whole measures losses that do."
            }
            Self::Noise => {
                "As many random edges as a tenth of the edges are added before partitioning, training and \
                 inference; settings as without noise."
            }
            Self::Deep => {
                "Nodes hear sixteen hops, αX + (1 − α)/K Σ Âᵏ X with α = 0.05 and K = 16, before the layers; which \
                 α and K the paper took is unknown. Other settings as on the small graphs."
            }
            Self::Partitioners => {
                "The coarsening methods of the paper, METIS, and our own multilevel method, which all other \
                 tables use. The paper's number beside multilevel is that of METIS."
            }
            Self::Recent => {
                "Models that the paper has on the whole graph alone, and three older ones. It leaves their training on \
                 clusters as future work."
            }
            Self::Heterophilous => {
                "The ten splits of geom-gcn, a softmax regression chosen by validation. How the paper compressed \
                 SP-GCL is unknown; a tenth as many clusters as nodes here."
            }
            Self::Compression => {
                "Clusters as a share of the nodes; at 1 every node is a cluster and nothing is compressed. The band \
                 is one deviation over splits. The paper has a figure without numbers, and says that about a \
                 tenth is best."
            }
            Self::LossTrend => {
                "U is trained on clusters and W on the whole graph, from the same weights. Both are put into the \
                 loss of the whole graph in every epoch, with the same negatives and the same views."
            }
            Self::Inductive => {
                "Half of the nodes are kept from partitioning and training, and are the test nodes; 20 training \
                 nodes a class teach the classifier. The paper did this on Flickr and Reddit; where the data folder \
                 has them in GraphSAINT's layout they are done too, by the roles that nodes have there and an MLP of \
                 three layers. All others are the small graphs, and a synthetic one with Flickr's counts."
            }
            Self::Theory => {
                "For a linear encoder trained by SCE on clusters. |L_G − L_P| is how far the loss over edges by \
                 sums over neighbours is from that by sums over clusters; the paper's bound (theorem 4.1) need not \
                 hold, ours does. The regulariser (theorem 4.2) is the mean second-order gain of leaving members \
                 out, over random pairs of clusters with rows of length ½ by root mean square."
            }
            Self::Recipe => {
                "What `structcomp run` does without a model: settings chosen by a rule that looks at the graph and \
                 the features and at no label. The last three on the ten splits of geom-gcn."
            }
        }
    }

    /// Whether its cells measure time, so that nothing may run beside them.
    pub(super) fn runs_alone(self) -> bool {
        self == Self::TimeMemory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_experiments() {
        for experiment in Experiment::ALL {
            assert_eq!(Experiment::named(experiment.name()).unwrap(), [experiment]);
            let json = serde_json::to_string(&experiment).unwrap();
            assert_eq!(json, format!("\"{}\"", experiment.name()));
        }
        assert_eq!(Experiment::named("all").unwrap().len(), Experiment::ALL.len());
        let error = Experiment::named("smal").unwrap_err().to_string();
        assert!(error.starts_with("'smal' is no experiment; experiments are small, time-memory"), "{error}");
    }
}
