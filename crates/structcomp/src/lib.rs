#![doc = include_str!("../../../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod atomic;
mod buffer;
mod compress;
pub mod data;
mod diagnostics;
mod encoder;
mod error;
mod evaluate;
mod features;
#[cfg(fuzzing)]
pub mod fuzz;
mod graph;
mod hops;
mod ids;
mod labels;
mod linalg;
mod memory;
mod model;
mod network;
mod optim;
mod output;
mod partition;
mod preset;
mod propagate;
#[cfg(test)]
mod properties;
mod random;
mod sparse;
mod splits;
mod summary;
mod tensors;
mod train;
mod vectors;
mod weights;

pub use buffer::{Buffer, MappedFile};
pub use compress::{CoarseWeights, Coarsening, Compressed, DropMember};
pub use data::Dataset;
pub use diagnostics::{Diagnostics, EdgeLoss, Moments, SpectralLoss};
pub use encoder::Encoder;
pub use error::{Error, Result, human_bytes};
pub use evaluate::{
    Accuracy, Agreement, Clustering, Comparison, HeldOut, KMeans, LinkScore, Mlp, Probe, Softmax, classify,
};
pub use features::{Dense, FeatureNorm, Features, StandIn};
pub use graph::{Components, EdgeList, Graph, GraphWriter, MAX_NODES, Repairs};
pub use hops::EncoderKind;
pub use ids::NodeIds;
pub use labels::Labels;
pub use memory::{Budget, LargePages, give_back_memory, peak_rss_bytes};
pub use model::{
    Bgrl, BlockGcl, CcaSsg, Coles, Contrast, ContrastReg, Dgi, Ggd, Grace, Model, Mvgrl, Own, OwnLoss,
    OwnObjective, Sce, SpGcl,
};
pub use network::{Activation, Initial};
pub use optim::Optimizer;
pub use output::{Export, MatrixLayout, MatrixWriter, write_clusters, write_edges, write_text};
#[cfg(feature = "metis")]
pub use partition::Metis;
pub use partition::{
    AffinityGs, AlgebraicJc, Gap, LabelPropagation, METHODS, Method, Multilevel, Partition, Partitioner,
    Partitioning, Quality, Random, Reduction, Refine, VariationNeighborhoods, read_node_weights,
};
pub use preset::{Preset, Source};
pub use propagate::{Normalization, Propagation};
pub use random::{Rng, Seed};
pub use sparse::Csr;
pub use splits::{PAPER_TRAIN_PER_CLASS, Split, SplitSet};
pub use summary::{DataSummary, Degrees, FeatureSummary, SplitSummary, Summary};
pub use train::{Augment, Epoch, Inputs, Stop, Trained, Trainer, Training};
pub use weights::{Origin, Weights};
