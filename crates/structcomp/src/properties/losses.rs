//! P3 to P6: what the four losses are blind to, how they scale, and between which bounds they lie.

use super::*;
use crate::compress::Coarsening;
use crate::graph::normalized;
use crate::model::{CcaSsg, Coles, Grace, Pairs, Sce, random_pairs};
use proptest::prelude::*;

fn scaled(z: &[f32], by: f32) -> Vec<f32> {
    z.iter().map(|z| by * z).collect()
}

fn grace(tau: f64, rows: usize) -> Box<dyn Objective + Send> {
    objective(Model::Grace(Grace { tau, projection: None }), rows)
}

fn cca(lambda: f64, rows: usize) -> Box<dyn Objective + Send> {
    objective(Model::CcaSsg(CcaSsg { lambda }), rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn p03_sce_is_a_trace_blind_to_shifts(rows in 6usize..30, width in 1usize..6, seed: u64) {
        let alpha = 7.0;
        let pairs = Pairs { config: Sce { alpha, negatives: 4 }, rows, seed: Seed(seed) };
        let z = numbers(rows * width, seed);
        let got = loss(&pairs, &[&z], width);
        // T = tr(ZᵀLZ) = Σ_i z_i·(LZ)_i, L = D − A of the pairs met from both sides.
        let (starts, others) = pairs.draw(0);
        let precise = exact(&z);
        let row = |i: usize| &precise[i * width..][..width];
        let trace: f64 = (0..rows)
            .map(|i| {
                let met = &others[starts[i] as usize..starts[i + 1] as usize];
                let apart: f64 = met.iter().map(|&j| dot(row(i), row(j as usize))).sum();
                met.len() as f64 * dot(row(i), row(i)) - apart
            })
            .sum();
        prop_assert!((got.value * trace / alpha - 1.0).abs() < 1e-4, "{} {}", got.value, alpha / trace);
        let shifted: Vec<f32> = z.iter().enumerate().map(|(at, z)| z + 0.5 * (at % width) as f32 - 1.0).collect();
        prop_assert!((loss(&pairs, &[&shifted], width).value / got.value - 1.0).abs() < 1e-4);
        let thrice = loss(&pairs, &[&scaled(&z, 3.0)], width).value;
        prop_assert!((9.0 * thrice / got.value - 1.0).abs() < 1e-5);
        let most = largest(&got.gradients[0]);
        for j in 0..width {
            let sum: f64 = got.gradients[0].iter().skip(j).step_by(width).map(|&g| g as f64).sum();
            prop_assert!(sum.abs() < 1e-5 * most, "{} {}", sum, most);
        }
    }

    #[test]
    fn p04_coles_is_a_bounded_quadratic_form(
        edges in prop::collection::vec((0u32..40, 0u32..40), 0..120),
        cluster in prop::collection::vec(0u32..15, 40),
        lambda in 0.1f64..2.0,
        width in 1usize..5,
        seed: u64,
    ) {
        let graph = Graph::from_edges(40, &edges).unwrap();
        let partition = Partition::renumbered(cluster);
        let rows = partition.clusters();
        let model = Model::Coles(Coles { lambda, ..Coles::default() });
        let positives = Coarsening::default().adjacency(&graph, &partition).unwrap();
        let on = Compared { rows, adjacency: Some(&positives), weights: None, seed: Seed(seed) };
        let objective = model.objective(&on).unwrap();
        let z = numbers(rows * width, seed);
        let precise = exact(&z);
        let bound = (lambda + 1.0) * dot(&precise, &precise) / rows as f64;
        let got = loss(&*objective, &[&z], width);
        prop_assert!(got.value.abs() <= bound * (1.0 + 1e-6));
        let thrice = loss(&*objective, &[&scaled(&z, 3.0)], width).value;
        prop_assert!((thrice - 9.0 * got.value).abs() < 1e-5 * bound);
        let along = dot(&precise, &exact(&got.gradients[0]));
        prop_assert!((along - 2.0 * got.value).abs() < 1e-5 * bound, "{} {}", along, got.value);
        // No eigenvalue of S and N is beyond ±1, so they make nothing longer.
        for matrix in [positives, random_pairs(rows, 5, Seed(seed))] {
            let matrix = normalized(&matrix);
            let mut x = exact(&numbers(rows, seed));
            for _ in 0..60 {
                let product = |row: usize| {
                    let (columns, values) = matrix.row(row);
                    columns.iter().zip(values).map(|(&j, &value)| value as f64 * x[j as usize]).sum::<f64>()
                };
                let next: Vec<f64> = (0..rows).map(product).collect();
                prop_assert!(dot(&next, &next) <= dot(&x, &x) * (1.0 + 1e-6));
                x = next;
            }
        }
    }

    #[test]
    fn p05_grace_knows_directions_only(
        rows in 2usize..12,
        width in 2usize..7,
        tau in prop::sample::select(vec![0.2, 0.5, 1.0]),
        seed: u64,
    ) {
        let objective = grace(tau, rows);
        let (u, v) = (numbers(rows * width, seed), numbers(rows * width, seed ^ 1));
        let got = loss(&*objective, &[&u, &v], width);
        let most = ((2 * rows - 1) as f64).ln() + 2.0 / tau;
        prop_assert!(got.value > 0.0 && got.value <= most, "{}", got.value);
        let longer = |z: &[f32]| -> Vec<f32> {
            z.iter().enumerate().map(|(at, z)| z * (0.3 + (at / width % 4) as f32)).collect()
        };
        let other = loss(&*objective, &[&longer(&u), &longer(&v)], width).value;
        prop_assert!((other - got.value).abs() < 1e-5, "{} {}", other, got.value);
        for (z, gradient) in [(&u, &got.gradients[0]), (&v, &got.gradients[1])] {
            for (z, gradient) in z.chunks(width).zip(gradient.chunks(width)) {
                prop_assert!(dot(&exact(z), &exact(gradient)).abs() < 1e-6 / tau);
            }
        }
        let order = shuffled(rows, seed);
        let moved = [reordered(&u, width, &order), reordered(&v, width, &order)];
        let moved = loss(&*objective, &[&moved[0], &moved[1]], width);
        let swapped = loss(&*objective, &[&v, &u], width);
        let near = |a: &[f32], b: &[f32]| {
            let within = 1e-5 * (1.0 + largest(a)) as f32;
            a.iter().zip(b).all(|(a, b)| (a - b).abs() < within)
        };
        prop_assert!((moved.value - got.value).abs() < 1e-5 && (swapped.value - got.value).abs() < 1e-5);
        for view in 0..2 {
            prop_assert!(near(&moved.gradients[view], &reordered(&got.gradients[view], width, &order)));
            prop_assert!(near(&swapped.gradients[view], &got.gradients[1 - view]));
        }
        let same = loss(&*objective, &[&u, &u], width);
        prop_assert!(near(&same.gradients[0], &same.gradients[1]));
    }

    #[test]
    fn p06_cca_ssg_is_blind_to_scales_and_shifts_of_columns(rows in 5usize..25, width in 1usize..6, seed: u64) {
        let objective = cca(0.1, rows);
        let (a, b) = (numbers(rows * width, seed), numbers(rows * width, seed ^ 1));
        let got = loss(&*objective, &[&a, &b], width);
        let moved = |z: &[f32]| -> Vec<f32> {
            let column = |(at, z): (usize, &f32)| (0.5 + (at % width) as f32) * z + 0.25 - (at % width) as f32;
            z.iter().enumerate().map(column).collect()
        };
        let other = loss(&*objective, &[&moved(&a), &moved(&b)], width).value;
        prop_assert!((other - got.value).abs() < 1e-4 * (1.0 + got.value.abs()), "{} {}", other, got.value);
        for (z, gradient) in [(&a, &got.gradients[0]), (&b, &got.gradients[1])] {
            let within = 2e-5 * largest(gradient);
            for j in 0..width {
                let column = |values: &[f32]| -> Vec<f64> {
                    values.iter().skip(j).step_by(width).map(|&value| value as f64).collect()
                };
                let (z, gradient) = (column(z), column(gradient));
                prop_assert!(gradient.iter().sum::<f64>().abs() < within);
                // With a sum of zero, z and its standardised column are alike.
                prop_assert!(dot(&z, &gradient).abs() < within);
            }
        }
    }
}

#[test]
fn p05_grace_is_the_same_for_any_number_of_threads() {
    // More rows than two blocks.
    let (rows, width) = (300, 8);
    let (u, v) = (numbers(rows * width, 1), numbers(rows * width, 2));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let got = loss(&*grace(0.5, rows), &[&u, &v], width);
            (got.value, got.gradients)
        })
    };
    let one = run(1);
    assert!([2, 5].into_iter().all(|threads| run(threads) == one));
}

/// Equal views with orthogonal columns: −h(n−1)/n + 2λh/n².
#[test]
fn p06_cca_ssg_of_orthogonal_columns_has_a_closed_form() {
    let (rows, width, lambda) = (16usize, 5usize, 0.3);
    // Columns of signs, each pair of them equal in half the rows.
    let sign = |row: usize, column: usize| {
        if (row & (column + 1)).count_ones().is_multiple_of(2) { 2.0 } else { -2.0 }
    };
    let z: Vec<f32> = (0..rows * width).map(|at| sign(at / width, at % width)).collect();
    let (n, h) = (rows as f64, width as f64);
    let got = loss(&*cca(lambda, rows), &[&z, &z], width).value;
    assert!((got - (-h * (n - 1.0) / n + 2.0 * lambda * h / (n * n))).abs() < 1e-5, "{got}");
}
