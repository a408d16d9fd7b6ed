//! The theorems in numbers.

use super::data_name;
use crate::reproduce::document::{Figure, Table};
use crate::reproduce::{Finished, Outcome, Theory};

pub(super) fn parts(cells: &[&Finished]) -> (Vec<Table>, Vec<Figure>, Vec<String>) {
    let found: Vec<(String, &Theory)> = cells
        .iter()
        .filter_map(|finished| match &finished.outcome {
            Outcome::Theory(theory) => Some((data_name(&finished.cell.dataset), &**theory)),
            _ => None,
        })
        .collect();
    let bounds = found.iter().map(|(name, theory)| {
        let gap = |at: usize| theory.gaps.get(at).map_or_else(|| "–".into(), |gap| format!("{gap:.2}"));
        let apart = (theory.edges_nodes - theory.edges_clusters).abs();
        let holds = if apart <= theory.printed_bound { "holds" } else { "fails" };
        let numbers = [apart, theory.bound, theory.printed_bound].map(number);
        let [apart, bound, printed] = numbers;
        vec![name.clone(), holds.into(), gap(0), gap(1), apart, bound, printed]
    });
    let bounds = Table {
        caption:
            "Theorem 4.1: how far clusters are from the graph, and what that can cost the loss over edges"
                .into(),
        head: vec![
            "data",
            "the paper's",
            "‖P'Pᵀ − Â‖",
            "‖P'Pᵀ − Â²‖",
            "|L_G − L_P|",
            "our bound",
            "the paper's bound",
        ],
        rows: bounds.collect(),
        texts: 2,
    };
    let regulariser = found.iter().filter_map(|(name, theory)| {
        let found = theory.regulariser.as_ref()?;
        Some(vec![
            name.clone(),
            format!("{:.4e} ± {:.0e}", found.drawn, found.standard_error),
            format!("{:.4e}", found.formula),
            format!("{:.4e}", found.printed),
            format!("{:.3}", found.drawn / found.formula),
            found.draws.to_string(),
        ])
    });
    let regulariser = Table {
        caption: "Theorem 4.2: the regulariser of DropMember. What is printed is half of what draws give"
            .into(),
        head: vec!["data", "by draws", "by formula", "as printed", "draws / formula", "draws"],
        rows: regulariser.collect(),
        texts: 1,
    };
    let spectral = found.iter().filter_map(|(name, theory)| {
        let ([nodes, weighted, alike], [variance, bias]) = (theory.spectral?, theory.drop_member?);
        let mut row = vec![name.clone()];
        row.extend([nodes, weighted, alike].map(number));
        row.extend([variance, bias].map(|ratio| format!("{ratio:.3}")));
        Some(row)
    });
    let spectral = Table {
        caption:
            "The spectral loss on nodes is that on clusters weighted by size; and DropMember beside what \
                  statistics expects"
                .into(),
        head: vec!["data", "on nodes", "by size", "alike", "variance / expected", "bias² / expected"],
        rows: spectral.collect(),
        texts: 1,
    };
    let tables = [bounds, regulariser, spectral].into_iter().filter(|table| !table.rows.is_empty());
    (tables.collect(), Vec::new(), Vec::new())
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && !(1e-2..1e6).contains(&size) => format!("{value:.3e}"),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}
