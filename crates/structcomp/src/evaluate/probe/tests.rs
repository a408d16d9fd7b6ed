use super::*;
use crate::{Csr, Dense, Split, random::normal};

/// Points around the corners of a square. Opposite corners are of one class, so no line separates the classes.
fn corners(nodes: usize) -> (Features, Labels) {
    let mut rng = Seed(3).stream("corners");
    let values = (0..nodes).flat_map(|node| {
        let corner = |bit: usize| if node >> bit & 1 == 1 { 1.0 } else { -1.0 };
        [corner(0) + 0.2 * normal(&mut rng), corner(1) + 0.2 * normal(&mut rng)]
    });
    let x = Features::Dense(Dense::new(nodes, 2, values.collect::<Vec<f32>>()).unwrap());
    (x, Labels::new((0..nodes).map(|node| Some((node & 1 ^ node >> 1 & 1) as u32))).unwrap())
}

fn split(nodes: u32) -> SplitSet {
    let part = |third: u32| (0..nodes).filter(|node| node / 4 % 3 == third).collect();
    SplitSet::named("thirds", vec![Split { train: part(0), validation: part(1), test: part(2) }; 2])
}

fn small() -> Mlp {
    Mlp { hidden: 16, epochs: 60, ..Mlp::default() }
}

#[test]
fn only_the_mlp_separates_opposite_corners() {
    let (x, labels) = corners(600);
    let judge = |probe: Probe| probe.classify(&x, &labels, &split(600), Seed(0)).unwrap().mean;
    assert!(judge(Probe::Mlp(small())) > 99.0);
    assert!(judge(Probe::Mlp(Mlp { batch: Some(32), epochs: 10, dropout: 0.0, ..small() })) > 99.0);
    let softmax = Softmax { learning_rate: 0.05, epochs: 200, ..Softmax::default() };
    assert!(judge(Probe::Softmax(softmax)) < 75.0);
    assert!(judge(Probe::default()) < 75.0);
}

#[test]
fn softmax_separates_what_a_line_separates() {
    let (x, _) = corners(600);
    let labels = Labels::new((0..600).map(|node| Some((node & 1) as u32))).unwrap();
    let softmax = Probe::Softmax(Softmax { learning_rate: 0.05, epochs: 200, ..Softmax::default() });
    assert!(softmax.classify(&x, &labels, &split(600), Seed(0)).unwrap().mean > 99.0);
}

#[test]
fn threads_change_nothing_and_the_seed_does() {
    let (x, _) = corners(600);
    // With random labels every bit of a logit counts.
    let labels = Labels::new((0..600u32).map(|node| Some(mix(node as u64) as u32 % 3))).unwrap();
    let softmax = Softmax { epochs: 40, learning_rate: 0.05, ..Softmax::default() };
    for probe in [Probe::Mlp(Mlp { epochs: 8, ..small() }), Probe::Softmax(softmax)] {
        let run = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| probe.classify(&x, &labels, &split(600), Seed(seed)).unwrap())
        };
        let alone = run(1, 0);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads, 0) == alone), "{probe}");
        let Probe::Mlp(_) = &probe else { continue };
        assert_ne!(alone.per_split[0], alone.per_split[1], "each split draws its own weights");
        assert_ne!(run(1, 1), alone);
    }
}

#[test]
fn the_epoch_best_on_validation_nodes_is_tested() {
    // The training nodes have the opposite labels, so validation is right only before anything is learnt.
    let x = Features::Dense(Dense::new(6, 1, vec![-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]).unwrap());
    let labels = Labels::new([0, 1, 1, 0, 1, 0].map(Some)).unwrap();
    let judge = |validation: Vec<u32>, seed: u64| {
        let split = Split { train: vec![0, 1], validation, test: vec![4, 5] };
        let softmax = Softmax { learning_rate: 0.05, epochs: 400, interval: 1, ..Softmax::default() };
        let set = SplitSet::named("mine", vec![split]);
        Probe::Softmax(softmax).classify(&x, &labels, &set, Seed(seed)).unwrap().mean
    };
    assert_eq!(judge(vec![], 0), 0.0, "the last epoch has learnt the opposite");
    let best = (0..20).map(|seed| judge(vec![2, 3], seed)).fold(0.0, f64::max);
    assert_eq!(best, 100.0, "an early epoch of some seed had not");
}

#[test]
fn sparse_and_dense_rows_are_learnt_alike() {
    let (offsets, columns): (Vec<u64>, Vec<u32>) =
        ((0..=90).collect(), (0..90u32).map(|node| node % 6).collect());
    let sparse = Features::Sparse(Csr::new(6, offsets, columns, vec![1.0; 90]).unwrap());
    let labels = Labels::new((0..90).map(|node| Some(node % 6 % 3))).unwrap();
    let splits = SplitSet::random(&labels, 15, 2, Seed(0));
    let softmax = Softmax { learning_rate: 0.05, epochs: 100, ..Softmax::default() };
    for probe in [Probe::Mlp(Mlp { epochs: 40, ..small() }), Probe::Softmax(softmax)] {
        for x in [&sparse, &Features::Dense(sparse.to_dense())] {
            assert_eq!(probe.classify(x, &labels, &splits, Seed(0)).unwrap().mean, 100.0, "{probe}");
        }
    }
}

#[test]
fn invalid_settings_and_divergence_are_errors() {
    let (x, labels) = corners(60);
    let error =
        |probe: Probe, x: &Features| probe.classify(x, &labels, &split(60), Seed(0)).unwrap_err().to_string();
    for (probe, said) in [
        (Probe::Logistic { c: 0.0 }, "C is 0"),
        (Probe::Mlp(Mlp { hidden: 0, ..small() }), "at least 1"),
        (Probe::Mlp(Mlp { batch: Some(0), ..small() }), "at least 1"),
        (Probe::Mlp(Mlp { dropout: 1.0, ..small() }), "below 1"),
        (Probe::Mlp(Mlp { dropout: f64::NAN, ..small() }), "below 1"),
        (Probe::Mlp(Mlp { epochs: 0, ..small() }), "at least one epoch"),
        (Probe::Mlp(Mlp { learning_rate: -1.0, ..small() }), "learning rate is -1"),
        (Probe::Softmax(Softmax { interval: 0, ..Softmax::default() }), "validation interval"),
        (Probe::Softmax(Softmax { weight_decay: -0.1, ..Softmax::default() }), "weight decay"),
    ] {
        let said_now = error(probe, &x);
        assert!(said_now.contains(said), "{said_now}");
    }
    let rate = 1e300;
    for probe in [
        Probe::Mlp(Mlp { learning_rate: rate, ..small() }),
        Probe::Softmax(Softmax { learning_rate: rate, ..Softmax::default() }),
    ] {
        let said = error(probe.clone(), &x);
        assert!(said.contains("diverged in epoch 1"), "{probe}: {said}");
    }
    let empty = Features::Dense(Dense::new(60, 0, vec![]).unwrap());
    assert_eq!(error(Probe::default(), &empty), "the embedding has no columns");
    // A batch of one row has no variance, which must not fail.
    let lone = Probe::Mlp(Mlp { batch: Some(1), epochs: 2, ..small() });
    lone.classify(&x, &labels, &split(60), Seed(0)).unwrap();
}

#[test]
fn probes_have_settings_for_their_datasets() {
    for name in Probe::NAMES {
        Probe::named(name, "cora").unwrap();
    }
    assert_eq!(Probe::named("mlp", "ogbn-arxiv").unwrap(), Probe::Mlp(Mlp::default()));
    let Probe::Mlp(papers) = Probe::named("mlp", "ogbn-papers100M").unwrap() else { panic!("an MLP") };
    assert_eq!((papers.epochs, papers.batch, papers.dropout), (30, Some(256), 0.0));
    assert!(Probe::named("svm", "cora").unwrap_err().to_string().contains("logistic, mlp, softmax"));
}
