#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod atomic;
pub mod compress;
pub mod data;
mod device;
pub mod encoder;
mod engine;
mod error;
pub mod evaluate;
#[cfg(fuzzing)]
pub mod fuzz;
pub mod graph;
mod guard;
pub mod map;
pub mod matrix;
pub mod memory;
pub mod model;
pub mod neighbors;
pub mod nn;
pub mod output;
pub mod partition;
pub mod pipeline;
mod plan;
mod prepare;
pub mod preset;
mod progress;
#[cfg(test)]
mod properties;
pub mod random;
mod safetensors;
pub mod sample;
mod solve;
mod train;
pub mod zoom;

pub use compress::{Compressed, DropMember};
pub use data::{Dataset, Labels, NodeIds, Split, SplitSet};
pub use device::{Compute, Device, Precision};
pub use encoder::EncoderKind;
pub use error::{Error, Result};
pub use evaluate::{Controls, Probe};
pub use graph::{EdgeList, Graph, Normalization, Propagation};
pub use guard::{heed, silence_caught_panics};
pub use matrix::{Csr, Dense, Features};
pub use memory::Budget;
pub use model::Model;
pub use nn::{Activation, Optimizer};
pub use partition::{Partition, Partitioner, Partitioning, Quality};
pub use pipeline::{Fitted, Hooks, Mode, NewNodes, Stage, StructComp};
pub use plan::Training;
pub use prepare::{FeatureNorm, Prepare, StandIn};
pub use preset::Preset;
pub use progress::{Steps, watch};
pub use random::Seed;
pub use sample::{Saint, SaintSampler};
pub use train::{Epoch, Trainer};
pub use zoom::Zoom;
