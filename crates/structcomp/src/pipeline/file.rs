//! A fitted model in a safetensors file.

use super::StructComp;
use super::fitted::{Fitted, Seconds, TrainedOn};
use crate::encoder::{FittedEncoder, FittedEncoderNote};
use crate::prepare::{Prepared, PreparedNote};
use crate::safetensors::{Tensors, Writer};
use crate::{Compute, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The text in the file; the numbers are arrays beside it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ModelNote {
    kind: ModelKind,
    version: String,
    settings: StructComp,
    prepare: PreparedNote,
    encoder: FittedEncoderNote,
    trained_on: TrainedOn,
    epochs: usize,
    interrupted: bool,
    clusters_requested: Option<usize>,
}

/// What any of our files says about itself.
#[derive(Deserialize)]
struct AnyNote {
    kind: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ModelKind {
    Model,
}

impl Fitted {
    /// Writes the model as a safetensors file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.writer().write(path.as_ref(), &self.note())
    }

    /// The contents of such a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.writer().encode(&self.note())
    }

    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::parse(&Tensors::read(path.as_ref())?)
    }

    /// From the contents of a file.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::parse(&Tensors::parse(Path::new("model"), bytes)?)
    }

    fn writer(&self) -> Writer<'_> {
        let mut writer = Writer::default();
        self.prepared.write(&mut writer);
        self.encoder.write(&mut writer);
        writer
    }

    fn note(&self) -> ModelNote {
        ModelNote {
            kind: ModelKind::Model,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings: StructComp { compute: Compute::default(), ..self.settings.clone() },
            prepare: self.prepared.note(),
            encoder: self.encoder.note(),
            trained_on: self.trained_on.clone(),
            epochs: self.epochs,
            interrupted: self.interrupted,
            clusters_requested: self.clusters_requested,
        }
    }

    fn parse(file: &Tensors) -> Result<Self> {
        if file.note::<AnyNote>().is_ok_and(|note| note.kind == "checkpoint") {
            return Err(file.wrong(
                "is a checkpoint of training that has not finished, and not a model; resume that training",
            ));
        }
        let note: ModelNote = file.note()?;
        let prepared = Prepared::read(note.prepare, file)?;
        let encoder = FittedEncoder::read(note.encoder, file)?;
        if prepared.columns() != encoder.inputs() {
            return Err(file.wrong("has an encoder that does not take the features it prepares"));
        }
        Ok(Self {
            settings: note.settings,
            encoder,
            prepared,
            trained_on: note.trained_on,
            epochs: note.epochs,
            partition: None,
            clusters_requested: note.clusters_requested,
            losses: Vec::new(),
            solution: None,
            interrupted: note.interrupted,
            device: None,
            seconds: Seconds::default(),
        })
    }
}
