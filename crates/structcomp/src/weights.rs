//! An encoder in a file, and where it comes from.

use crate::atomic::AtomicFile;
use crate::encoder::EncoderLayer;
use crate::hops::Hops;
use crate::tensors::{Tensors, encode};
use crate::{Activation, Encoder, Result, Training};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An encoder with what is known of its making.
///
/// The file is a safetensors file. Layer `i` is `layers.i.weight` with a row an output, as torch's
/// linear layers have it, `layers.i.bias` and, where learnt, `layers.i.slopes`.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The encoder.
    pub encoder: Encoder,
    /// How it was made.
    pub origin: Origin,
}

/// How an encoder was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// The data's name.
    pub data: String,
    /// The data's fingerprint.
    pub sha256: String,
    /// The seed.
    pub seed: u64,
    /// Epochs done.
    pub epochs: usize,
    /// How it was trained.
    pub training: Training,
    /// The version of this library.
    pub version: String,
}

/// The note in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// What the file is; checkpoints have another word here.
    kind: Kind,
    activations: Vec<Activation>,
    /// For each layer the weight of every number of hops, from none on.
    hops: Vec<Hops>,
    origin: Origin,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Weights,
}

impl Weights {
    /// Writes the file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.to_bytes().map_err(|error| error.within(path))?;
        let mut file = AtomicFile::create(path)?;
        file.write(&bytes)?;
        file.commit()
    }

    /// The file's contents.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let layers = &self.encoder.layers;
        let note = Note {
            kind: Kind::Weights,
            activations: layers.iter().map(|layer| layer.activation).collect(),
            hops: layers.iter().map(|layer| layer.hops.clone()).collect(),
            origin: self.origin.clone(),
        };
        let turned: Vec<Vec<f32>> = layers.iter().map(|layer| turned(&layer.weight, layer.outputs)).collect();
        let mut arrays = Vec::new();
        for (at, (layer, weight)) in layers.iter().zip(&turned).enumerate() {
            let name = |part: &str| format!("layers.{at}.{part}");
            let outputs = layer.outputs;
            arrays.push((name("weight"), vec![outputs, weight.len() / outputs.max(1)], &weight[..]));
            arrays.push((name("bias"), vec![outputs], &layer.bias[..]));
            if !layer.slopes.is_empty() {
                arrays.push((name("slopes"), vec![layer.slopes.len()], &layer.slopes[..]));
            }
        }
        encode(&note, &arrays, &[])
    }

    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::parse(&Tensors::read(path.as_ref())?)
    }

    /// From a file's contents.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::parse(&Tensors::parse(Path::new("weights"), bytes)?)
    }

    fn parse(tensors: &Tensors) -> Result<Self> {
        let note: Note = tensors.note()?;
        let mut layers: Vec<EncoderLayer> = Vec::new();
        if note.hops.len() != note.activations.len() || note.hops.iter().any(|hops| hops.check().is_err()) {
            return Err(tensors.wrong("has hops that make no sense"));
        }
        for (at, (&activation, hops)) in note.activations.iter().zip(note.hops).enumerate() {
            let name = |part: &str| format!("layers.{at}.{part}");
            let (shape, weight) = tensors.single(&name("weight"))?;
            let (_, bias) = tensors.single(&name("bias"))?;
            let slopes = match activation.slopes(bias.len()) {
                0 => Vec::new(),
                _ => tensors.single(&name("slopes"))?.1,
            };
            let fits = matches!(shape[..], [outputs, inputs] if outputs == bias.len()
                && outputs > 0
                && inputs > 0
                && slopes.len() == activation.slopes(outputs)
                && layers.last().is_none_or(|before| before.outputs == inputs));
            if !fits {
                return Err(tensors.wrong(format!("has layers that do not fit together (layer {at})")));
            }
            if weight.iter().chain(&bias).chain(&slopes).any(|value| !value.is_finite()) {
                return Err(tensors.wrong(format!("has weights that are not finite (layer {at})")));
            }
            let weight = turned(&weight, shape[1]);
            layers.push(EncoderLayer { outputs: shape[0], weight, bias, slopes, activation, hops });
        }
        if layers.is_empty() {
            return Err(tensors.wrong("has no layers"));
        }
        Ok(Self { encoder: Encoder { layers }, origin: note.origin })
    }
}

/// The transpose of rows of `cols` numbers.
fn turned(values: &[f32], cols: usize) -> Vec<f32> {
    let rows = values.len().checked_div(cols).unwrap_or(0);
    (0..cols).flat_map(|col| (0..rows).map(move |row| values[row * cols + col])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights() -> Weights {
        let layer = |inputs: usize, outputs: usize, activation: Activation| EncoderLayer {
            outputs,
            weight: (0..inputs * outputs).map(|i| i as f32 - 3.5).collect(),
            bias: (0..outputs).map(|i| 0.5 * i as f32).collect(),
            slopes: vec![0.25; activation.slopes(outputs)],
            activation,
            hops: Hops::ssgc(2, 0.1),
        };
        let layers = vec![layer(3, 4, Activation::None), layer(4, 2, Activation::Prelu)];
        let origin = Origin { data: "a \"name\"".into(), seed: 7, ..Origin::default() };
        Weights { encoder: Encoder { layers }, origin }
    }

    #[test]
    fn weights_come_back_and_are_the_same_bytes_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("w.safetensors"), folder.path().join("v.safetensors"));
        weights().save(&one).unwrap();
        weights().save(&two).unwrap();
        assert_eq!(Weights::load(&one).unwrap(), weights());
        assert_eq!(Weights::from_bytes(std::fs::read(&one).unwrap()).unwrap(), weights());
        assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
        // As torch has it: a row an output.
        let (shape, values) = Tensors::read(&one).unwrap().single("layers.0.weight").unwrap();
        assert_eq!((shape, values[1]), (vec![4, 3], 0.5));
    }

    #[test]
    fn damaged_and_foreign_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.safetensors");
        let said = || Weights::load(&path).unwrap_err().to_string();
        assert!(said().contains("No such file"), "{}", said());
        weights().save(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for end in [0, 5, 8, 100, whole.len() - 1] {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(said().contains("no whole safetensors file"), "{end}: {}", said());
        }
        let foreign = [&2u64.to_le_bytes()[..], b"{}"].concat();
        std::fs::write(&path, foreign).unwrap();
        assert!(said().contains("another program"), "{}", said());
        let mut broken = weights();
        broken.encoder.layers[1].weight[0] = f32::NAN;
        broken.save(&path).unwrap();
        assert!(said().contains("not finite"), "{}", said());
        let mut broken = weights();
        broken.encoder.layers.swap(0, 1);
        broken.save(&path).unwrap();
        assert!(said().contains("do not fit together"), "{}", said());
        // A bit anywhere in the header, and everywhere a letter may become another.
        for at in 0..whole.len().min(400) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, flipped).unwrap();
            let _ = Weights::load(&path);
        }
    }
}
