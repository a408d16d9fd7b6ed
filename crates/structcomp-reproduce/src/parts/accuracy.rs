//! Accuracies next to the published ones and to those without training.

use super::{Figure, Parts, data_title, table::Table};
use crate::draft::BOTH;
use crate::model::Facts;
use crate::plot::{Dots, MARKS, Row};
use crate::{Accuracies, Cell, Finished, Mode, Outcome, Spread};

/// A larger difference from the published number, in percentage points, is noted.
const FAR: f64 = 1.5;

/// The columns of [`controls`].
pub(crate) const CONTROLS: [&str; 4] = ["X", "Â²X", "untrained", "random clusters"];

/// The cells with accuracies.
pub(crate) fn evaluated<'a>(cells: &[&'a Finished]) -> Vec<(&'a Cell, &'a Accuracies)> {
    let of = |finished: &&'a Finished| match &finished.outcome {
        Outcome::Accuracy(found) => Some((&finished.cell, &**found)),
        _ => None,
    };
    cells.iter().filter_map(of).collect()
}

/// A table, a figure per mode, and notes.
pub(crate) fn parts(name: &str, title: &str, cells: &[&Finished]) -> Parts {
    let cells = evaluated(cells);
    let has_variation = cells.iter().any(|(cell, _)| !cell.variation.is_empty());
    let mut head = vec!["model", "data", if has_variation { "partitioner" } else { "trained on" }];
    let texts = head.len();
    head.extend(["paper", "ours", "difference"]);
    head.extend(CONTROLS);
    let rows = cells.iter().map(|(cell, found)| {
        let third = if has_variation {
            cell.variation.clone()
        } else {
            cell.mode.title().trim_start_matches("the ").to_owned()
        };
        let mut row = vec![Facts::of(&cell.model).title, data_title(&cell.dataset), third];
        row.extend(compared(cell, &found.ours));
        row.extend(controls(found));
        row
    });
    let table = Table { caption: String::new(), head, rows: rows.collect(), texts };
    let figures = BOTH.into_iter().filter_map(|mode| figure(name, title, mode, &cells)).collect();
    Parts { tables: vec![table], figures, notes: notes(&cells) }
}

fn figure(name: &str, title: &str, mode: Mode, cells: &[(&Cell, &Accuracies)]) -> Option<Figure> {
    let title = format!("{title}: trained on {}", mode.title());
    let rows = cells.iter().filter(|(cell, _)| cell.mode == mode).map(|(cell, found)| Row {
        name: format!(
            "{}, {}{}",
            Facts::of(&cell.model).title,
            data_title(&cell.dataset),
            short(&cell.variation)
        ),
        values: vec![
            Some(found.ours.mean),
            cell.paper.map(|paper| paper.mean),
            Some(found.propagated.mean),
            Some(found.untrained.mean),
            found.random_clusters.as_ref().map(|spread| spread.mean),
        ],
    });
    let dots =
        Dots { title: &title, axis: "test accuracy (%)", marks: &MARKS, rows: rows.collect(), log: false };
    Figure::new(&format!("{name}-{}", mode.name()), &title, dots.draw())
}

/// A partitioner's initials where a figure has no room for its name.
fn short(variation: &str) -> String {
    match variation {
        "" => String::new(),
        "variation-neighborhoods" => " (VN)".into(),
        "algebraic-jc" => " (JC)".into(),
        "affinity-gs" => " (GS)".into(),
        other => format!(" ({other})"),
    }
}

/// The published accuracy, ours, and the difference.
fn compared(cell: &Cell, ours: &Spread) -> [String; 3] {
    let [paper, difference] = match cell.paper {
        None => ["–".into(), "–".into()],
        Some(paper) => {
            let std = paper.std.map(|std| format!(" ± {std:?}")).unwrap_or_default();
            [format!("{:?}{std}", paper.mean), format!("{:+.2}", ours.mean - paper.mean)]
        }
    };
    [paper, ours.to_string(), difference]
}

/// The accuracies without training, and of training on random clusters.
pub(crate) fn controls(found: &Accuracies) -> [String; 4] {
    let all = [
        Some(&found.features),
        Some(&found.propagated),
        Some(&found.untrained),
        found.random_clusters.as_ref(),
    ];
    all.map(|spread| spread.map_or_else(|| "–".into(), |spread| format!("{:.2}", spread.mean)))
}

/// How many cells are near the published numbers, and what training and clusters contribute.
pub(crate) fn notes(cells: &[(&Cell, &Accuracies)]) -> Vec<String> {
    let mut notes = Vec::new();
    for mode in BOTH {
        let own: Vec<_> = cells.iter().filter(|(cell, _)| cell.mode == mode).copied().collect();
        notes.extend(distance_note(mode, &own));
        notes.extend(control_note(mode, &own));
    }
    notes.extend(gains(cells));
    notes
}

fn distance_note(mode: Mode, cells: &[(&Cell, &Accuracies)]) -> Option<String> {
    let differences: Vec<(&Cell, f64)> =
        cells.iter().filter_map(|(cell, found)| Some((*cell, found.ours.mean - cell.paper?.mean))).collect();
    if differences.is_empty() {
        return None;
    }
    let far = |sign: f64| -> Vec<String> {
        let far = differences.iter().filter(|(_, difference)| sign * difference > FAR);
        far.map(|(cell, difference)| format!("{} {difference:+.2}", cell.name())).collect()
    };
    let (above, below) = (far(1.0), far(-1.0));
    let near = differences.len() - above.len() - below.len();
    let mut note = format!(
        "Trained on {}, {near} of {} cells are within {FAR} points of the published number.",
        mode.title(),
        differences.len()
    );
    for (direction, cells) in [("above", above), ("below", below)] {
        if !cells.is_empty() {
            note += &format!(" Further {direction}: {}.", cells.join(", "));
        }
    }
    Some(note)
}

fn control_note(mode: Mode, cells: &[(&Cell, &Accuracies)]) -> Option<String> {
    let wins = |control: &dyn Fn(&Accuracies) -> Option<f64>| {
        let known = cells.iter().filter_map(|(_, found)| Some(found.ours.mean > control(found)?));
        let known: Vec<bool> = known.collect();
        (known.iter().filter(|wins| **wins).count(), known.len())
    };
    let (propagated, all) = wins(&|found| Some(found.propagated.mean));
    let (untrained, _) = wins(&|found| Some(found.untrained.mean));
    let (random, known) = wins(&|found| Some(found.random_clusters.as_ref()?.mean));
    let random = if known > 0 {
        format!("; {random} of {known} are above training on random clusters")
    } else {
        String::new()
    };
    let on = mode.title();
    (all > 0).then(|| {
        format!("Trained on {on}, {propagated} of {all} are above Â²X and {untrained} above the untrained encoder{random}.")
    })
}

/// How much better clusters are than the whole graph: for each model the mean over the datasets that have both, over the
/// seeds that both have; and the same of the published numbers, where all are published.
fn gains(cells: &[(&Cell, &Accuracies)]) -> Option<String> {
    let mut models: Vec<&str> = Vec::new();
    for (cell, _) in cells {
        if !models.contains(&&cell.model[..]) {
            models.push(&cell.model);
        }
    }
    let gains: Vec<String> = models.iter().filter_map(|model| gain(model, cells)).collect();
    (!gains.is_empty()).then(|| {
        let gains = gains.join(", ");
        format!("Clusters minus the whole graph, on average over the datasets with the same seeds: {gains}.")
    })
}

fn gain(model: &str, cells: &[(&Cell, &Accuracies)]) -> Option<String> {
    let own = |mode| cells.iter().filter(move |(cell, _)| (&cell.model[..], cell.mode) == (model, mode));
    let mut pairs = Vec::new();
    for (cell, found) in own(Mode::Structcomp) {
        let same = |(other, _): &&(&Cell, &Accuracies)| {
            (&other.dataset, &other.variation) == (&cell.dataset, &cell.variation)
        };
        let Some((whole, on_whole)) = own(Mode::Full).find(same) else { continue };
        let common = found.ours.seeds.len().min(on_whole.ours.seeds.len());
        let mean = |spread: &Spread| spread.seeds[..common].iter().sum::<f64>() / common.max(1) as f64;
        let published = cell.paper.zip(whole.paper).map(|(clusters, whole)| clusters.mean - whole.mean);
        pairs.push((mean(&found.ours) - mean(&on_whole.ours), published));
    }
    let count = pairs.len() as f64;
    let ours = pairs.iter().map(|pair| pair.0).sum::<f64>() / count;
    let published: Option<f64> = pairs.iter().map(|pair| pair.1).sum();
    let published = published.map(|sum| format!(" (paper {:+.2})", sum / count)).unwrap_or_default();
    (!pairs.is_empty()).then(|| format!("{} {ours:+.2}{published}", Facts::of(model).title))
}
