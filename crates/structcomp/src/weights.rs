//! An encoder in a file, and where it comes from.

use crate::atomic::AtomicFile;
use crate::encoder::{EncoderLayer, EncoderNorm};
use crate::hops::Hops;
use crate::tensors::{Tensors, encode};
use crate::{Activation, Encoder, Result, Training};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An encoder with what is known of its making.
///
/// The file is a safetensors file. Layer `i` is `layers.i.weight` with a row an output, as torch's
/// linear layers have it, `layers.i.bias` and, where learnt, `layers.i.slopes`; with batch norm also
/// `layers.i.norm.scale`, `.shift`, `.mean` and `.variance`. The layers of a second encoder, whose result is
/// added, are `beside.i`.
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
    /// Which layers have batch norm; none where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    norms: Vec<bool>,
    /// The same of a second encoder; none in most files.
    #[serde(default, skip_serializing_if = "Chain::is_empty")]
    beside: Chain,
    /// What is made of the last result, as hops.
    #[serde(default = "Hops::none", skip_serializing_if = "Hops::is_none")]
    readout: Hops,
    origin: Origin,
}

/// What a chain of layers is, besides numbers.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chain {
    activations: Vec<Activation>,
    hops: Vec<Hops>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    norms: Vec<bool>,
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
        let encoder = &self.encoder;
        let Chain { activations, hops, norms } = Chain::of(&encoder.layers);
        let note = Note {
            kind: Kind::Weights,
            activations,
            hops,
            norms,
            beside: Chain::of(&encoder.beside),
            readout: encoder.readout.clone(),
            origin: self.origin.clone(),
        };
        let chains = [("layers", &encoder.layers), ("beside", &encoder.beside)];
        let turned = chains.map(|(_, layers)| -> Vec<Vec<f32>> {
            layers.iter().map(|layer| turned(&layer.weight, layer.outputs)).collect()
        });
        let mut arrays = Vec::new();
        for ((chain, layers), turned) in chains.iter().zip(&turned) {
            for (at, (layer, weight)) in layers.iter().zip(turned).enumerate() {
                let name = |part: &str| format!("{chain}.{at}.{part}");
                let outputs = layer.outputs;
                arrays.push((name("weight"), vec![outputs, weight.len() / outputs.max(1)], &weight[..]));
                arrays.push((name("bias"), vec![outputs], &layer.bias[..]));
                if !layer.slopes.is_empty() {
                    arrays.push((name("slopes"), vec![layer.slopes.len()], &layer.slopes[..]));
                }
                for (part, values) in layer.norm.iter().flat_map(EncoderNorm::parts) {
                    arrays.push((name(part), vec![outputs], values));
                }
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
        if note.readout.check().is_err() {
            return Err(tensors.wrong("has hops that make no sense"));
        }
        let chain = Chain { activations: note.activations, hops: note.hops, norms: note.norms };
        let layers = chain.read(tensors, "layers")?;
        let beside = note.beside.read(tensors, "beside")?;
        let Some(last) = layers.last() else { return Err(tensors.wrong("has no layers")) };
        let ends = |layers: &[EncoderLayer]| layers.first().map(|layer| layer.weight.len() / layer.outputs);
        if beside.last().is_some_and(|other| other.outputs != last.outputs || ends(&beside) != ends(&layers))
        {
            return Err(tensors.wrong("has two encoders that do not fit together"));
        }
        Ok(Self { encoder: Encoder { layers, beside, readout: note.readout }, origin: note.origin })
    }
}

impl Chain {
    fn of(layers: &[EncoderLayer]) -> Self {
        let norms: Vec<bool> = layers.iter().map(|layer| layer.norm.is_some()).collect();
        Self {
            activations: layers.iter().map(|layer| layer.activation).collect(),
            hops: layers.iter().map(|layer| layer.hops.clone()).collect(),
            norms: if norms.contains(&true) { norms } else { Vec::new() },
        }
    }

    fn is_empty(&self) -> bool {
        self.activations.is_empty()
    }

    /// The layers, whose arrays are called after `chain`.
    fn read(self, tensors: &Tensors, chain: &str) -> Result<Vec<EncoderLayer>> {
        let count = self.activations.len();
        if self.hops.len() != count || self.hops.iter().any(|hops| hops.check().is_err()) {
            return Err(tensors.wrong("has hops that make no sense"));
        }
        if ![0, count].contains(&self.norms.len()) {
            return Err(tensors.wrong("does not say which layers have batch norm"));
        }
        let mut layers: Vec<EncoderLayer> = Vec::new();
        for (at, (activation, hops)) in self.activations.into_iter().zip(self.hops).enumerate() {
            let name = |part: &str| format!("{chain}.{at}.{part}");
            let (shape, weight) = tensors.single(&name("weight"))?;
            let (_, bias) = tensors.single(&name("bias"))?;
            let slopes = match activation.slopes(bias.len()) {
                0 => Vec::new(),
                _ => tensors.single(&name("slopes"))?.1,
            };
            let norm = match self.norms.get(at) {
                Some(true) => Some(EncoderNorm::read(|part| Ok(tensors.single(&name(part))?.1))?),
                _ => None,
            };
            let others: Vec<&[f32]> = norm.iter().flat_map(EncoderNorm::parts).map(|part| part.1).collect();
            let fits = matches!(shape[..], [outputs, inputs] if outputs == bias.len()
                && outputs > 0
                && inputs > 0
                && slopes.len() == activation.slopes(outputs)
                && others.iter().all(|values| values.len() == outputs)
                && layers.last().is_none_or(|before| before.outputs == inputs));
            if !fits {
                return Err(tensors.wrong(format!("has {chain} that do not fit together (layer {at})")));
            }
            let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
            if ![&weight[..], &bias, &slopes].iter().chain(&others).all(|values| finite(values)) {
                return Err(tensors.wrong(format!("has weights that are not finite (layer {at})")));
            }
            if norm.as_ref().is_some_and(|norm| norm.variance.iter().any(|&variance| variance < 0.0)) {
                return Err(tensors.wrong(format!("has a variance below zero (layer {at})")));
            }
            let weight = turned(&weight, shape[1]);
            layers.push(EncoderLayer { outputs: shape[0], weight, bias, slopes, activation, hops, norm });
        }
        Ok(layers)
    }
}

impl EncoderNorm {
    /// Its arrays by name.
    fn parts(&self) -> [(&'static str, &[f32]); 4] {
        let Self { scale, shift, mean, variance } = self;
        [("norm.scale", scale), ("norm.shift", shift), ("norm.mean", mean), ("norm.variance", variance)]
    }

    fn read(part: impl Fn(&str) -> Result<Vec<f32>>) -> Result<Self> {
        let [scale, shift] = [part("norm.scale")?, part("norm.shift")?];
        Ok(Self { scale, shift, mean: part("norm.mean")?, variance: part("norm.variance")? })
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
            norm: None,
        };
        let layers = vec![layer(3, 4, Activation::None), layer(4, 2, Activation::Prelu)];
        let origin = Origin { data: "a \"name\"".into(), seed: 7, ..Origin::default() };
        Weights { encoder: Encoder::of(layers), origin }
    }

    /// Batch norm, a second encoder and a readout.
    fn with_all() -> Weights {
        let mut all = weights();
        all.encoder.beside = all.encoder.layers.clone();
        let part = |by: f32| (0..4).map(|at| by + at as f32).collect();
        all.encoder.beside[0].norm =
            Some(EncoderNorm { scale: part(0.5), shift: part(-1.0), mean: part(2.0), variance: part(0.0) });
        all.encoder.readout = Hops::ssgc(3, 0.5);
        all
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
    fn all_that_an_encoder_may_have_comes_back() {
        let bytes = with_all().to_bytes().unwrap();
        assert_eq!(Weights::from_bytes(bytes).unwrap(), with_all());
        let said = |change: &dyn Fn(&mut Encoder)| {
            let mut broken = with_all();
            change(&mut broken.encoder);
            Weights::from_bytes(broken.to_bytes().unwrap()).unwrap_err().to_string()
        };
        let norm = |encoder: &mut Encoder, change: &dyn Fn(&mut EncoderNorm)| {
            change(encoder.beside[0].norm.as_mut().unwrap());
        };
        let below = said(&|encoder| norm(encoder, &|norm| norm.variance[1] = -1.0));
        assert!(below.contains("below zero"), "{below}");
        let narrow = said(&|encoder| drop(encoder.beside.pop()));
        assert!(narrow.contains("two encoders that do not fit"), "{narrow}");
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
