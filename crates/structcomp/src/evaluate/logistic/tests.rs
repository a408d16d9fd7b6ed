use super::super::confusion::right;
use super::*;
use crate::{Csr, Dense, Seed, random::normal};
use proptest::prelude::*;
use rand::RngExt;

/// Rows around one of three centres, and which.
fn clouds(rows: usize, cols: usize, seed: u64) -> (Features, Vec<(u32, u32)>) {
    let mut rng = Seed(seed).stream("clouds");
    let centres: Vec<f32> = (0..3 * cols).map(|_| normal(&mut rng)).collect();
    let class: Vec<u32> = (0..rows).map(|_| rng.random_range(0..3)).collect();
    let place = |&class: &u32| centres[class as usize * cols..][..cols].to_vec();
    let values: Vec<f32> = class.iter().flat_map(place).collect();
    let values: Vec<f32> = values.into_iter().map(|centre| centre + normal(&mut rng)).collect();
    (Features::Dense(Dense::new(rows, cols, values).unwrap()), (0..).zip(class).collect())
}

fn sparse(x: &Features) -> Features {
    let (rows, cols) = (x.rows() as u64, x.cols());
    let indices: Vec<u32> = (0..rows).flat_map(|_| 0..cols as u32).collect();
    let values = x.to_dense().values().to_vec();
    Features::Sparse(
        Csr::new(cols, (0..=rows).map(|row| row * cols as u64).collect::<Vec<_>>(), indices, values).unwrap(),
    )
}

fn signs(nodes: &[(u32, u32)]) -> Vec<f64> {
    nodes.iter().map(|&(_, class)| if class == 1 { 1.0 } else { -1.0 }).collect()
}

fn in_sample_space(x: &Features, nodes: &[(u32, u32)], c: f64) -> Vec<f64> {
    let samples = Samples::new(x, nodes.iter().map(|&(node, _)| node).collect());
    let space = sample_space::Space::new(samples.gram(), nodes.len(), c);
    let lanes: Vec<_> = signs(nodes).iter().map(|&y| [y; sample_space::LANES]).collect();
    let factors = space.solve(&lanes, 3).unwrap();
    samples.sum(&factors.iter().map(|lanes| lanes[5]).collect::<Vec<_>>())
}

fn count_right(x: &Features, judged: &[(Classifier, Vec<(u32, u32)>)]) -> Vec<usize> {
    predictions(x, judged).iter().map(|told| right(told)).collect()
}

fn predict(classifier: &Classifier, x: &Features, node: u32) -> u32 {
    let right = |class: &&u32| count_right(x, &[(classifier.clone(), vec![(node, **class)])]) == [1];
    *classifier.classes.iter().find(right).unwrap()
}

/// Rows with two entries in twenty columns, which depend on its class.
fn thin(rows: usize) -> (Features, Vec<(u32, u32)>) {
    let columns: Vec<u32> =
        (0..rows as u32).flat_map(|row| [row % 3 + 3 * (row % 2), 6 + row * 7 % 14]).collect();
    let values: Vec<f32> = (0..2 * rows).map(|at| 1.0 + (at % 5) as f32).collect();
    let x = Csr::new(20, (0..=rows as u64).map(|row| 2 * row).collect::<Vec<_>>(), columns, values).unwrap();
    (Features::Sparse(x), (0..rows as u32).map(|row| (row, (row * row + row / 4) % 3)).collect())
}

fn in_primal_space(x: &Features, nodes: &[(u32, u32)], c: f64) -> Vec<f64> {
    let samples = Samples::new(x, nodes.iter().map(|&(node, _)| node).collect());
    primal::solve(&samples, &primal::Preconditioner::new(&samples, c).unwrap(), &signs(nodes), c).unwrap()
}

/// (w, b) - C Σ y (x, 1) / (1 + exp(y (w·x + b))), term by term.
fn gradient(x: &Features, nodes: &[(u32, u32)], c: f64, w: &[f64]) -> Vec<f64> {
    let mut gradient = w.to_vec();
    for (&(node, _), y) in nodes.iter().zip(signs(nodes)) {
        let mut row = vec![1f32; w.len()];
        x.write_row(node as usize, &mut row[..w.len() - 1]);
        let f: f64 = row.iter().zip(w).map(|(&x, w)| x as f64 * w).sum();
        for (gradient, &x) in gradient.iter_mut().zip(&row) {
            *gradient -= c * y * x as f64 / (1.0 + (y * f).exp());
        }
    }
    gradient
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn p12_both_spaces_find_what_plain_gradient_descent_finds() {
    for (rows, cols, c) in [(30, 4, 1.0), (12, 20, 1.0), (25, 6, 0.1), (25, 6, 8.0)] {
        let (x, nodes) = clouds(rows, cols, cols as u64);
        // The step length that the curvature of the objective allows.
        let squares: f64 = x.to_dense().values().iter().map(|&x| (x as f64).powi(2)).sum();
        let rate = 1.0 / (1.0 + 0.25 * c * (squares + rows as f64));
        let mut w = vec![0.0; cols + 1];
        for _ in 0..(40.0 / rate) as usize {
            let gradient = gradient(&x, &nodes, c, &w);
            w.iter_mut().zip(&gradient).for_each(|(w, gradient)| *w -= rate * gradient);
        }
        for x in [&x, &sparse(&x)] {
            assert!(far(&in_sample_space(x, &nodes, c), &w) < 1e-7, "{rows} {cols} {c}");
            assert!(far(&in_primal_space(x, &nodes, c), &w) < 1e-7, "{rows} {cols} {c}");
        }
    }
}

#[test]
fn the_gradient_vanishes_at_the_solution_at_any_scale() {
    for scale in [1e-3, 1.0, 30.0, 1e4] {
        let (x, nodes) = clouds(120, 90, 7);
        let values: Vec<f32> = x.to_dense().values().iter().map(|x| x * scale).collect();
        let x = Features::Dense(Dense::new(120, 90, values).unwrap());
        let start = gradient(&x, &nodes, 1.0, &[0.0; 91]);
        let allowed = 2e-8 * rows_norm(&start);
        for w in [in_sample_space(&x, &nodes, 1.0), in_primal_space(&x, &nodes, 1.0)] {
            let left = rows_norm(&gradient(&x, &nodes, 1.0, &w));
            assert!(left <= allowed, "scale {scale}: {left} of {allowed}");
        }
    }
}

fn rows_norm(a: &[f64]) -> f64 {
    a.iter().map(|a| a * a).sum::<f64>().sqrt()
}

#[test]
fn p12_both_spaces_agree_on_more_rows_than_one_block() {
    let (x, nodes) = clouds(1500, 40, 3);
    let (a, b) = (in_sample_space(&x, &nodes, 1.0), in_primal_space(&x, &nodes, 1.0));
    // The curvature is at least 1, so each is no farther from the solution than the length of its gradient.
    let allowed = 2.0 * TOLERANCE * rows_norm(&gradient(&x, &nodes, 1.0, &[0.0; 41]));
    assert!(far(&a, &b) < allowed, "{} of {allowed}", far(&a, &b));
}

#[test]
fn correlated_features_are_no_harder() {
    // Twenty columns, each the first plus a little noise.
    let (x, nodes) = clouds(2500, 20, 5);
    let mut values = x.to_dense().values().to_vec();
    for row in values.chunks_exact_mut(20) {
        let first = 10.0 * row[0];
        row[1..].iter_mut().for_each(|x| *x = first + 0.01 * *x);
    }
    let x = Features::Dense(Dense::new(2500, 20, values).unwrap());
    let w = in_primal_space(&x, &nodes, 1.0);
    let (start, end) = (gradient(&x, &nodes, 1.0, &[0.0; 21]), gradient(&x, &nodes, 1.0, &w));
    assert!(rows_norm(&end) <= 2e-8 * rows_norm(&start));
}

#[test]
fn the_intercept_is_regularized_like_the_weights() {
    // Without features f = b for all: b = C (2 p₊ - p₋), where p± = σ(∓b).
    let x = Features::Dense(Dense::new(3, 1, vec![0.0; 3]).unwrap());
    let w = in_primal_space(&x, &[(0, 1), (1, 1), (2, 0)], 1.0);
    let b = w[1];
    assert!((b - (2.0 / (1.0 + b.exp()) - 1.0 / (1.0 + (-b).exp()))).abs() < 1e-9);
    assert!(b > 0.25 && b < 0.3, "less than log 2 = .69, which a free intercept would be: {b}");
    assert_eq!(w[0], 0.0);
}

#[test]
fn p12_regularization_depends_on_the_scale() {
    // With rows ten times as large, the weights do not just shrink by ten.
    let (x, nodes) = clouds(40, 60, 11);
    let large: Vec<f32> = x.to_dense().values().iter().map(|x| 10.0 * x).collect();
    let large = Features::Dense(Dense::new(40, 60, large).unwrap());
    let (w, w_large) = (in_sample_space(&x, &nodes, 1.0), in_sample_space(&large, &nodes, 1.0));
    assert!(10.0 * rows_norm(&w_large) > 1.2 * rows_norm(&w));
}

#[test]
fn p12_doubling_all_rows_changes_predictions() {
    let (x, nodes) = clouds(400, 5, 11);
    let doubled: Vec<f32> = x.to_dense().values().iter().map(|x| 2.0 * x).collect();
    let doubled = Features::Dense(Dense::new(400, 5, doubled).unwrap());
    let fit = |x: &Features| Classifier::fit(x, &nodes[..30], 1.0).unwrap();
    let (small, large) = (fit(&x), fit(&doubled));
    let other =
        (30..400).filter(|&node| predict(&small, &x, node) != predict(&large, &doubled, node)).count();
    assert!((1..100).contains(&other), "{other} of 370");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn p12_both_spaces_find_the_same_classifier(
        rows in 4usize..60,
        cols in 1usize..30,
        c in 0.05f64..10.0,
        seed: u64,
    ) {
        let (x, nodes) = clouds(rows, cols, seed);
        let (a, b) = (in_sample_space(&x, &nodes, c), in_primal_space(&x, &nodes, c));
        prop_assert!(far(&a, &b) < 1e-6 * (1.0 + rows_norm(&a)), "{}", far(&a, &b));
    }
}

#[test]
fn classes_are_separated_and_absent_ones_never_predicted() {
    let x = Features::Dense(Dense::new(6, 1, vec![-3.0, -2.0, 2.0, 3.0, -2.5, 2.5]).unwrap());
    let classifier = Classifier::fit(&x, &[(0, 5), (1, 5), (2, 2), (3, 2)], 1.0).unwrap();
    assert_eq!((predict(&classifier, &x, 4), predict(&classifier, &x, 5)), (5, 2));
    let zero = Features::Dense(Dense::new(1, 1, vec![0.0]).unwrap());
    assert_eq!(predict(&classifier, &zero, 0), 2, "the first of equals");
}

#[test]
fn a_solver_that_does_not_converge_is_an_error() {
    let (x, nodes) = clouds(20, 30, 3);
    let error = Classifier::fit(&x, &nodes, 1e200).err().unwrap().to_string();
    assert!(error.contains("did not converge"), "{error}");
}

#[test]
fn values_beyond_single_precision_are_compared_in_double() {
    let x = Features::Dense(Dense::new(1, 2, vec![3e38; 2]).unwrap());
    let weights = vec![vec![1e-3, 1e-3, 0.0], vec![-2.0, 3.0, 0.0]];
    let classifier = Classifier { classes: vec![0, 1], weights };
    assert_eq!(count_right(&x, &[(classifier, vec![(0, 1)])]), [1]);
}

#[test]
fn close_decisions_are_made_in_double_precision() {
    // Rows of many sizes; the second class is better by a millionth, equal, or worse by as much.
    let sizes = [1e-30, 1e-3, 1.0, 1e4, 1e30];
    let values: Vec<f32> = sizes.iter().flat_map(|&size| (0..64).map(move |_| size)).collect();
    let x = Features::Dense(Dense::new(5, 64, values).unwrap());
    for (more, expected) in [(1e-6, 1), (0.0, 0), (-1e-6, 0)] {
        let weights = |share: f64| (0..65).map(|at| if at < 64 { share * 1e3 } else { 0.0 }).collect();
        let classifier = Classifier { classes: vec![0, 1], weights: vec![weights(1.0), weights(1.0 + more)] };
        let tests = (0..5).map(|node| (node, expected)).collect();
        assert_eq!(count_right(&x, &[(classifier, tests)]), [5], "{more}");
    }
}

#[test]
fn splits_are_predicted_together_as_one_by_one() {
    let (x, nodes) = thin(400);
    let dense = Features::Dense(x.to_dense());
    let splits = [(0..15, 100..400), (40..55, 0..300), (90..97, 5..6)];
    let judge = |x: &Features| -> (Vec<usize>, Vec<usize>) {
        let judged: Vec<_> = splits
            .iter()
            .map(|(train, test)| {
                let mut test = nodes[test.clone()].to_vec();
                test.reverse();
                (Classifier::fit(x, &nodes[train.clone()], 1.0).unwrap(), test)
            })
            .collect();
        let one_by_one = |(classifier, test): &(Classifier, Vec<(u32, u32)>)| {
            let value = |weights: &Vec<f64>, node: u32| {
                let row = dense.to_dense().row(node as usize).to_vec();
                row.iter().zip(weights).map(|(&x, w)| x as f64 * w).sum::<f64>() + weights[20]
            };
            let right = |&&(node, class): &&(u32, u32)| {
                let values: Vec<f64> = classifier.weights.iter().map(|w| value(w, node)).collect();
                let best = (0..values.len()).rev().max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
                classifier.classes[best] == class
            };
            test.iter().filter(right).count()
        };
        (count_right(x, &judged), judged.iter().map(one_by_one).collect())
    };
    let ((counted, expected), (on_dense, _)) = (judge(&x), judge(&dense));
    assert_eq!((&counted, &on_dense), (&expected, &expected));
    assert!(counted[0] > 120 && counted[0] < 290, "neither all nor chance: {counted:?}");
    let (w, v) = (in_sample_space(&x, &nodes[..15], 1.0), in_sample_space(&dense, &nodes[..15], 1.0));
    assert!(far(&w, &v) < 1e-10);
}
