//! What every model promises, whatever its loss.

use super::*;
use crate::encoder::Encoder;
use crate::nn::Initial;
use crate::sample::Inputs;
use crate::train::trained_by;
use crate::{Compressed, EncoderKind, Partitioning, Trainer, Training, data};

/// Six epochs of a model with all that training may have.
fn trained(model: Model, inputs: Inputs, graph: &Graph) -> (Encoder, Vec<f64>) {
    let training = Training {
        model,
        hidden: 9,
        layers: 2,
        epochs: 6,
        dropout: 0.1,
        patience: Some(4),
        learning_rate: 0.01,
        ..Training::default()
    };
    let trainer = trained_by(&training, inputs, graph, Seed(2)).unwrap();
    (trainer.finish().unwrap(), trainer.losses().to_vec())
}

#[test]
fn every_model_gives_the_same_bytes_for_any_number_of_threads() {
    let data = data::Synthetic::named("demo").unwrap().generate(Seed(0)).unwrap();
    // A part of the nodes is enough, and more than a task of each kind.
    let nodes: Vec<u32> = (0..400).collect();
    let x = data.features.as_ref().unwrap().select(&nodes);
    let edges: Vec<(u32, u32)> = data.graph.edge_iter().filter(|&(u, v)| u < 400 && v < 400).collect();
    let graph = Graph::from_edges(400, &edges).unwrap();
    let config = Partitioning { clusters: Some(150), ..Partitioning::default() };
    let partition = config.partition(&graph, Seed(0)).unwrap();
    let compressed = Compressed::new(&x, &partition).unwrap();
    for name in Model::TRAINED {
        for inputs in [Inputs::Clusters(&compressed), Inputs::Nodes(&x)] {
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| trained(Model::named(name).unwrap(), inputs, &graph))
            };
            let (encoder, losses) = run(1);
            assert_eq!((&encoder, &losses), (&run(3).0, &run(3).1), "{name}");
            assert!(losses.iter().all(|loss| loss.is_finite()) && losses.len() > 1, "{name} {losses:?}");
            let embedding = encoder.embed(&graph, &x).unwrap();
            assert!(embedding.values().iter().any(|&value| value != 0.0), "{name}");
        }
    }
}

#[test]
fn weights_start_as_the_model_and_the_rows_ask() {
    let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (3, 4)]).unwrap();
    let x = dense(6, numbers(12, 1));
    let partition = crate::Partition::new(vec![0, 0, 1, 1, 2, 2]).unwrap();
    let compressed = Compressed::new(&x, &partition).unwrap();
    let (clusters, nodes) = (Inputs::Clusters(&compressed), Inputs::Nodes(&x));
    let model =
        |name: &str| Training { model: Model::named(name).unwrap(), hidden: 4, ..Training::default() };
    let sgc = Training { encoder: Some(EncoderKind::Sgc), ..model("grace") };
    let asked = |initial| Training { initial: Some(initial), ..model("grace") };
    let cases = [
        (model("grace"), clusters, false),
        (model("grace"), nodes, true),
        (sgc, nodes, false),
        (model("sce"), nodes, false),
        (model("dgi"), clusters, true),
        (asked(Initial::Glorot), clusters, true),
        (asked(Initial::Linear), nodes, false),
    ];
    for (training, inputs, without_bias) in cases {
        let encoder = Trainer::new(&training, inputs, &graph, Seed(0), None).unwrap().encoder().unwrap();
        assert_eq!(encoder.first_bias().iter().all(|&b| b == 0.0), without_bias, "{training:?}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (3, 4)]).unwrap();
    let x = dense(6, numbers(12, 1));
    let cases = [
        (r#"{"name": "ggd", "mask": 1.0}"#, "mask must be from 0 to below 1, not 1"),
        (r#"{"name": "ggd", "projections": 0}"#, "projections must be from 1 to 16, not 0"),
        (r#"{"name": "ggd", "reach": 9999999}"#, "too far"),
        (r#"{"name": "blockgcl", "lambda": 0}"#, "lambda must be above 0, not 0"),
        (r#"{"name": "contrast-reg", "nearest": 0}"#, "nearest must be at least 1"),
        (r#"{"name": "contrast-reg", "ratio": -1}"#, "ratio must be 0 or more, not -1"),
        (r#"{"name": "mvgrl", "alpha": 0}"#, "alpha must be above 0 and at most 1, not 0"),
        (r#"{"name": "mvgrl", "iterations": 0}"#, "iterations must be from 1 to 1000, not 0"),
        (r#"{"name": "bgrl", "decay": 1.5}"#, "decay must be from 0 to 1, not 1.5"),
        (r#"{"name": "bgrl", "projection": 0}"#, "projection must be at least 1"),
        (r#"{"name": "sp-gcl", "positives": 0}"#, "positives must be from 1 to 1000000, not 0"),
        (r#"{"name": "sp-gcl", "batch": 0}"#, "batch must be from 1 to 1000000, not 0"),
    ];
    let refused = |training: &Training| {
        Trainer::new(training, Inputs::Nodes(&x), &graph, Seed(0), None).err().map(|error| error.to_string())
    };
    for (model, said) in cases {
        let model: Model = serde_json::from_str(model).unwrap();
        let error = refused(&Training { model, hidden: 4, ..Training::default() }).unwrap();
        assert!(error.contains(said), "{error}");
    }
    let dgi = || Training { model: Model::named("dgi").unwrap(), hidden: 4, ..Training::default() };
    let cases = [
        (Training { dropout: 1.0, ..dgi() }, "dropout must be from 0 to below 1"),
        (Training { patience: Some(0), ..dgi() }, "patience must be at least 1"),
        (Training { renormalize: Some(true), ..dgi() }, "renormalize needs batch norm"),
    ];
    for (training, said) in cases {
        let error = refused(&training).unwrap();
        assert!(error.contains(said), "{error}");
    }
    assert!(refused(&dgi()).is_none());
}
