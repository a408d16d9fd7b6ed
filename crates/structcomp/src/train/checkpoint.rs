//! Training put aside in a file, to be taken up again as if it had never stopped.

use super::{Rows, Trainer};
use crate::tensors::{Tensors, write};
use crate::{Features, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    kind: Kind,
    /// What is trained on what; see `run`.
    run: String,
    steps: i32,
    version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Checkpoint,
}

impl Trainer<'_> {
    /// Writes all that the next epoch depends on.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let (steps, mean, square) = self.adam.state();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let note = Note { kind: Kind::Checkpoint, run: self.run(), steps, version };
        let count = vec![self.parameters.len()];
        let single = [
            ("parameters".to_owned(), count.clone(), &self.parameters[..]),
            ("mean".to_owned(), count.clone(), mean),
            ("square".to_owned(), count.clone(), square),
            ("statistics".to_owned(), vec![self.statistics.len()], &self.statistics[..]),
            ("target".to_owned(), vec![self.target.len()], &self.target[..]),
        ];
        let mut single = single.to_vec();
        if let Some((parameters, statistics)) = &self.lowest {
            single.push(("lowest".to_owned(), count, parameters));
            single.push(("lowest.statistics".to_owned(), vec![statistics.len()], statistics));
        }
        let double = [
            ("losses".into(), vec![self.losses.len()], &self.losses[..]),
            ("settled".into(), vec![self.settled.len()], &self.settled[..]),
        ];
        write(path.as_ref(), &note, &single, &double)
    }

    /// Goes on from a file that a trainer of the same settings, data and seed wrote; the number of epochs
    /// may differ.
    pub fn resume(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let tensors = Tensors::read(path.as_ref())?;
        let note: Note = tensors.note()?;
        if note.run != self.run() {
            return Err(tensors.wrong(
                "is a checkpoint of other training: the settings, the data, the clusters or the seed differ",
            ));
        }
        let array = |name: &str, count: usize| -> Result<Vec<f32>> {
            let (_, values) = tensors.single(name)?;
            match values.len() == count && values.iter().all(|value| value.is_finite()) {
                true => Ok(values),
                false => Err(tensors.wrong(format!("has '{name}' with other or broken numbers"))),
            }
        };
        let count = self.parameters.len();
        let parameters = array("parameters", count)?;
        let (mean, square) = (array("mean", count)?, array("square", count)?);
        let statistics = array("statistics", self.statistics.len())?;
        let target = array("target", self.target.len())?;
        let lowest = match self.training.patience.is_some() && note.steps > 0 {
            true => Some((array("lowest", count)?, array("lowest.statistics", statistics.len())?)),
            false => None,
        };
        let ((_, losses), (_, settled)) = (tensors.double("losses")?, tensors.double("settled")?);
        if note.steps < 0 || [losses.len(), settled.len()] != [note.steps as usize; 2] {
            return Err(tensors.wrong("does not say how far training got"));
        }
        self.adam.restore(note.steps, mean, square);
        (self.parameters, self.losses, self.settled) = (parameters, losses, settled);
        (self.statistics, self.target, self.lowest) = (statistics, target, lowest);
        Ok(())
    }

    /// A fingerprint of all that training depends on but the number of epochs.
    fn run(&self) -> String {
        let mut hash = Xxh3::new();
        let settings = super::Training { epochs: 0, ..self.training.clone() };
        hash.update(&serde_json::to_vec(&settings).unwrap_or_default());
        hash.update(&self.seed.0.to_le_bytes());
        hash.update(bytemuck::cast_slice(self.graph.offsets()));
        hash.update(bytemuck::cast_slice(self.graph.targets()));
        hash.update(bytemuck::cast_slice(self.graph.weights().unwrap_or_default()));
        let mut features = |x: &Features| match x {
            Features::Dense(x) => hash.update(bytemuck::cast_slice(x.values())),
            Features::Sparse(x) => {
                let (offsets, indices, values) = x.parts();
                hash.update(bytemuck::cast_slice(offsets));
                hash.update(bytemuck::cast_slice(indices));
                hash.update(bytemuck::cast_slice(values));
            }
        };
        match &self.rows {
            Rows::Clusters { compressed, first } => {
                features(first);
                hash.update(b"clusters");
                hash.update(bytemuck::cast_slice(compressed.partition().assignment()));
            }
            Rows::Augmented(x) | Rows::Corrupted { x, .. } => features(x),
            Rows::Nodes { x, .. } => features(x),
        }
        format!("{:032x}", hash.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Inputs, Training};
    use super::*;
    use crate::{Compressed, Dense, Graph, Model, Partition, Seed};

    #[test]
    fn training_goes_on_as_if_it_had_never_stopped() {
        let graph = Graph::from_edges(8, &[(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (3, 4)]).unwrap();
        let values = (0..24).map(|i| ((i * 7) % 5) as f32 - 1.5).collect::<Vec<_>>();
        let x = Features::Dense(Dense::new(8, 3, values).unwrap());
        let partition = Partition::new(vec![0, 0, 0, 1, 1, 2, 2, 2]).unwrap();
        let compressed = Compressed::new(&x, &partition).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.safetensors");
        for (name, inputs) in Model::NAMES
            .iter()
            .flat_map(|name| [(name, Inputs::Clusters(&compressed)), (name, Inputs::Nodes(&x))])
        {
            let model = Model::named(name).unwrap();
            let training = Training {
                model,
                hidden: 4,
                layers: 2,
                epochs: 7,
                dropout: 0.2,
                patience: Some(7),
                ..Training::default()
            };
            let whole = training.train(inputs, &graph, Seed(3), |_| true).unwrap();
            for stop in [0, 1, 4, 6] {
                let mut first = Trainer::new(&training, inputs, &graph, Seed(3)).unwrap();
                while first.epochs() < stop {
                    first.step().unwrap();
                }
                first.save(&path).unwrap();
                let mut second = Trainer::new(&training, inputs, &graph, Seed(3)).unwrap();
                second.resume(&path).unwrap();
                assert_eq!(second.epochs(), stop);
                while second.epochs() < 7 {
                    second.step().unwrap();
                }
                let again = second.finish().unwrap();
                assert_eq!((&again.encoder, &again.losses), (&whole.encoder, &whole.losses), "{name} {stop}");
            }
            let other = Training { hidden: 5, ..training.clone() };
            for mut other in [
                Trainer::new(&other, inputs, &graph, Seed(3)).unwrap(),
                Trainer::new(&training, inputs, &graph, Seed(4)).unwrap(),
            ] {
                let error = other.resume(&path).unwrap_err().to_string();
                assert!(error.contains("of other training") && other.epochs() == 0, "{error}");
            }
        }
        let mut nodes = Trainer::new(&Training::default(), Inputs::Nodes(&x), &graph, Seed(0)).unwrap();
        Trainer::new(&Training::default(), Inputs::Clusters(&compressed), &graph, Seed(0))
            .unwrap()
            .save(&path)
            .unwrap();
        assert!(nodes.resume(&path).is_err());
    }
}
