//! When training stops, and how it continues.

use super::*;
use crate::sample::Inputs;
use crate::{Compressed, Dense, Features, Graph, Model, Partition, Seed};

#[test]
fn training_with_patience_keeps_the_lowest_loss() {
    let graph = Graph::from_edges(12, &(1..12).map(|v| (v / 2, v)).collect::<Vec<_>>()).unwrap();
    let values: Vec<f32> = (0..36).map(|i| (i * 7 % 11) as f32 - 5.0).collect();
    let x = Features::Dense(Dense::new(12, 3, values).unwrap());
    // DGI's loss goes up and down with the nodes that are permuted.
    let model = Model::Dgi(crate::model::Dgi::default());
    let training = Training {
        model,
        hidden: 4,
        epochs: 200,
        patience: Some(6),
        weight_decay: 0.0,
        ..Training::default()
    };
    let trained = trained_by(&training, Inputs::Nodes(&x), &graph, Seed(1)).unwrap();
    let losses = trained.losses();
    let lowest = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
    assert_eq!(losses.len(), lowest + 6 + 1, "{losses:?}");
    // The parameters that gave the lowest loss, those before its step.
    let mut trainer = Trainer::new(&training, Inputs::Nodes(&x), &graph, Seed(1), None).unwrap();
    while trainer.epochs() < lowest {
        trainer.step().unwrap();
    }
    assert_eq!(trainer.encoder().unwrap(), trained.finish().unwrap());
}

#[test]
fn training_continues_as_if_it_had_never_stopped() {
    let graph = Graph::from_edges(8, &[(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (3, 4)]).unwrap();
    let values = (0..24).map(|i| ((i * 7) % 5) as f32 - 1.5).collect::<Vec<_>>();
    let x = Features::Dense(Dense::new(8, 3, values).unwrap());
    let partition = Partition::new(vec![0, 0, 0, 1, 1, 2, 2, 2]).unwrap();
    let compressed = Compressed::new(&x, &partition).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    for (name, inputs) in Model::TRAINED
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
        let whole = trained_by(&training, inputs, &graph, Seed(3)).unwrap();
        for stop in [0, 1, 4, 6] {
            let mut first = Trainer::new(&training, inputs, &graph, Seed(3), None).unwrap();
            while first.epochs() < stop {
                first.step().unwrap();
            }
            first.save(&path).unwrap();
            let mut second = Trainer::new(&training, inputs, &graph, Seed(3), None).unwrap();
            second.resume(&path).unwrap();
            assert_eq!(second.epochs(), stop);
            while second.epochs() < 7 {
                second.step().unwrap();
            }
            assert_eq!(second.finish().unwrap(), whole.finish().unwrap(), "{name} {stop}");
            assert_eq!(second.losses(), whole.losses(), "{name} {stop}");
        }
        let other = Training { hidden: 5, ..training.clone() };
        for mut other in [
            Trainer::new(&other, inputs, &graph, Seed(3), None).unwrap(),
            Trainer::new(&training, inputs, &graph, Seed(4), None).unwrap(),
        ] {
            let error = other.resume(&path).unwrap_err().to_string();
            assert!(error.contains("of another run") && other.epochs() == 0, "{error}");
        }
    }
    let mut nodes = Trainer::new(&Training::default(), Inputs::Nodes(&x), &graph, Seed(0), None).unwrap();
    Trainer::new(&Training::default(), Inputs::Clusters(&compressed), &graph, Seed(0), None)
        .unwrap()
        .save(&path)
        .unwrap();
    assert!(nodes.resume(&path).is_err());
}
