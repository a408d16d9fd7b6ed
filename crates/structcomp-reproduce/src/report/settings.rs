//! Where the settings of the cells come from.

use super::table::Table;
use crate::{Cell, Finished, Setting};
use structcomp::preset::SettingSource;

/// A row for each cell with settings. What an experiment varies for the same model, data and mode is left out.
pub(super) fn table(cells: &[&Finished]) -> Option<Table> {
    let cells: Vec<&Cell> = cells.iter().map(|finished| &finished.cell).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.settings.is_empty()) {
        let varies = |setting: &Setting| {
            let like = |other: &&&Cell| without_variation(other) == without_variation(cell);
            cells.iter().filter(like).any(|other| !other.settings.contains(setting))
        };
        let row = row(cell, &varies);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let caption = "Where the settings come from. The authors' code has settings for Cora only, which stand in for the other \
                   datasets; GRACE's repository has none for Photo and Computers, where GCA's parameter files stand in.";
    let head = vec!["cell", "the paper", "the authors' code", "the model's repository", "default", "ours"];
    (!rows.is_empty()).then(|| Table { caption: caption.into(), texts: head.len(), head, rows })
}

fn without_variation(cell: &Cell) -> String {
    Cell { variation: String::new(), ..cell.clone() }.name()
}

fn row(cell: &Cell, varies: &dyn Fn(&Setting) -> bool) -> Vec<String> {
    let from = |sources: &[Option<SettingSource>]| {
        let own =
            cell.settings.iter().filter(|setting| sources.contains(&setting.source) && !varies(setting));
        own.map(|setting| format!("{} {}", setting.name, setting.value)).collect::<Vec<_>>().join(", ")
    };
    vec![
        without_variation(cell),
        from(&[Some(SettingSource::Paper)]),
        from(&[Some(SettingSource::Authors)]),
        from(&[Some(SettingSource::Repository), Some(SettingSource::Gca)]),
        from(&[None]),
        from(&[Some(SettingSource::Ours)]),
    ]
}
