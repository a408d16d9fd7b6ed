//! What the report shows of the theorems.

use crate::parts::{Parts, data_title, table::Table};
use crate::{Finished, Outcome, Theory};

pub(super) fn parts(cells: &[&Finished]) -> Parts {
    let found: Vec<(String, &Theory)> = cells
        .iter()
        .filter_map(|finished| match &finished.outcome {
            Outcome::Theory(theory) => Some((data_title(&finished.cell.dataset), &**theory)),
            _ => None,
        })
        .collect();
    let tables = [bounds(&found), regularizers(&found), spectral(&found)];
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty()).collect();
    Parts { tables, figures: Vec::new(), notes: Vec::new() }
}

fn bounds(found: &[(String, &Theory)]) -> Table {
    let rows = found.iter().map(|(name, theory)| {
        let gap = |at: usize| theory.gaps.get(at).map_or_else(|| "–".into(), |gap| format!("{gap:.2}"));
        let apart = (theory.edges_nodes - theory.edges_clusters).abs();
        let holds = if apart <= theory.printed_bound { "holds" } else { "fails" };
        let mut row = vec![name.clone(), holds.into(), gap(0), gap(1)];
        row.extend([apart, theory.bound, theory.printed_bound].map(number));
        row
    });
    Table {
        caption:
            "Theorem 4.1: the distance between clusters and graph, and the change of the loss over edges"
                .into(),
        head: vec![
            "data",
            "paper's bound",
            "‖P'Pᵀ − Â‖",
            "‖P'Pᵀ − Â²‖",
            "|L_G − L_P|",
            "our bound",
            "paper's bound",
        ],
        rows: rows.collect(),
        texts: 2,
    }
}

fn regularizers(found: &[(String, &Theory)]) -> Table {
    let rows = found.iter().filter_map(|(name, theory)| {
        let found = theory.regularizer.as_ref()?;
        Some(vec![
            name.clone(),
            format!("{:.4e} ± {:.0e}", found.drawn, found.standard_error),
            format!("{:.4e}", found.formula),
            format!("{:.4e}", found.printed),
            format!("{:.3}", found.drawn / found.formula),
            found.draws.to_string(),
        ])
    });
    Table {
        caption:
            "Theorem 4.2: the regularizer of DropMember. The published formula gives half of what draws give"
                .into(),
        head: vec!["data", "by draws", "by formula", "as published", "draws / formula", "draws"],
        rows: rows.collect(),
        texts: 1,
    }
}

fn spectral(found: &[(String, &Theory)]) -> Table {
    let rows = found.iter().filter_map(|(name, theory)| {
        let ([nodes, weighted, equal], [variance, bias]) = (theory.spectral?, theory.drop_member?);
        let mut row = vec![name.clone()];
        row.extend([nodes, weighted, equal].map(number));
        row.extend([variance, bias].map(|ratio| format!("{ratio:.3}")));
        Some(row)
    });
    Table {
        caption:
            "The spectral loss on nodes equals that on clusters weighted by size; the variance and bias of \
                  DropMember relative to their expected values"
                .into(),
        head: vec!["data", "nodes", "by size", "equal weights", "variance / expected", "bias² / expected"],
        rows: rows.collect(),
        texts: 1,
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size > 0.0 && !(1e-2..1e6).contains(&size) => format!("{value:.3e}"),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}
