//! The solved model: the directions in which two halves of a cluster agree are computed, not trained.
//!
//! CCA-SSG with a linear encoder looks for directions of feature space in which two views of a cluster agree. For a
//! linear encoder this needs no training: [`crate::solve`] projects the features on their principal axes, filters
//! them over hops, and weights axes and filters by how reliably two halves of a cluster agree. No epochs, no learning
//! rate.

use super::{Blueprint, Compared, Contrastive, Objective};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Settings of the solved model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Solved {
    /// The embedding dimension at most; it is smaller where fewer directions carry anything.
    pub width: usize,
    /// Principal axes of the features at most; there is one for every eight nodes at most, but 64 in small graphs.
    pub directions: usize,
    /// How often clusters are split into halves to estimate reliability.
    pub draws: usize,
    /// How much the features themselves, neighbours, two hops, sixteen hops, positions in the graph and sizes of nodes
    /// count; chosen without labels unless given.
    pub weights: Option<[f64; 6]>,
}

impl Default for Solved {
    fn default() -> Self {
        Self { width: 256, directions: 512, draws: 4, weights: None }
    }
}

impl Contrastive for Solved {
    fn blueprint(&self, _hidden: usize) -> Blueprint {
        Blueprint::default()
    }

    fn check(&self) -> Result<()> {
        let within = |what: &str, value: usize, most: usize| match value {
            1.. if value <= most => Ok(()),
            _ => Err(Error::Input(format!("{what} must be from 1 to {most}, not {value}"))),
        };
        within("width", self.width, 4096)?;
        within("directions", self.directions, 4096)?;
        within("draws", self.draws, 1000)?;
        let counts = |weights: [f64; 6]| {
            weights.iter().all(|&weight| (0.0..=1e6).contains(&weight)) && weights.iter().sum::<f64>() > 0.0
        };
        match self.weights {
            Some(weights) if !counts(weights) => Err(Error::Input(format!(
                "weights must be six numbers of 0 or more, not all 0, not {weights:?}"
            ))),
            _ => Ok(()),
        }
    }

    fn objective(&self, _on: &Compared) -> Result<Box<dyn Objective + Send>> {
        Err(Error::Input("the solved model is computed, not trained; it has no training steps".into()))
    }

    #[cfg(test)]
    fn twin(&self, _of: &super::Twin) -> f64 {
        unreachable!("the solved model has no loss")
    }
}
