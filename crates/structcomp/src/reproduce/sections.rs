//! What the report says of each experiment.

mod accuracy;
mod cost;
mod curves;
mod theory;

use super::document::Section;
use super::{Cell, Experiment, Finished, Mode};

/// Off by more than so many points is worth a word.
const FAR: f64 = 1.5;

/// The section of an experiment, from its finished cells.
pub(super) fn section(experiment: Experiment, mut cells: Vec<&Finished>) -> Section {
    // The order of the experiment's own list; cells that it has no longer come last.
    let order: Vec<String> = experiment.cells().unwrap_or_default().iter().map(Cell::name).collect();
    let place = |cell: &Cell| order.iter().position(|name| *name == cell.name()).unwrap_or(usize::MAX);
    cells.sort_by_key(|finished| (place(&finished.cell), finished.cell.name()));
    let missing = missing(&order, &cells);
    let (tables, figures, mut notes) = match experiment {
        Experiment::TimeMemory => cost::parts(&cells),
        Experiment::Compression => curves::compression(&cells),
        Experiment::LossTrend => curves::losses(&cells),
        Experiment::Theory => theory::parts(&cells),
        Experiment::Recipe => accuracy::recipe(&cells),
        _ => accuracy::parts(experiment, &cells),
    };
    notes.extend(missing);
    Section { experiment, protocol: protocol(&cells), tables, figures, notes }
}

/// Which cells of the experiment have no result.
fn missing(order: &[String], cells: &[&Finished]) -> Option<String> {
    const FEW: usize = 12;
    let done: Vec<String> = cells.iter().map(|finished| finished.cell.name()).collect();
    let left: Vec<&str> = order.iter().filter(|name| !done.contains(name)).map(String::as_str).collect();
    let names = match left.len() {
        0 => return None,
        few if few <= FEW => format!(": {}", left.join(", ")),
        _ => String::new(),
    };
    let have = if left.len() == 1 { "has" } else { "have" };
    Some(format!("{} of {} cells {have} not been run{names}.", left.len(), order.len()))
}

/// How often cells were trained and judged; seldom more than one way.
fn protocol(cells: &[&Finished]) -> String {
    let judged = |finished: &&&Finished| matches!(finished.outcome, super::Outcome::Accuracy(_));
    let mut ways: Vec<String> = Vec::new();
    for finished in cells.iter().filter(judged) {
        let super::Repeats { seeds, runs, .. } = finished.repeats;
        let seeds = if seeds == 1 { "one training seed".into() } else { format!("{seeds} training seeds") };
        let way = format!("{seeds}, up to {runs} splits each");
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    match ways.is_empty() {
        true => String::new(),
        false => {
            format!("Training and judging: {}. ± is the deviation over splits.", ways.join("; other cells "))
        }
    }
}

/// A dataset as people call it; synthetic ones say so.
fn data_name(dataset: &str) -> String {
    match dataset {
        "cora" => "Cora".into(),
        "citeseer" => "Citeseer".into(),
        "pubmed" => "Pubmed".into(),
        "amazon-photo" => "Photo".into(),
        "amazon-computers" => "Computers".into(),
        "chameleon" => "Chameleon".into(),
        "squirrel" => "Squirrel".into(),
        "actor" => "Actor".into(),
        super::cells::FLICKR => "Flickr's counts (synthetic)".into(),
        "star" => "star (synthetic)".into(),
        other => other.to_owned(),
    }
}

/// A model as its authors spell it.
fn model_name(model: &str) -> String {
    match model {
        "sce" | "coles" | "grace" | "cca-ssg" | "sp-gcl" | "ggd" => model.to_uppercase(),
        "blockgcl" => "BlockGCL".into(),
        "contrast-reg" => "Contrast-Reg".into(),
        other => other.to_owned(),
    }
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Structcomp => "clusters",
        Mode::Full => "whole graph",
    }
}
