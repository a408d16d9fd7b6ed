//! The pipeline as a caller sees it.

use super::*;
use crate::random::normal;
use crate::{
    Activation, Dense, EncoderKind, FeatureNorm, Graph, Model, Normalization, Propagation, SaintSampler,
    StandIn,
};
use rand::RngExt;

/// A synthetic graph of 120 nodes with nine features.
fn small(seed: u64) -> Dataset {
    let mut rng = Seed(seed).stream("small");
    let chords = (0..200).map(|_| (rng.random_range(0..120), rng.random_range(0..120)));
    let edges: Vec<(u32, u32)> = (0..120).map(|v| (v, (v + 1) % 120)).chain(chords).collect();
    let values: Vec<f32> = (0..120 * 9).map(|_| normal(&mut rng)).collect();
    let x = Features::Dense(Dense::new(120, 9, values).unwrap());
    Dataset::in_memory("small", Graph::from_edges(120, &edges).unwrap(), Some(x))
}

fn settings(model: &str) -> StructComp {
    let training = Training {
        model: Model::named(model).unwrap(),
        hidden: 6,
        layers: 2,
        epochs: 3,
        ..Training::default()
    };
    let partitioning = Partitioning { clusters: Some(30), ..Partitioning::default() };
    StructComp { training, partitioning, seed: Seed(4), ..StructComp::default() }
}

/// Every setting that changes what a fitted model is.
fn all_settings() -> Vec<StructComp> {
    let mut all = Vec::new();
    for (name, mode) in Model::TRAINED.iter().flat_map(|name| [(name, Mode::Structcomp), (name, Mode::Full)])
    {
        all.push(StructComp { mode, ..settings(name) });
    }
    for mode in [Mode::ClusterGcn, Mode::Graphsaint, Mode::Graphzoom] {
        all.extend(["sce", "coles", "grace", "cca-ssg"].map(|name| StructComp { mode, ..settings(name) }));
    }
    let sampled = |saint| StructComp { mode: Mode::Graphsaint, saint, ..settings("grace") };
    all.push(sampled(Saint { sampler: SaintSampler::Node, coverage: 0, ..Saint::default() }));
    all.push(sampled(Saint { sampler: SaintSampler::Edge, batches: Some(2), ..Saint::default() }));
    let mode = Mode::ClusterGcn;
    all.push(StructComp { mode, batch_clusters: Some(3), ..settings("sce") });
    let zoom = Zoom { levels: 1, fusion_neighbors: 0 };
    all.push(StructComp { mode: Mode::Graphzoom, zoom, ..settings("cca-ssg") });
    for weights in [None, Some([1.0, 2.0, 0.0, 0.5, 0.3, 0.2])] {
        let model = Model::Solved(Solved { weights, width: 7, ..Solved::default() });
        let training = Training { model, ..Training::default() };
        all.push(StructComp { training, ..settings("sce") });
    }
    for feature_norm in [FeatureNorm::RowL1, FeatureNorm::RowL2, FeatureNorm::Standardize] {
        let prepare = Prepare { feature_norm, ..Prepare::default() };
        all.push(StructComp { prepare, ..settings("cca-ssg") });
    }
    for kind in [EncoderKind::Gcn, EncoderKind::Sgc, EncoderKind::Ssgc] {
        let training = Training { encoder: Some(kind), ..settings("coles").training };
        all.push(StructComp { training, ..settings("coles") });
    }
    for activation in [Activation::Relu, Activation::Elu, Activation::Prelu, Activation::PreluShared] {
        let training = Training {
            activation: Some(activation),
            batch_norm: Some(true),
            dropout: 0.2,
            ..settings("grace").training
        };
        all.push(StructComp { training, ..settings("grace") });
    }
    all
}

#[test]
fn a_model_that_was_saved_embeds_to_the_same_bytes() {
    let (data, other) = (small(1), small(2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    for settings in all_settings() {
        let fitted = settings.fit(&data).unwrap();
        fitted.save(&path).unwrap();
        let loaded = Fitted::load(&path).unwrap();
        assert_eq!(loaded.settings, settings);
        for data in [&data, &other] {
            assert_eq!(loaded.embed(data).unwrap(), fitted.embed(data).unwrap(), "{settings:?}");
        }
        assert_eq!(Fitted::from_bytes(fitted.to_bytes().unwrap()).unwrap(), loaded);
        assert_eq!(loaded.untrained(&data).unwrap(), fitted.untrained(&data).unwrap());
        assert!(loaded.saw(&data) && !loaded.saw(&other));
    }
}

#[test]
fn stand_ins_are_saved_too_and_refused_on_another_graph() {
    let bare = |seed| Dataset { features: None, ..small(seed) };
    for kind in [StandIn::Position, StandIn::Degree] {
        let prepare = Prepare { stand_in: kind, stand_in_width: 8, feature_norm: FeatureNorm::Standardize };
        let fitted = StructComp { prepare, ..settings("sce") }.fit(&bare(1)).unwrap();
        let loaded = Fitted::from_bytes(fitted.to_bytes().unwrap()).unwrap();
        assert_eq!(loaded.embed(&bare(1)).unwrap(), fitted.embed(&bare(1)).unwrap(), "{kind:?}");
        match kind {
            StandIn::Degree => assert_eq!(loaded.embed(&bare(2)).unwrap(), fitted.embed(&bare(2)).unwrap()),
            _ => assert!(loaded.embed(&bare(2)).unwrap_err().to_string().contains("another graph")),
        }
    }
}

#[test]
fn the_embedding_of_a_linear_encoder_is_hops_of_prepared_features_times_its_map() {
    let data = small(3);
    let prepare = Prepare { feature_norm: FeatureNorm::Standardize, ..Prepare::default() };
    let training = Training { hidden: 4, epochs: 2, layers: 1, ..settings("sce").training };
    let fitted = StructComp { prepare, training, ..settings("sce") }.fit(&data).unwrap();
    let x = fitted.features(&data).unwrap();
    let hops = Propagation::new(&data.graph, Normalization::Symmetric).power(&x, 2).unwrap().to_dense();
    let (map, width) = fitted.encoder.layers().unwrap().linear_map();
    let bias = fitted.encoder.layers().unwrap().first_bias();
    let z = fitted.embed(&data).unwrap();
    for (row, j) in (0..120).flat_map(|row| (0..width).map(move |j| (row, j))) {
        let sum: f32 = hops.row(row).iter().enumerate().map(|(i, x)| x * map[i * width + j]).sum();
        assert!((z.row(row)[j] - sum - bias[j]).abs() < 1e-4);
    }
}

#[test]
fn hooks_hear_of_everything_and_can_end_training() {
    let data = small(1);
    let settings = settings("grace");
    let whole = settings.fit(&data).unwrap();
    let (mut stages, mut epochs) = (Vec::new(), Vec::new());
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("checkpoint.safetensors");
    let early = settings
        .fit_with(
            &data,
            Hooks {
                on_stage: Some(&mut |stage| stages.push(stage)),
                on_epoch: Some(&mut |epoch, trainer| {
                    epochs.push(epoch.number);
                    trainer.save(&checkpoint)?;
                    Ok(epoch.number < 2)
                }),
                ..Hooks::default()
            },
        )
        .unwrap();
    assert_eq!(stages, [Stage::Prepare, Stage::Partition, Stage::Compress, Stage::Train]);
    assert_eq!((epochs, early.epochs, early.interrupted), (vec![1, 2], 2, true));
    assert!(!whole.interrupted && whole.encoder != early.encoder);
    let resumed = Hooks { resume: Some(checkpoint.clone()), ..Hooks::default() };
    let resumed = settings.fit_with(&data, resumed).unwrap();
    assert_eq!((&resumed.encoder, &resumed.losses), (&whole.encoder, &whole.losses));
    let failing = Hooks { on_epoch: Some(&mut |_, _| Err(Error::Input("full".into()))), ..Hooks::default() };
    assert_eq!(settings.fit_with(&data, failing).unwrap_err().to_string(), "full");
}

/// In every mode, for the models of the paper: resumed training and any number of threads give the same bytes.
#[test]
fn modes_resume_and_take_any_number_of_threads() {
    let data = small(1);
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("checkpoint.safetensors");
    for (mode, name) in
        Mode::ALL.into_iter().flat_map(|mode| ["sce", "coles", "grace", "cca-ssg"].map(|name| (mode, name)))
    {
        let settings = StructComp { mode, ..settings(name) };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let fitted = settings.fit(&data).unwrap();
                let embedding = fitted.embed(&data).unwrap();
                (fitted, embedding)
            })
        };
        let (whole, embedding) = run(1);
        for threads in [2, 3] {
            let (fitted, other) = run(threads);
            assert_eq!((&fitted.encoder, &fitted.losses), (&whole.encoder, &whole.losses), "{mode:?} {name}");
            assert_eq!(other, embedding, "{mode:?} {name}");
        }
        let mut on_epoch = |epoch: &Epoch, trainer: &Trainer<'_>| {
            trainer.save(&checkpoint)?;
            Ok(epoch.number < 2)
        };
        let hooks = Hooks { on_epoch: Some(&mut on_epoch), ..Hooks::default() };
        assert!(settings.fit_with(&data, hooks).unwrap().interrupted);
        let resume = || Hooks { resume: Some(checkpoint.clone()), ..Hooks::default() };
        let resumed = settings.fit_with(&data, resume()).unwrap();
        assert_eq!((&resumed.encoder, &resumed.losses), (&whole.encoder, &whole.losses), "{mode:?} {name}");
        let saint = Saint { budget: Some(13), ..Saint::default() };
        if mode == Mode::Graphsaint {
            let error = StructComp { saint, ..settings.clone() }.fit_with(&data, resume()).unwrap_err();
            assert!(error.to_string().contains("checkpoint of another run"), "{error}");
        }
        let other = if mode == Mode::Graphsaint { Mode::Full } else { Mode::Graphsaint };
        let error = StructComp { mode: other, ..settings }.fit_with(&data, resume()).unwrap_err().to_string();
        assert!(error.contains("checkpoint of another run"), "{error}");
    }
}

#[test]
fn graphzoom_refines_what_it_embeds_on_the_coarse_graph() {
    let data = small(1);
    let settings = StructComp { mode: Mode::Graphzoom, ..settings("cca-ssg") };
    let fitted = settings.fit(&data).unwrap();
    let coarse = settings.zoom.coarsen(&data.graph, data.features.as_ref().unwrap(), settings.seed).unwrap();
    assert_eq!(fitted.partition.as_ref(), Some(&coarse.partition));
    assert!(coarse.graph.nodes() < 120);
    let rows = fitted.encoder.layers().unwrap().embed(&coarse.graph, &coarse.features).unwrap();
    let mut refined = Vec::new();
    let keep = |rows: &[f32]| {
        refined.extend_from_slice(rows);
        Ok(())
    };
    coarse.refine(rows.values(), 6, keep).unwrap();
    assert_eq!(fitted.embed(&data).unwrap().values(), refined);
    assert!(fitted.on_random_clusters(&data).is_err() && fitted.diagnostics(&data).is_err());
}

#[test]
fn settings_of_another_mode_are_refused() {
    let data = small(1);
    let refused = |settings: StructComp| settings.fit(&data).unwrap_err().to_string();
    let (saint, zoom) = (Saint { walk_length: 3, ..Saint::default() }, Zoom { levels: 1, ..Zoom::default() });
    let full = || StructComp { mode: Mode::Full, ..settings("sce") };
    for (settings, said) in [
        (StructComp { batch_clusters: Some(3), ..full() }, "batch_clusters has no effect in the mode full"),
        (StructComp { saint, ..full() }, "use the mode graphsaint"),
        (StructComp { zoom, ..full() }, "use the mode graphzoom"),
    ] {
        let error = refused(settings);
        assert!(error.contains(said), "{error}");
    }
    for mode in Mode::ALL.into_iter().filter(|mode| *mode != Mode::Structcomp) {
        let solved = StructComp { mode, ..StructComp::default() };
        assert_eq!(refused(solved), "the solved model needs clusters; use the mode structcomp");
    }
    let batch_clusters = Some(31);
    let error = refused(StructComp { mode: Mode::ClusterGcn, batch_clusters, ..settings("sce") });
    assert_eq!(error, "batch_clusters is 31, but there are only 30 clusters");
}

#[test]
fn clusters_of_the_caller_are_used_and_checked() {
    let data = small(1);
    let given = |partition: Partition| {
        settings("sce").fit_with(&data, Hooks { partition: Some(partition), ..Hooks::default() })
    };
    let own = Partition::new((0..120).map(|node| node / 3).collect()).unwrap();
    assert_eq!(given(own.clone()).unwrap().partition, Some(own));
    let error = given(Partition::new(vec![0, 1]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("2 nodes, but the graph has 120"), "{error}");
    for mode in [Mode::Full, Mode::Graphsaint, Mode::Graphzoom] {
        let own = Partition::new((0..120).map(|node| node / 3).collect()).unwrap();
        let hooks = Hooks { partition: Some(own), ..Hooks::default() };
        let error = StructComp { mode, ..settings("sce") }.fit_with(&data, hooks).unwrap_err().to_string();
        assert!(error.starts_with("clusters are given, but the mode"), "{error}");
    }
}

#[test]
fn new_nodes_are_embedded_as_in_a_graph_that_has_them() {
    let data = small(1);
    for model in ["sce", "cca-ssg"] {
        let fitted = settings(model).fit(&data).unwrap();
        let x = data.features.as_ref().unwrap();
        let new = NewNodes { features: x.select(&[5, 6]), edges: vec![(120, 3), (121, 120), (7, 121)] };
        let mut edges: Vec<(u32, u32)> = data.graph.edge_iter().collect();
        edges.extend(&new.edges);
        let graph = Graph::from_edges(122, &edges).unwrap();
        let joined = Dataset::in_memory("joined", graph, Some(x.above(&new.features).unwrap()));
        let all = fitted.embed(&joined).unwrap();
        let rows = fitted.embed_new(&data, &new).unwrap();
        assert_eq!((rows.rows(), rows.values()), (2, &all.values()[120 * 6..]));
        let wrong = NewNodes { edges: vec![(1, 2)], ..new };
        assert!(fitted.embed_new(&data, &wrong).unwrap_err().to_string().contains("must have a new node"));
    }
}

#[test]
fn damaged_files_are_refused() {
    let fitted = settings("dgi").fit(&small(1)).unwrap();
    let whole = fitted.to_bytes().unwrap();
    for end in [0, 5, 8, 100, whole.len() - 1] {
        let error = Fitted::from_bytes(whole[..end].to_vec()).unwrap_err().to_string();
        assert!(error.contains("not a valid safetensors file"), "{end}: {error}");
    }
    let foreign = [&2u64.to_le_bytes()[..], b"{}"].concat();
    assert!(Fitted::from_bytes(foreign).unwrap_err().to_string().contains("not one that structcomp wrote"));
    let mut broken = whole.clone();
    let last = broken.len() - 4;
    broken[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(Fitted::from_bytes(broken).unwrap_err().to_string().contains("not finite"));
    // A flipped bit anywhere in the header is an error or another model, never a panic.
    for at in 0..whole.len().min(3000) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        let _ = Fitted::from_bytes(flipped);
    }
}
