//! Our own recipe; the paper has none.

use super::{Experiment, TABLE};
use crate::draft::{CLUSTERS, Draft, HETEROPHILOUS, Place, SMALL, places};
use crate::parts::{Figure, Parts, accuracy, data_title, table::Table};
use crate::{Finished, Setup, Task};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "recipe",
    title: "One recipe for all datasets",
    caption: "What `structcomp run` does without a model: a rule chooses the settings from the graph and the features, \
              without labels. The last three datasets use the ten splits of Geom-GCN.",
    drafts: || {
        let datasets = [&SMALL[..], &HETEROPHILOUS].concat();
        Ok(places(&["recipe"], &datasets, &CLUSTERS).iter().map(draft).collect())
    },
    parts,
    ..TABLE
};

fn draft(place: &Place) -> Draft {
    let splits = match place.dataset {
        "cora" => "authors",
        other if HETEROPHILOUS.contains(&other) => "geom-gcn",
        _ => "random20",
    };
    place.with(
        Task::Accuracy(Setup { splits: splits.into(), random_clusters: true, ..Setup::default() }),
        None,
    )
}

fn parts(_: &Experiment, cells: &[&Finished]) -> Parts {
    let cells = accuracy::evaluated(cells);
    let rows = cells.iter().map(|(cell, found)| {
        let against: Vec<String> =
            found.against_propagated.iter().map(|(by, p)| format!("{by:+.2} (p = {p:.0e})")).collect();
        let epochs: Vec<String> = found.epochs.iter().map(usize::to_string).collect();
        let mut row = vec![data_title(&cell.dataset), epochs.join("/"), against.join(", ")];
        row.push(found.ours.to_string());
        row.extend(accuracy::controls(found));
        row
    });
    let mut head = vec!["data", "epochs", "difference from Â²X, per seed", "recipe"];
    head.extend(accuracy::CONTROLS);
    let table = Table { caption: String::new(), head, rows: rows.collect(), texts: 3 };
    Parts { tables: vec![table], figures: Vec::<Figure>::new(), notes: accuracy::notes(&cells) }
}
