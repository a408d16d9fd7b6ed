//! Which settings of the cells are whose.

use crate::reproduce::document::Table;
use crate::reproduce::{Cell, Experiment, Finished};

const PAPER: &str = "the paper";
const AUTHORS: &str = "the authors' code";
const OURS: &str = "ours";

/// A row for every cell; of cells that differ in the number of clusters alone, one for all. None where nothing is
/// set.
pub(super) fn table(experiment: Experiment, cells: &[&Finished]) -> Option<Table> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for cell in cells.iter().map(|finished| &finished.cell).filter(|cell| !cell.settings.is_empty()) {
        let row = match experiment {
            Experiment::Compression => row(&Cell { variation: String::new(), ..cell.clone() }, &["clusters"]),
            _ => row(cell, &[]),
        };
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let caption = "Whose the settings are. The authors' code has those of Cora, which stand in elsewhere too; GRACE's \
                   repository has none for Photo and Computers, where GCA's parameter files stand in.";
    let head = vec!["cell", PAPER, AUTHORS, "the model's repository", OURS];
    (!rows.is_empty()).then(|| Table { caption: caption.into(), texts: head.len(), head, rows })
}

fn row(cell: &Cell, but: &[&str]) -> Vec<String> {
    let of = |whose: &dyn Fn(&str) -> bool| {
        let own = cell
            .settings
            .iter()
            .filter(|setting| whose(&setting.source) && !but.contains(&&setting.name[..]));
        own.map(|setting| format!("{} {}", setting.name, setting.value)).collect::<Vec<_>>().join(", ")
    };
    let elsewhere = |source: &str| source != PAPER && !source.starts_with(AUTHORS) && source != OURS;
    vec![
        cell.name(),
        of(&|source| source == PAPER),
        of(&|source| source.starts_with(AUTHORS)),
        of(&elsewhere),
        of(&|source| source == OURS),
    ]
}
