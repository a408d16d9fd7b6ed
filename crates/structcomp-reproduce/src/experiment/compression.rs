//! Accuracy against the number of clusters.

use super::{Experiment, TABLE};
use crate::draft::{CITATIONS, CLUSTERS, Draft, MODELS, places};
use crate::model::Facts;
use crate::parts::{Figure, Parts, accuracy, data_title, datasets, table::Table};
use crate::plot::{FAINT, Line, PALETTE, Panel, Panels};
use crate::{Accuracies, Cell, Finished};
use structcomp::{Result, data::named};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "compression",
    title: "Accuracy against the number of clusters",
    caption: "Clusters as a fraction of the nodes; at 1 every node is a cluster and nothing is compressed. The band is \
              one standard deviation over splits. The paper has a figure without numbers, and finds about a tenth best.",
    drafts,
    parts,
    ..TABLE
};

/// Clusters as a fraction of the nodes, and as column heads.
const RATES: [(f64, &str); 9] = [
    (0.01, "0.01"),
    (0.02, "0.02"),
    (0.05, "0.05"),
    (0.1, "0.1"),
    (0.2, "0.2"),
    (0.3, "0.3"),
    (0.5, "0.5"),
    (0.7, "0.7"),
    (1.0, "1"),
];

/// One per model.
const COLORS: [&str; 4] = [PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[5]];

fn drafts() -> Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    for place in places(&MODELS, &CITATIONS, &CLUSTERS) {
        let nodes = named::find(place.dataset).map_or(0, |known| known.expected.nodes);
        for (rate, name) in RATES {
            // All pairs of that many clusters take up to half an hour per seed on two cores.
            if (place.model, place.dataset) == ("grace", "pubmed") && rate > 0.3 {
                continue;
            }
            let draft = place.draft()?.set(|setup| {
                setup.partitioning.clusters = Some(((rate * nodes as f64).round() as usize).max(2));
                setup.random_clusters = false;
            });
            drafts.push(draft.variation(name));
        }
    }
    Ok(drafts)
}

fn parts(experiment: &Experiment, cells: &[&Finished]) -> Parts {
    let found = accuracy::evaluated(cells);
    let (mut rows, mut panels, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for dataset in datasets(cells) {
        let mut lines = Vec::new();
        for (model, color) in MODELS.into_iter().zip(COLORS) {
            let own: Vec<_> = found
                .iter()
                .filter(|(cell, _)| (&cell.dataset[..], &cell.model[..]) == (dataset, model))
                .collect();
            // The controls do not depend on clusters.
            let Some((_, controls)) = own.first() else { continue };
            if lines.is_empty() {
                lines.push(level("Â²X, no training", controls.propagated.mean));
            }
            lines.push(curve(model, color, &own));
            rows.push(row(dataset, model, &own));
        }
        panels.push(Panel { title: data_title(dataset), lines });
    }
    if found.iter().any(|(cell, _)| (&cell.dataset[..], &cell.model[..]) == ("pubmed", "grace")) {
        notes.push("GRACE on Pubmed ends at 0.3, because it compares all pairs of clusters.".to_owned());
    }
    let mut head = vec!["data", "model", "best"];
    head.extend(RATES.map(|rate| rate.1));
    head.extend(["Â²X", "untrained"]);
    let x = "clusters as a fraction of nodes, logarithmic";
    let figure = Panels { title: experiment.title, x, y: "test accuracy (%)", log_x: true, panels };
    let figure = Figure::new("compression", experiment.title, figure.draw());
    let table = Table { caption: String::new(), head, rows, texts: 3 };
    Parts { tables: vec![table], figures: figure.into_iter().collect(), notes }
}

fn row(dataset: &str, model: &str, own: &[&(&Cell, &Accuracies)]) -> Vec<String> {
    let best = own.iter().max_by(|a, b| a.1.ours.mean.total_cmp(&b.1.ours.mean));
    let best = best
        .map_or_else(String::new, |(cell, found)| format!("{:.2} at {}", found.ours.mean, cell.variation));
    let mut row = vec![data_title(dataset), Facts::of(model).title, best];
    row.extend(RATES.map(|(_, name)| {
        let point = own.iter().find(|(cell, _)| cell.variation == name);
        point.map_or_else(|| "–".into(), |(_, found)| format!("{:.2}", found.ours.mean))
    }));
    let controls = own.first().map(|(_, found)| [found.propagated.mean, found.untrained.mean]);
    row.extend(controls.into_iter().flatten().map(|mean| format!("{mean:.2}")));
    row
}

fn curve(model: &str, color: &'static str, own: &[&(&Cell, &Accuracies)]) -> Line {
    let points = own.iter().filter_map(|(cell, found)| Some((cell.variation.parse().ok()?, found.ours.mean)));
    let band = own.iter().map(|(_, found)| found.ours.std).collect();
    Line { name: Facts::of(model).title, color, points: points.collect(), band, dashed: false }
}

fn level(name: &str, height: f64) -> Line {
    let points = vec![(RATES[0].0, height), (1.0, height)];
    Line { name: name.into(), color: FAINT, points, band: Vec::new(), dashed: true }
}
