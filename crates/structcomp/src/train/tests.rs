//! When training stops, and how it continues.

use super::*;
use crate::Stop;
use crate::model::CcaSsg;
use crate::sample::Inputs;
use crate::{Activation, Compressed, Dense, EncoderKind, Features, Graph, Model, Partition, Seed};
use rand::RngExt;

/// Ten clusters of six on a ring, whose members share their features but for so much noise.
fn trained(noise: f32, model: Model) -> (usize, Vec<f64>, Vec<f32>) {
    let graph = Graph::from_edges(60, &(0..60).map(|v| (v, (v + 1) % 60)).collect::<Vec<_>>()).unwrap();
    let partition = Partition::new((0..60).map(|node| node / 6).collect()).unwrap();
    let mut rng = Seed(3).stream("features");
    let shared: Vec<f32> = (0..10 * 8).map(|_| rng.random::<f32>() - 0.5).collect();
    let values: Vec<f32> =
        (0..60 * 8).map(|at| shared[at / 48 * 8 + at % 8] + noise * (rng.random::<f32>() - 0.5)).collect();
    let x = Features::Dense(Dense::new(60, 8, values).unwrap());
    let compressed = Compressed::new(&x, &partition).unwrap();
    let training = Training {
        model,
        hidden: 6,
        epochs: 300,
        learning_rate: 0.02,
        weight_decay: 0.0,
        encoder: Some(EncoderKind::Ssgc),
        hops: Some(1),
        activation: Some(Activation::None),
        stop: Stop::Auto,
        ..Training::default()
    };
    let trainer = trained_by(&training, Inputs::Clusters(&compressed), &graph, Seed(0)).unwrap();
    let hops = trainer.encoder().first_hops().weights().to_vec();
    (trainer.epochs(), trainer.settled(), hops)
}

#[test]
fn training_stops_when_views_agree_and_early_when_they_do_not() {
    let cca = || Model::CcaSsg(CcaSsg::default());
    let (epochs, settled, hops) = trained(0.8, cca());
    assert!(epochs > 1 && epochs < 300, "{epochs} {settled:?}");
    assert!(settled[epochs - 1] >= 0.88 && settled[..epochs - 1].iter().all(|&settled| settled < 0.88));
    assert_eq!(hops, [0.05, 0.95]);
    let (epochs, settled, hops) = trained(20.0, cca());
    assert!(epochs == 5 && settled[4] < 0.76, "{settled:?}");
    assert_eq!(hops, [0.5, 0.5], "of noise a node hears itself more");
}

#[test]
fn where_nothing_is_measured_training_does_not_stop_by_itself() {
    let graph = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 3)]).unwrap();
    let x = Features::Dense(Dense::new(4, 2, vec![1.0, 2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0]).unwrap());
    let model = Model::named("sce").unwrap();
    let gcn =
        Training { model, hidden: 3, encoder: Some(EncoderKind::Gcn), epochs: 4, ..Training::default() };
    let trainer = trained_by(&gcn, Inputs::Nodes(&x), &graph, Seed(0)).unwrap();
    assert_eq!(trainer.settled(), [0.0; 4]);
    let auto = Training { stop: Stop::Auto, ..gcn };
    let error = trained_by(&auto, Inputs::Nodes(&x), &graph, Seed(0)).err().unwrap();
    assert!(error.to_string().contains("not available for SCE"), "{error}");
}

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
    assert_eq!(trainer.encoder(), trained.finish().unwrap());
}

#[test]
fn the_effective_rank_is_that_of_the_rows() {
    let graph = Graph::from_edges(40, &[(0, 1)]).unwrap();
    let training = Training { hidden: 6, ..Training::default() };
    let rank = |of: &dyn Fn(usize, usize) -> f32| {
        let values: Vec<f32> = (0..40 * 8).map(|at| of(at / 8, at % 8)).collect();
        let x = Features::Dense(Dense::new(40, 8, values).unwrap());
        let trainer = Trainer::new(&training, Inputs::Nodes(&x), &graph, Seed(0), None).unwrap();
        stop::effective_rank(trainer.engine.forward(&x), 6)
    };
    // Multiples of one row, then rows in all directions of which the encoder keeps six.
    assert!((rank(&|i, j| i as f32 * (j as f32 - 2.5)) - 1.0).abs() < 1e-3);
    let many = rank(&|i, j| if i % 8 == j { 1.0 } else { 0.0 });
    assert!((3.0..=6.0).contains(&many), "{many}");
    assert_eq!(rank(&|_, _| 0.0), 0.0);
}

#[test]
fn the_share_of_the_rank_that_is_lost_is_never_negative() {
    let (_, settled, _) = trained(0.5, Model::Coles(crate::model::Coles::default()));
    assert!(settled[0] == 0.0 && settled.iter().all(|settled| (0.0..=1.0).contains(settled)));
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
