//! Named arrays of numbers in a safetensors file, with a note of ours on what they are.

use crate::atomic::AtomicFile;
use crate::data::bytes::read_file;
use crate::{Budget, Error, Result};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Serialize, de::DeserializeOwned};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The key of our note in the file's metadata. There is one, as their order in the file is not fixed.
const NOTE: &str = "structcomp";

/// Arrays to be written, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Writer<'a> {
    single: Vec<(String, Vec<usize>, Cow<'a, [f32]>)>,
    double: Vec<(String, Vec<usize>, Cow<'a, [f64]>)>,
}

impl<'a> Writer<'a> {
    /// Adds an array of 32-bit numbers.
    pub(crate) fn single(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        values: impl Into<Cow<'a, [f32]>>,
    ) {
        self.single.push((name.into(), shape.to_vec(), values.into()));
    }

    /// Adds an array of 64-bit numbers.
    pub(crate) fn double(
        &mut self,
        name: impl Into<String>,
        shape: &[usize],
        values: impl Into<Cow<'a, [f64]>>,
    ) {
        self.double.push((name.into(), shape.to_vec(), values.into()));
    }

    /// Writes the file.
    pub(crate) fn write(&self, path: &Path, note: &impl Serialize) -> Result<()> {
        let bytes = self.encode(note).map_err(|error| error.within(path))?;
        let mut file = AtomicFile::create(path)?;
        file.write(&bytes)?;
        file.commit()
    }

    /// The contents of the file.
    pub(crate) fn encode(&self, note: &impl Serialize) -> Result<Vec<u8>> {
        let mut views = Vec::new();
        let wrong = |error: &dyn std::fmt::Display| Error::Input(format!("cannot be written: {error}"));
        for (name, shape, values) in &self.single {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytemuck::cast_slice(values));
            views.push((name.as_str(), view.map_err(|error| wrong(&error))?));
        }
        for (name, shape, values) in &self.double {
            let view = TensorView::new(Dtype::F64, shape.clone(), bytemuck::cast_slice(values));
            views.push((name.as_str(), view.map_err(|error| wrong(&error))?));
        }
        let note = serde_json::to_string(note).map_err(|error| wrong(&error))?;
        serialize(views, Some(HashMap::from([(NOTE.to_owned(), note)]))).map_err(|error| wrong(&error))
    }
}

/// A safetensors file of ours.
pub(crate) struct Tensors {
    path: PathBuf,
    bytes: Vec<u8>,
    note: String,
}

impl Tensors {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Self::parse(path, read_file(path, &Budget::default())?)
    }

    /// The contents of a file called `path` in messages.
    pub(crate) fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let damaged = |error| Error::format(path, format!("is not a valid safetensors file: {error}"));
        SafeTensors::deserialize(&bytes).map_err(damaged)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(damaged)?;
        let note = metadata.metadata().as_ref().and_then(|notes| notes.get(NOTE)).cloned();
        let Some(note) = note else {
            return Err(Error::format(path, "is a safetensors file, but not one that structcomp wrote"));
        };
        Ok(Self { path: path.to_owned(), bytes, note })
    }

    /// Our note.
    pub(crate) fn note<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.note)
            .map_err(|error| self.wrong(format!("was not written by this version of structcomp: {error}")))
    }

    /// An array of finite 32-bit numbers of this shape.
    pub(crate) fn single(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let bytes = self.tensor(name, Dtype::F32, shape)?;
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        match values.iter().all(|value| value.is_finite()) {
            true => Ok(values),
            false => Err(self.wrong(format!("has '{name}' with values that are not finite"))),
        }
    }

    /// An array of finite 64-bit numbers of this shape.
    pub(crate) fn double(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let bytes = self.tensor(name, Dtype::F64, shape)?;
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
        match values.iter().all(|value| value.is_finite()) {
            true => Ok(values),
            false => Err(self.wrong(format!("has '{name}' with values that are not finite"))),
        }
    }

    fn tensor(&self, name: &str, kind: Dtype, shape: &[usize]) -> Result<&[u8]> {
        let tensors = SafeTensors::deserialize(&self.bytes).map_err(|error| self.wrong(error.to_string()))?;
        let tensor = tensors.tensor(name).map_err(|_| self.wrong(format!("lacks '{name}'")))?;
        if tensor.dtype() != kind || tensor.shape() != shape {
            let (dtype, found) = (tensor.dtype(), tensor.shape());
            return Err(self.wrong(format!("has '{name}' as {dtype:?} {found:?}, not {kind:?} {shape:?}")));
        }
        Ok(tensor.data())
    }

    /// A fault of this file.
    pub(crate) fn wrong(&self, what: impl Into<String>) -> Error {
        Error::format(&self.path, what)
    }
}
