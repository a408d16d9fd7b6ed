//! Accuracy against compression, and losses over epochs.

use super::accuracy::judged;
use super::{data_name, model_name};
use crate::reproduce::cells::{MODELS, RATES};
use crate::reproduce::document::{Figure, Table};
use crate::reproduce::figures::{Line, Panel, Panels};
use crate::reproduce::{Experiment, Finished, Outcome};
use crate::svg::{FAINT, PALETTE};

type Parts = (Vec<Table>, Vec<Figure>, Vec<String>);

/// The models' names, and a colour for each.
const LINES: [(&str, &str, &str); 4] = [
    ("sce", "SCE", PALETTE[0]),
    ("coles", "COLES", PALETTE[1]),
    ("grace", "GRACE", PALETTE[2]),
    ("cca-ssg", "CCA-SSG", PALETTE[5]),
];

fn datasets(cells: &[&Finished]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for finished in cells {
        if !names.contains(&finished.cell.dataset) {
            names.push(finished.cell.dataset.clone());
        }
    }
    names
}

/// Curves of accuracy with a band.
pub(super) fn compression(cells: &[&Finished]) -> Parts {
    let found = judged(cells);
    let mut rows = Vec::new();
    let mut panels = Vec::new();
    let mut notes = Vec::new();
    for dataset in datasets(cells) {
        let mut lines = Vec::new();
        for (model, name, color) in LINES {
            let cells =
                found.iter().filter(|(cell, _)| (&cell.dataset, &cell.model[..]) == (&dataset, model));
            let own: Vec<(f64, f64, f64)> = cells
                .clone()
                .filter_map(|(cell, judged)| {
                    Some((cell.variation.parse().ok()?, judged.ours.mean, judged.ours.std))
                })
                .collect();
            // The controls know nothing of clusters.
            let Some((_, controls)) = cells.clone().next() else { continue };
            let [spread, untrained] = [&controls.propagated, &controls.untrained].map(|of| of.mean);
            if lines.is_empty() {
                let ends = [RATES[0], RATES[RATES.len() - 1]];
                lines.push(Line {
                    name: "Â²X, no training",
                    color: FAINT,
                    points: ends.map(|share| (share, spread)).to_vec(),
                    band: Vec::new(),
                    dashed: true,
                });
            }
            let best = own.iter().max_by(|a, b| a.1.total_cmp(&b.1));
            let best = best.map_or_else(String::new, |best| format!("{:.2} at {}", best.1, best.0));
            let at = |share: f64| {
                let point = own.iter().find(|point| point.0 == share);
                point.map_or_else(|| "–".into(), |point| format!("{:.2}", point.1))
            };
            let mut row = vec![data_name(&dataset), name.to_owned(), best];
            row.extend(RATES.map(at));
            row.extend([spread, untrained].map(|mean| format!("{mean:.2}")));
            rows.push(row);
            let points = own.iter().map(|point| (point.0, point.1)).collect();
            lines.push(Line {
                name,
                color,
                points,
                band: own.iter().map(|point| point.2).collect(),
                dashed: false,
            });
        }
        panels.push(Panel { title: data_name(&dataset), lines });
    }
    if rows.iter().any(|row| row[0] == "Pubmed" && row[1] == "GRACE") {
        notes.push("GRACE on Pubmed ends at 0.3: it compares all pairs of clusters.".to_owned());
    }
    let mut head = vec!["data", "model", "best"];
    head.extend(["0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "1", "Â²X", "untrained"]);
    let title = Experiment::Compression.title();
    let figure = Panels {
        title,
        x: "clusters as a share of nodes, logarithmic",
        y: "accuracy, %",
        log_x: true,
        log_y: false,
        panels,
    };
    let figure = figure.draw().map(|svg| Figure { name: "compression".into(), about: title.into(), svg });
    (vec![Table { caption: String::new(), head, rows, texts: 3 }], figure.into_iter().collect(), notes)
}

/// Two losses of the whole graph, one panel a model.
pub(super) fn losses(cells: &[&Finished]) -> Parts {
    let (mut rows, mut figures) = (Vec::new(), Vec::new());
    for dataset in datasets(cells) {
        let mut panels = Vec::new();
        for model in MODELS {
            let own = cells
                .iter()
                .find(|finished| (&finished.cell.dataset, &finished.cell.model[..]) == (&dataset, model));
            let Some(Outcome::LossTrend(trend)) = own.map(|finished| &finished.outcome) else { continue };
            let number = |loss: Option<&f64>| loss.map_or_else(|| "–".into(), |loss| short(*loss));
            let apart = trend.on_clusters.iter().zip(&trend.on_nodes);
            let (first, last) = (trend.on_nodes.first().copied(), trend.on_nodes.last().copied());
            let fall = first.zip(last).map_or(0.0, |(first, last)| (first - last).abs());
            let worst = apart.map(|(u, w)| (u - w).abs()).fold(0.0, f64::max);
            rows.push(vec![
                data_name(&dataset),
                model_name(model),
                trend.on_nodes.len().to_string(),
                number(trend.on_nodes.first()),
                number(trend.on_clusters.last()),
                number(trend.on_nodes.last()),
                if fall > 0.0 { format!("{:.0} %", 100.0 * worst / fall) } else { "–".into() },
            ]);
            let line = |name, color, losses: &[f64], dashed| Line {
                name,
                color,
                points: (1..).map(f64::from).zip(losses.iter().copied()).collect(),
                band: Vec::new(),
                dashed,
            };
            let lines = vec![
                line("L(A, X; W), trained on the whole graph", PALETTE[5], &trend.on_nodes, false),
                line("L(A, X; U), trained on clusters", PALETTE[0], &trend.on_clusters, true),
            ];
            panels.push(Panel { title: model_name(model), lines });
        }
        let title = format!("The loss on {}", data_name(&dataset));
        let figure = Panels {
            title: &title,
            x: "epoch",
            y: "loss of the whole graph",
            log_x: false,
            log_y: false,
            panels,
        };
        figures.extend(figure.draw().map(|svg| Figure {
            name: format!("loss-{dataset}"),
            about: title.clone(),
            svg,
        }));
    }
    let head = vec!["data", "model", "epochs", "at first", "U at last", "W at last", "furthest apart"];
    let caption = "Furthest apart is the largest |L(A, X; U) − L(A, X; W)| of an epoch, in percent of how far W's falls.";
    (vec![Table { caption: caption.into(), head, rows, texts: 2 }], figures, Vec::new())
}

fn short(loss: f64) -> String {
    match loss.abs() {
        size if size > 0.0 && !(1e-3..1e5).contains(&size) => format!("{loss:.3e}"),
        _ => format!("{loss:.4}"),
    }
}
