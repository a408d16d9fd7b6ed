use super::minimize::{Effort, minimize};
use super::search::{Choice, Tried, best_of, top_of_parabola};
use super::softmax::TrainingRows;
use super::treatment::Treated;
use super::*;
use crate::evaluate::Accuracy;
use crate::random::normal;
use crate::{Dense, Split};
use std::cell::RefCell;

/// Rows around a centre for each of `classes` classes, and their classes.
fn clouds(rows: usize, cols: usize, classes: usize, spread: f32) -> (Vec<f32>, Vec<u32>) {
    let mut rng = Seed(5).stream("clouds");
    let centres: Vec<f32> = (0..classes * cols).map(|_| normal(&mut rng)).collect();
    let of: Vec<u32> = (0..rows).map(|row| (row % classes) as u32).collect();
    let values = of.iter().flat_map(|&class| centres[class as usize * cols..][..cols].to_vec());
    let values: Vec<f32> = values.map(|value| value + spread * normal(&mut rng)).collect();
    (values, of)
}

fn training_rows(x: &[f32], width: usize, of: &[u32]) -> TrainingRows {
    let count = *of.iter().max().unwrap() as usize + 1;
    TrainingRows { x: x.to_vec(), width, classes: of.to_vec(), count, room: RefCell::default() }
}

/// F and its gradient by the definition, in f64.
fn by_definition(x: &[f32], of: &[u32], w: &[f64], count: usize, lambda: f64) -> (f64, Vec<f64>) {
    let cols = w.len() / count;
    let mut value = 0.5 * lambda * w.iter().map(|w| w * w).sum::<f64>();
    let mut gradient: Vec<f64> = w.iter().map(|w| lambda * w).collect();
    for (x, &class) in x.chunks_exact(cols).zip(of) {
        let logit = |k: usize| x.iter().enumerate().map(|(c, &x)| x as f64 * w[c * count + k]).sum::<f64>();
        let powers: Vec<f64> = (0..count).map(|k| logit(k).exp()).collect();
        let sum: f64 = powers.iter().sum();
        value -= (powers[class as usize] / sum).ln();
        for k in 0..count {
            let error = powers[k] / sum - (k == class as usize) as u8 as f64;
            x.iter().enumerate().for_each(|(c, &x)| gradient[c * count + k] += error * x as f64);
        }
    }
    (value, gradient)
}

#[test]
fn value_and_gradient_are_those_of_the_definition() {
    let (x, of) = clouds(40, 7, 4, 1.0);
    let rows = training_rows(&x, 7, &of);
    let w: Vec<f32> = (0..28).map(|at| ((at * 5 % 11) as f32 - 5.0) / 9.0).collect();
    let wide: Vec<f64> = w.iter().map(|&w| w as f64).collect();
    // Every third row is held out.
    let kept = |row: usize| !row.is_multiple_of(3);
    let x_kept: Vec<f32> =
        x.chunks(7).enumerate().filter(|(row, _)| kept(*row)).flat_map(|(_, x)| x.to_vec()).collect();
    let of_kept: Vec<u32> = of.iter().enumerate().filter(|(row, _)| kept(*row)).map(|(_, &of)| of).collect();
    let (value, gradient) = by_definition(&x_kept, &of_kept, &wide, 4, 0.3);
    let part =
        |kept: &dyn Fn(usize) -> bool| rows.select(&(0..40).filter(|&row| kept(row)).collect::<Vec<_>>());
    let point = part(&kept).at(&w, 0.3);
    assert!((point.value / value - 1.0).abs() < 1e-5);
    assert!(point.gradient.iter().zip(&gradient).all(|(got, want)| (*got as f64 - want).abs() < 1e-4));
    // The definition itself agrees with finite differences.
    for at in [0, 9, 27] {
        let moved = |by: f64| {
            let mut w = wide.clone();
            w[at] += by;
            by_definition(&x_kept, &of_kept, &w, 4, 0.3).0
        };
        assert!(((moved(1e-5) - moved(-1e-5)) / 2e-5 - gradient[at]).abs() < 1e-6);
    }
}

#[test]
fn rows_are_counted_softly_by_how_far_their_class_leads() {
    // The logits of one row are the row itself.
    let of = [0, 1, 2, 1];
    let logits = [5.0, 1.0, 0.0, 2.0, 2.0, 0.0, 1.0, 4.0, 2.0, -9.0, 2.0, 1.0];
    let rows = training_rows(&logits, 3, &of);
    let weights = |scale: f32| (0..9).map(|at| if at % 4 == 0 { scale } else { 0.0 }).collect::<Vec<f32>>();
    // Leads of 4, 0, −2 and 1: their root mean square is √(21/4).
    let share = |lead: f64| 1.0 / (1.0 + (-4.0 * lead / (21f64 / 4.0).sqrt()).exp());
    let want: f64 = [4.0, 0.0, -2.0, 1.0].map(share).iter().sum();
    for scale in [1e-3, 1.0, 1e3] {
        assert!((rows.right(&weights(scale)) / want - 1.0).abs() < 1e-6);
    }
    assert_eq!(rows.right(&[0.0; 9]), 2.0);
}

#[test]
fn the_minimum_is_that_of_plain_gradient_descent_in_double_precision() {
    let (x, of) = clouds(60, 5, 3, 1.5);
    for lambda in [2.0, 0.1] {
        let mut w = vec![0.0; 15];
        // The curvature is at most λ + ½ Σ‖x‖².
        let bound = lambda + 0.5 * x.iter().map(|&x| (x * x) as f64).sum::<f64>();
        for _ in 0..60_000 {
            let (_, gradient) = by_definition(&x, &of, &w, 3, lambda);
            w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= g / bound);
        }
        let rows = training_rows(&x, 5, &of);
        let guess: Vec<f32> = (0..25).map(|at| if at % 6 == 0 { 0.05 } else { 0.0 }).collect();
        let effort = Effort { decrease: 1e-9, steps: 200 };
        let found = minimize(|w| rows.at(w, lambda), &guess, 5, vec![0.0; 15], effort);
        for (got, want) in found.weights.iter().zip(&w) {
            assert!(
                (*got as f64 - want).abs() < 3e-3 * (1.0 + want.abs()),
                "λ = {lambda}: {got}, not {want}"
            );
        }
    }
}

/// A dataset of which the first 20 nodes of each class are for training.
fn dataset(rows: usize, cols: usize, classes: usize, spread: f32) -> (Vec<f32>, Labels, SplitSet) {
    let (x, of) = clouds(rows, cols, classes, spread);
    let nodes = 0..rows as u32;
    let (train, test) = nodes.partition(|&node| (node as usize) < 20 * classes);
    let labels = Labels::new(of.into_iter().map(Some)).unwrap();
    (x, labels, SplitSet::named("mine", vec![Split { train, validation: vec![], test }]))
}

fn features(cols: usize, values: Vec<f32>) -> Features {
    Features::Dense(Dense::new(values.len() / cols, cols, values).unwrap())
}

fn judge(x: &Features, labels: &Labels, splits: &SplitSet) -> Accuracy {
    LogisticCv::default().predict(x, labels, splits, Seed(0)).unwrap().accuracy()
}

#[test]
fn scale_shift_and_further_empty_columns_change_nothing() {
    let (x, labels, splits) = dataset(900, 12, 3, 2.5);
    let plain = judge(&features(12, x.clone()), &labels, &splits).mean;
    assert!(plain > 50.0 && plain < 99.0, "{plain}");
    for scale in [1e-3, 1e3] {
        let moved = x.iter().map(|x| scale * (x + 5.0)).collect();
        assert!((judge(&features(12, moved), &labels, &splits).mean - plain).abs() < 0.5);
    }
    let wide = x.chunks(12).flat_map(|row| [row, &[0.0; 300]].concat()).collect();
    assert!((judge(&features(312, wide), &labels, &splits).mean - plain).abs() < 0.7);
}

#[test]
fn the_c_chosen_is_nearly_the_best_for_nodes_that_were_not_seen() {
    for (spread, cols) in [(2.5, 40), (6.0, 40), (4.0, 200)] {
        let (x, labels, splits) = dataset(2000, cols, 3, spread);
        let x = features(cols, x);
        let treated = Treated::of(&x, &[]);
        let classes = |nodes: &[u32]| -> Vec<(u32, u32)> {
            nodes.iter().map(|&node| (node, labels.of(node).unwrap())).collect()
        };
        let (train, test) = (classes(&splits.splits[0].train), classes(&splits.splits[0].test));
        let right = |c: Option<f64>| {
            let choice = Choice::of(&treated, &train);
            let classifier = match c {
                Some(c) => choice.fitted(c, None),
                None => choice.classifier(),
            };
            let found = classifier.predict(&treated, &test);
            found.iter().filter(|(class, predicted)| class == predicted).count() as f64 / test.len() as f64
        };
        let best = [0.1, 1.0, 10.0, 100.0, 1000.0].map(|c| right(Some(c))).into_iter().fold(0.0, f64::max);
        assert!(right(None) > best - 0.02, "{spread}, {cols}: {} of {best}", right(None));
    }
}

#[test]
fn fewer_nodes_than_columns_are_fitted_as_any() {
    // 60 training nodes, 100 columns, most of them noise: the same rows rotated are judged the same.
    let (x, labels, splits) = dataset(900, 100, 3, 2.0);
    let plain = judge(&features(100, x.clone()), &labels, &splits).mean;
    let reversed = x.chunks(100).flat_map(|row| row.iter().rev().copied().collect::<Vec<_>>()).collect();
    assert!(plain > 90.0, "{plain}");
    assert!((judge(&features(100, reversed), &labels, &splits).mean - plain).abs() < 0.7);
}

#[test]
fn some_test_nodes_stand_for_all_and_do_not_depend_on_the_rows() {
    let (x, labels, mut splits) = dataset(3000, 12, 3, 2.5);
    splits.splits = vec![splits.splits[0].clone(); 8];
    let x = features(12, x);
    let all = LogisticCv { test_nodes: None, train_nodes: None }
        .predict(&x, &labels, &splits, Seed(0))
        .unwrap()
        .accuracy();
    assert!(all.std < 1e-9);
    let some = LogisticCv { test_nodes: Some(500), train_nodes: None }
        .predict(&x, &labels, &splits, Seed(0))
        .unwrap()
        .accuracy();
    assert!(some.std > 0.0 && (some.mean - all.mean).abs() < 2.0, "{} {}", some.mean, all.mean);
    assert_eq!(
        LogisticCv { test_nodes: Some(9999), train_nodes: Some(9999) }
            .predict(&x, &labels, &splits, Seed(0))
            .unwrap()
            .accuracy(),
        all
    );
    let drawn = |key| {
        let mut test: Vec<(u32, u32)> = (0..50).map(|node| (node, 0)).collect();
        draw(&mut test, Some(7), key);
        test
    };
    assert_eq!((drawn(1).len(), drawn(1) == drawn(1), drawn(1) == drawn(2)), (7, true, false));
}

#[test]
fn threads_change_nothing() {
    let (x, labels, _) = dataset(900, 300, 3, 4.0);
    let (x, splits) = (features(300, x), SplitSet::random(&labels, 20, 6, Seed(1)));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| judge(&x, &labels, &splits))
    };
    let alone = run(1);
    assert!([2, 3, 8].into_iter().all(|threads| run(threads) == alone));
}

#[test]
fn constant_rows_and_classes_without_training_nodes_are_no_error() {
    let labels = Labels::new([0, 1, 0, 1, 2].map(Some)).unwrap();
    let split = Split { train: vec![0, 1], validation: vec![], test: vec![2, 3, 4] };
    let accuracy = judge(&features(2, vec![7.0; 10]), &labels, &SplitSet::named("mine", vec![split]));
    assert!(accuracy.mean < 40.0);
}

#[test]
fn the_c_taken_is_the_one_that_does_best_on_nodes_held_out() {
    let tried = |right| Tried { right, weights: vec![] };
    // 1 − (x − ¼)² at −1, 0 and 1, and three equal values.
    assert_eq!(top_of_parabola(-0.5625, 0.9375, 0.4375), 0.25);
    assert_eq!((top_of_parabola(0.4375, 0.9375, -0.5625), top_of_parabola(2.0, 2.0, 2.0)), (-0.25, 0.0));
    let all = [(1, tried(5.0)), (3, tried(7.5)), (5, tried(7.5)), (7, tried(6.0))];
    assert_eq!(best_of(&all.into_iter().collect()), 3);
}

#[test]
fn labels_of_test_nodes_have_no_say() {
    // With two classes and all test labels swapped, what was right is wrong, if all classifiers are the same.
    let (x, labels, _) = dataset(600, 30, 2, 6.0);
    let x = features(30, x);
    for seed in 0..4 {
        let splits = SplitSet::random(&labels, 20, 1, Seed(seed));
        let swapped = labels.iter().enumerate().map(|(node, class)| {
            let is_test = splits.splits[0].test.contains(&(node as u32));
            class.map(|class| if is_test { 1 - class } else { class })
        });
        let swapped = Labels::new(swapped).unwrap();
        let (own, other) = (judge(&x, &labels, &splits).mean, judge(&x, &swapped, &splits).mean);
        assert!((own + other - 100.0).abs() < 1e-9 && own < 99.0, "{own} {other}");
    }
}

#[test]
fn of_many_rows_only_those_that_are_judged_count() {
    let rows = 100_001;
    // Rows that are not judged are far away.
    let values = (0..rows).map(|row| match row {
        ..1000 => (row % 2) as f32 + 0.3 * ((row % 7) as f32 / 7.0),
        _ => 1e6,
    });
    let x = features(1, values.collect());
    let labels = Labels::new((0..rows as u32).map(|row| Some(row % 2))).unwrap();
    let train: Vec<u32> = (0..40).rev().map(|at| at * 11).collect();
    let test: Vec<u32> = (0..1000).filter(|node| !train.contains(node)).collect();
    let splits = SplitSet::named("mine", vec![Split { train, validation: vec![], test }]);
    assert_eq!(judge(&x, &labels, &splits).mean, 100.0);
}

#[test]
fn what_the_limits_leave_out_is_said() {
    let labels = Labels::new((0..100).map(|node| Some(node % 2))).unwrap();
    let splits = SplitSet::random(&labels, 20, 2, Seed(0));
    let said = |test_nodes, train_nodes| LogisticCv { test_nodes, train_nodes }.left_out(&splits);
    assert_eq!((said(None, None), said(Some(60), Some(40)), said(Some(0), None)), (None, None, None));
    let text = "each split uses 10 of up to 60 test nodes and 30 of up to 40 training nodes, drawn at random";
    assert_eq!(said(Some(10), Some(30)).unwrap(), text);
    assert!(!said(Some(10), None).unwrap().contains("training"));
}
