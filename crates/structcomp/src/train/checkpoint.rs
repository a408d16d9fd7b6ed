//! Training put aside in a file, to be continued as if it had never stopped.

use super::Trainer;
use crate::engine::State;
use crate::safetensors::{Tensors, Writer};
use crate::{Result, Training};
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CheckpointNote {
    kind: CheckpointKind,
    /// What is trained on what; see `run`.
    run: String,
    steps: i32,
    epochs: usize,
    version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CheckpointKind {
    Checkpoint,
}

impl Trainer<'_> {
    /// Writes all that the next epoch depends on.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (steps, mean, square) = self.engine.optimizer()?;
        let State { parameters, statistics, target } = self.engine.state()?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let epochs = self.epochs();
        let note =
            CheckpointNote { kind: CheckpointKind::Checkpoint, run: self.run(), steps, epochs, version };
        let mut file = Writer::default();
        let arrays = [
            ("parameters", &parameters[..]),
            ("mean", mean),
            ("square", square),
            ("statistics", statistics),
            ("target", target),
        ];
        arrays.into_iter().for_each(|(name, values)| file.single(name, &[values.len()], values));
        if let Some((parameters, statistics)) = &self.lowest {
            file.single("lowest", &[parameters.len()], &parameters[..]);
            file.single("lowest.statistics", &[statistics.len()], &statistics[..]);
        }
        file.double("losses", &[epochs], &self.losses[..]);
        file.write(path.as_ref(), &note)
    }

    /// Continues from a file that a trainer of the same settings, data and seed wrote; the number of epochs may differ.
    pub fn resume(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let file = Tensors::read(path.as_ref())?;
        let note: CheckpointNote = file.note()?;
        if note.run != self.run() {
            return Err(file.wrong(
                "is a checkpoint of another run: the settings, the data, the clusters or the seed differ",
            ));
        }
        let array = |name: &str, like: &[f32]| file.single(name, &[like.len()]);
        let State { parameters, statistics, target } = self.engine.state()?;
        let lowest = match self.plan.patience.is_some() && note.epochs > 0 {
            true => Some((array("lowest", parameters)?, array("lowest.statistics", statistics)?)),
            false => None,
        };
        let (mean, square) = (array("mean", parameters)?, array("square", parameters)?);
        let state = State {
            parameters: array("parameters", parameters)?,
            statistics: array("statistics", statistics)?,
            target: array("target", target)?,
        };
        let losses = file.double("losses", &[note.epochs])?;
        if i64::from(note.steps) != (note.epochs * self.sampler.steps()) as i64 {
            return Err(file.wrong("has steps that do not match its epochs"));
        }
        self.engine.restore(state, note.steps, mean, square)?;
        (self.losses, self.lowest) = (losses, lowest);
        Ok(())
    }

    /// A fingerprint of all that training depends on but the number of epochs.
    fn run(&self) -> String {
        let mut hash = Xxh3::new();
        let settings = Training { epochs: 0, ..self.settings.clone() };
        hash.update(&serde_json::to_vec(&settings).unwrap_or_default());
        hash.update(&self.seed.0.to_le_bytes());
        hash.update(&self.graph.fingerprint().to_le_bytes());
        self.sampler.fingerprint(&mut hash);
        format!("{:032x}", hash.digest128())
    }
}
