//! Accuracies beside the paper's and beside no training.

use super::{FAR, data_name, in_a_sentence, mode_name, model_name};
use crate::reproduce::document::{Figure, Table};
use crate::reproduce::figures::{Dots, MARKS, Row};
use crate::reproduce::{Cell, Experiment, Finished, Judged, Mode, Outcome, Spread};

type Parts = (Vec<Table>, Vec<Figure>, Vec<String>);

/// The cells that were judged, with what came of it.
pub(super) fn judged<'a>(cells: &[&'a Finished]) -> Vec<(&'a Cell, &'a Judged)> {
    let of = |finished: &&'a Finished| match &finished.outcome {
        Outcome::Accuracy(judged) => Some((&finished.cell, &**judged)),
        _ => None,
    };
    cells.iter().filter_map(of).collect()
}

/// The table and its figures.
pub(super) fn parts(experiment: Experiment, cells: &[&Finished]) -> Parts {
    let cells = judged(cells);
    let has_variation = cells.iter().any(|(cell, _)| !cell.variation.is_empty());
    let mut head = vec!["model", "data"];
    head.push(if has_variation { "clusters by" } else { "trained on" });
    let texts = head.len();
    head.extend(["paper", "ours", "difference", "X", "Â²X", "untrained", "random clusters"]);
    let rows = cells.iter().map(|(cell, judged)| {
        let third = if has_variation { cell.variation.clone() } else { mode_name(cell.mode).to_owned() };
        let mut row = vec![model_name(&cell.model), data_name(&cell.dataset), third];
        row.extend(numbers(cell, judged));
        row
    });
    let table = Table { caption: String::new(), head, rows: rows.collect(), texts };
    let figures = [Mode::Structcomp, Mode::Full].into_iter().filter_map(|mode| {
        let own: Vec<_> = cells.iter().filter(|(cell, _)| cell.mode == mode).collect();
        let title = format!("{}: trained on {}", experiment.title(), in_a_sentence(mode));
        let rows = own.iter().map(|(cell, judged)| Row {
            name: [&model_name(&cell.model), ", ", &data_name(&cell.dataset), &short(&cell.variation)]
                .concat(),
            values: vec![
                Some(judged.ours.mean),
                cell.paper.map(|paper| paper.mean),
                Some(judged.propagated.mean),
                Some(judged.untrained.mean),
                judged.random_clusters.as_ref().map(|spread| spread.mean),
            ],
        });
        let axis = "test nodes told right, %";
        let svg = Dots { title: &title, axis, marks: &MARKS, rows: rows.collect(), log: false }.draw()?;
        Some(Figure { name: format!("{}-{}", experiment.name(), mode.name()), about: title, svg })
    });
    let figures = figures.collect();
    (vec![table], figures, notes(&cells))
}

/// A partitioner in the few letters that a figure has room for.
fn short(variation: &str) -> String {
    match variation {
        "" => String::new(),
        "variation-neighborhoods" => " (VN)".into(),
        "algebraic-jc" => " (JC)".into(),
        "affinity-gs" => " (GS)".into(),
        other => format!(" ({other})"),
    }
}

fn numbers(cell: &Cell, judged: &Judged) -> Vec<String> {
    let spread = |spread: &Spread| format!("{:.2} ± {:.2}", spread.mean, spread.std);
    let mean = |spread: &Spread| format!("{:.2}", spread.mean);
    vec![
        cell.paper.map_or_else(
            || "–".into(),
            |paper| match paper.std {
                Some(std) => format!("{:?} ± {std:?}", paper.mean),
                None => format!("{:?}", paper.mean),
            },
        ),
        spread(&judged.ours),
        cell.paper.map_or_else(|| "–".into(), |paper| format!("{:+.2}", judged.ours.mean - paper.mean)),
        mean(&judged.features),
        mean(&judged.propagated),
        mean(&judged.untrained),
        judged.random_clusters.as_ref().map_or_else(|| "–".into(), mean),
    ]
}

/// How many are near the paper's numbers, and what training and clusters are worth.
fn notes(cells: &[(&Cell, &Judged)]) -> Vec<String> {
    let mut notes = Vec::new();
    for mode in [Mode::Structcomp, Mode::Full] {
        let own: Vec<_> = cells.iter().filter(|(cell, _)| cell.mode == mode).collect();
        let beside: Vec<(&Cell, f64)> = own
            .iter()
            .filter_map(|(cell, judged)| Some((*cell, judged.ours.mean - cell.paper?.mean)))
            .collect();
        if !beside.is_empty() {
            let far = |sign: f64| -> Vec<String> {
                let far = beside.iter().filter(|(_, difference)| sign * difference > FAR);
                far.map(|(cell, difference)| format!("{} {difference:+.2}", cell.name())).collect()
            };
            let (above, below) = (far(1.0), far(-1.0));
            let near = beside.len() - above.len() - below.len();
            let mut note = format!(
                "Trained on {}, {near} of {} cells are within {FAR} points of the paper's number.",
                in_a_sentence(mode),
                beside.len()
            );
            for (where_to, cells) in [("above", above), ("below", below)] {
                if !cells.is_empty() {
                    note += &format!(" Further {where_to}: {}.", cells.join(", "));
                }
            }
            notes.push(note);
        }
        let wins = |control: &dyn Fn(&Judged) -> Option<f64>| {
            let known: Vec<bool> =
                own.iter().filter_map(|(_, judged)| Some(judged.ours.mean > control(judged)?)).collect();
            (known.iter().filter(|wins| **wins).count(), known.len())
        };
        let (spread, all) = wins(&|judged| Some(judged.propagated.mean));
        let (untrained, _) = wins(&|judged| Some(judged.untrained.mean));
        if all > 0 {
            let mut note = format!(
                "Trained on {}, {spread} of {all} are above Â²X and {untrained} above the untrained encoder",
                in_a_sentence(mode)
            );
            let (random, known) = wins(&|judged| Some(judged.random_clusters.as_ref()?.mean));
            if known > 0 {
                note += &format!("; {random} of {known} are above training on random clusters");
            }
            notes.push(note + ".");
        }
    }
    notes.extend(gains(cells));
    notes
}

/// By how much clusters are better than the whole graph, for each model on average over the data that it has both of,
/// by the seeds that both have; and the same in the paper, where it has all of them.
fn gains(cells: &[(&Cell, &Judged)]) -> Option<String> {
    let mut models: Vec<&str> = Vec::new();
    for (cell, _) in cells {
        if !models.contains(&&cell.model[..]) {
            models.push(&cell.model);
        }
    }
    let gain = |model: &&str| {
        let own = |mode| cells.iter().filter(move |(cell, _)| (&cell.model[..], cell.mode) == (*model, mode));
        let mut pairs = Vec::new();
        for (cell, judged) in own(Mode::Structcomp) {
            let whole = own(Mode::Full)
                .find(|(other, _)| (&other.dataset, &other.variation) == (&cell.dataset, &cell.variation));
            let Some((whole, on_whole)) = whole else { continue };
            let common = judged.ours.seeds.len().min(on_whole.ours.seeds.len());
            let mean = |spread: &Spread| spread.seeds[..common].iter().sum::<f64>() / common.max(1) as f64;
            let printed = cell.paper.zip(whole.paper).map(|(clusters, whole)| clusters.mean - whole.mean);
            pairs.push((mean(&judged.ours) - mean(&on_whole.ours), printed));
        }
        let count = pairs.len() as f64;
        let ours = pairs.iter().map(|pair| pair.0).sum::<f64>() / count;
        let printed: Option<f64> = pairs.iter().map(|pair| pair.1).sum();
        let printed = printed.map(|sum| format!(" (paper {:+.2})", sum / count)).unwrap_or_default();
        (!pairs.is_empty()).then(|| format!("{} {ours:+.2}{printed}", model_name(model)))
    };
    let gains: Vec<String> = models.iter().filter_map(gain).collect();
    (!gains.is_empty()).then(|| {
        format!(
            "Clusters less the whole graph, on average over the data and by the same seeds: {}.",
            gains.join(", ")
        )
    })
}

/// The table of our own recipe, which has no paper beside it.
pub(super) fn recipe(cells: &[&Finished]) -> Parts {
    let cells = judged(cells);
    let rows = cells.iter().map(|(cell, judged)| {
        let mean = |spread: &Spread| format!("{:.2}", spread.mean);
        let against = judged.against_propagated.iter();
        let against: Vec<String> =
            against.map(|(by, chance)| format!("{by:+.2} (p = {chance:.0e})")).collect();
        let epochs: Vec<String> = judged.epochs.iter().map(usize::to_string).collect();
        vec![
            data_name(&cell.dataset),
            epochs.join("/"),
            against.join(", "),
            format!("{:.2} ± {:.2}", judged.ours.mean, judged.ours.std),
            mean(&judged.features),
            mean(&judged.propagated),
            mean(&judged.untrained),
            judged.random_clusters.as_ref().map_or_else(|| "–".into(), mean),
        ]
    });
    let head = vec![
        "data",
        "epochs",
        "against Â²X, each seed",
        "recipe",
        "X",
        "Â²X",
        "untrained",
        "random clusters",
    ];
    (vec![Table { caption: String::new(), head, rows: rows.collect(), texts: 3 }], Vec::new(), notes(&cells))
}
