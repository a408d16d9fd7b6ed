//! P11: what models that tell rows from corrupted ones see before they learn, and how not to corrupt.

use super::*;
use crate::Compressed;
use crate::model::{Dgi, Ggd, Mvgrl};
use proptest::prelude::*;

/// Rows in an order of their own, so that sets of them can be compared.
fn sorted(x: &Features) -> Vec<Vec<u32>> {
    let dense = x.to_dense();
    let mut rows: Vec<Vec<u32>> =
        (0..dense.rows()).map(|row| dense.row(row).iter().map(|value| value.to_bits()).collect()).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn p11_scores_of_zero_cost_the_logarithm_of_two() {
    let (rows, width) = (9, 4);
    let models = [
        (Model::Dgi(Dgi::default()), 2, 17),
        (Model::Ggd(Ggd::default()), 2, 20),
        (Model::Mvgrl(Mvgrl::default()), 4, 16),
    ];
    for (model, views, own) in models {
        let (z, own) = (numbers(views * rows * width, 5), vec![0.0; own]);
        let step = Step { rows, own: &own, ..Step::default() };
        let value = objective(model.clone(), rows).loss(z, width, &step).unwrap().value;
        assert!((value - 2f64.ln()).abs() < 1e-9, "{}: {value}", model.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The trap: permuted after they are compressed, corrupted rows are the same rows.
    #[test]
    fn p11_nodes_are_permuted_and_not_rows(cluster in prop::collection::vec(0u32..6, 20..40), seed: u64) {
        let partition = Partition::renumbered(cluster);
        let nodes = partition.nodes();
        prop_assume!(partition.sizes().any(|size| size > 1) && partition.clusters() > 1);
        let x = Features::Dense(Dense::new(nodes, 3, numbers(3 * nodes, seed)).unwrap());
        let compressed = Compressed::new(&x, &partition).unwrap();
        let rows: Vec<u32> = shuffled(partition.clusters(), seed).into_iter().map(|row| row as u32).collect();
        prop_assert_eq!(sorted(&compressed.features().select(&rows)), sorted(compressed.features()));
        let order: Vec<u32> = shuffled(nodes, seed ^ 1).into_iter().map(|node| node as u32).collect();
        let corrupted = compressed.corrupted(&order).unwrap();
        prop_assert_ne!(sorted(&corrupted), sorted(compressed.features()));
        // It is what the permuted features compress to.
        let permuted = x.select(&order);
        let twin = Compressed::new(&permuted, &partition).unwrap();
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
        let (got, want) = (corrupted.to_dense(), twin.features().to_dense());
        prop_assert!(got.values().iter().zip(want.values()).all(near));
    }
}
