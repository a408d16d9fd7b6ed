#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod atomic;
mod compress;
pub mod data;
mod encoder;
mod engine;
mod error;
mod evaluate;
#[cfg(fuzzing)]
pub mod fuzz;
mod graph;
mod matrix;
mod memory;
mod model;
mod nn;
mod output;
mod partition;
mod pipeline;
mod plan;
mod prepare;
mod preset;
#[cfg(test)]
mod properties;
mod random;
mod safetensors;
mod sample;
mod train;

pub use compress::{CoarseWeights, Coarsening, Compressed, DropMember};
pub use data::{
    DataSummary, Dataset, Degrees, FeatureSummary, Labels, NodeIds, PAPER_TRAIN_PER_CLASS, Split, SplitSet,
    SplitSummary, Summary,
};
pub use encoder::{Encoder, EncoderKind};
pub use error::{Error, Result, human_bytes};
pub use evaluate::{
    Accuracy, Agreement, ByControl, CONTROLS, Clustering, Comparison, Control, Controls, Diagnostics,
    EdgeLoss, HeldOut, KMeans, LinkScore, Mlp, Moments, Probe, Softmax, SpectralLoss, Verdict, classify,
};
pub use graph::{Components, EdgeList, Graph, GraphWriter, MAX_NODES, Normalization, Propagation, Repairs};
pub use matrix::{Buffer, Csr, Dense, Features, MappedFile};
pub use memory::{Budget, LargePages, give_back_memory, peak_rss_bytes};
pub use model::{
    Bgrl, BlockGcl, CcaSsg, Coles, Contrast, ContrastReg, Dgi, Ggd, Grace, LossCost, Model, Mvgrl, Own,
    OwnLoss, OwnObjective, OwnRows, Sce, SpGcl,
};
pub use nn::{Activation, Initial, Optimizer};
pub use output::{Export, MatrixLayout, MatrixWriter, write_clusters, write_edges, write_text};
#[cfg(feature = "metis")]
pub use partition::Metis;
pub use partition::{
    AffinityGs, AlgebraicJc, Gap, LabelPropagation, METHODS, Method, Multilevel, Partition, Partitioner,
    Partitioning, Quality, Random, Reduction, Refine, VariationNeighborhoods, read_node_weights,
};
pub use pipeline::{EpochHook, Fitted, Hooks, Mode, NewNodes, Seconds, Stage, StructComp, TrainedOn};
pub use plan::{Stop, Training};
pub use prepare::{FeatureNorm, Prepare, StandIn};
pub use preset::{Preset, SettingSource};
pub use random::{Rng, Seed};
pub use sample::{Augment, Inputs};
pub use train::{Epoch, Trainer};
