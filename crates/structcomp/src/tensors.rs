//! Named arrays of numbers in a safetensors file, with a note of ours on what they are.

use crate::atomic::AtomicFile;
use crate::{Error, Result};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The key of our note in the file's metadata. There is one, as their order in the file is not fixed.
const NOTE: &str = "structcomp";

/// Writes arrays of 32-bit numbers, and of 64-bit ones.
pub(crate) fn write(
    path: &Path,
    note: &impl Serialize,
    single: &[(String, Vec<usize>, &[f32])],
    double: &[(String, Vec<usize>, &[f64])],
) -> Result<()> {
    let bytes = encode(note, single, double).map_err(|error| error.within(path))?;
    let mut file = AtomicFile::create(path)?;
    file.write(&bytes)?;
    file.commit()
}

/// What [`write`] writes.
pub(crate) fn encode(
    note: &impl Serialize,
    single: &[(String, Vec<usize>, &[f32])],
    double: &[(String, Vec<usize>, &[f64])],
) -> Result<Vec<u8>> {
    let mut views = Vec::new();
    let wrong = |error: &dyn std::fmt::Display| Error::Input(format!("cannot be written: {error}"));
    for (name, shape, values) in single {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytemuck::cast_slice(values));
        views.push((name.as_str(), view.map_err(|error| wrong(&error))?));
    }
    for (name, shape, values) in double {
        let view = TensorView::new(Dtype::F64, shape.clone(), bytemuck::cast_slice(values));
        views.push((name.as_str(), view.map_err(|error| wrong(&error))?));
    }
    let note = serde_json::to_string(note).map_err(|error| wrong(&error))?;
    serialize(views, Some(HashMap::from([(NOTE.to_owned(), note)]))).map_err(|error| wrong(&error))
}

/// A safetensors file of ours.
pub(crate) struct Tensors {
    path: PathBuf,
    bytes: Vec<u8>,
    note: String,
}

impl Tensors {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::parse(path, std::fs::read(path).map_err(Error::io(path))?)
    }

    /// The contents of a file called `path` in messages.
    pub(crate) fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let damaged = |error| Error::format(path, format!("is no whole safetensors file: {error}"));
        SafeTensors::deserialize(&bytes).map_err(damaged)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(damaged)?;
        let note = metadata.metadata().as_ref().and_then(|notes| notes.get(NOTE)).cloned();
        let Some(note) = note else {
            return Err(Error::format(path, "is a safetensors file of another program: it lacks our note"));
        };
        Ok(Self { path: path.to_owned(), bytes, note })
    }

    /// Our note.
    pub(crate) fn note<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.note).map_err(|error| self.wrong(format!("holds something else: {error}")))
    }

    pub(crate) fn single(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>)> {
        let (shape, data) = self.tensor(name, Dtype::F32)?;
        Ok((shape, data.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()))
    }

    pub(crate) fn double(&self, name: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let (shape, data) = self.tensor(name, Dtype::F64)?;
        Ok((shape, data.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()))
    }

    fn tensor(&self, name: &str, kind: Dtype) -> Result<(Vec<usize>, &[u8])> {
        let tensors = SafeTensors::deserialize(&self.bytes).map_err(|error| self.wrong(error.to_string()))?;
        let tensor = tensors.tensor(name).map_err(|_| self.wrong(format!("lacks '{name}'")))?;
        if tensor.dtype() != kind {
            return Err(self.wrong(format!("has '{name}' as {:?}, not {kind:?}", tensor.dtype())));
        }
        Ok((tensor.shape().to_vec(), tensor.data()))
    }

    /// A fault of this file.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::format(&self.path, what)
    }
}
