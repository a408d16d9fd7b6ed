//! What the report says of each experiment.

mod accuracy;
mod cost;
mod curves;
mod settings;
mod theory;

use super::document::Section;
use super::{Cell, Experiment, Finished, Mode, Repeats, Reproduction};

/// Off by more than so many points is worth a word.
const FAR: f64 = 1.5;

/// The section of an experiment, from its finished cells.
pub(super) fn section(experiment: Experiment, mut cells: Vec<&Finished>) -> Section {
    // The order of the experiment's own list; cells that it has no longer come last.
    let defined = experiment.cells().unwrap_or_default();
    let order: Vec<String> = defined.iter().map(Cell::name).collect();
    let place = |cell: &Cell| order.iter().position(|name| *name == cell.name()).unwrap_or(usize::MAX);
    cells.sort_by_key(|finished| (place(&finished.cell), finished.cell.name()));
    let expected = defined.iter().filter(|cell| !cell.is_optional()).map(Cell::name).collect::<Vec<_>>();
    let missing = missing(&expected, &cells);
    let (mut tables, figures, mut notes) = match experiment {
        Experiment::TimeMemory => cost::parts(&cells),
        Experiment::Compression => curves::compression(&cells),
        Experiment::LossTrend => curves::losses(&cells),
        Experiment::Theory => theory::parts(&cells),
        Experiment::Recipe => accuracy::recipe(&cells),
        _ => accuracy::parts(experiment, &cells),
    };
    tables.extend(settings::table(experiment, &cells));
    notes.extend(missing);
    let (commands, protocol) = (commands(experiment, &cells), protocol(&cells));
    Section { experiment, commands, protocol, tables, figures, notes }
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

/// How often the cells of each mode were done, where there are any: all of them alike if possible.
fn repeats(cells: &[&Finished]) -> Vec<(Option<Mode>, Repeats)> {
    let mut ways: Vec<(Option<Mode>, Repeats)> = Vec::new();
    for finished in cells {
        let way = (Some(finished.cell.mode), finished.repeats);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    match ways.first() {
        Some(&(_, first)) if ways.iter().all(|way| way.1 == first) => vec![(None, first)],
        _ => ways,
    }
}

/// What to type for these cells.
fn commands(experiment: Experiment, cells: &[&Finished]) -> Vec<String> {
    let usual = Reproduction::default();
    let command = |(mode, repeats): (Option<Mode>, Repeats)| {
        let mut command = format!("structcomp reproduce {}", experiment.name());
        let mut add = |name: &str, value: String, usual: String| {
            if value != usual {
                command += &format!(" --{name} {value}");
            }
        };
        add("mode", mode.map_or_else(String::new, |mode| mode.name().into()), String::new());
        add("seeds", repeats.seeds.to_string(), usual.seeds.to_string());
        add("runs", repeats.runs.to_string(), usual.runs.to_string());
        add("seed", repeats.seed.to_string(), usual.seed.0.to_string());
        command
    };
    repeats(cells).into_iter().map(command).collect()
}

/// How often cells were trained and judged.
fn protocol(cells: &[&Finished]) -> String {
    let judged = |finished: &&&Finished| matches!(finished.outcome, super::Outcome::Accuracy(_));
    let judged: Vec<&Finished> = cells.iter().filter(judged).copied().collect();
    let way = |(mode, Repeats { seeds, runs, .. }): (Option<Mode>, Repeats)| {
        let seeds = if seeds == 1 { "one training seed".into() } else { format!("{seeds} training seeds") };
        let mode = mode.map(|mode| format!("on {} ", in_a_sentence(mode))).unwrap_or_default();
        format!("{mode}{seeds}, up to {runs} splits each")
    };
    match judged.is_empty() {
        true => String::new(),
        false => {
            let ways: Vec<String> = repeats(&judged).into_iter().map(way).collect();
            format!("Training and judging: {}. ± is the deviation over splits.", ways.join("; "))
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
        "flickr" => "Flickr".into(),
        "reddit" => "Reddit".into(),
        super::cells::FLICKR => "Flickr's counts (synthetic)".into(),
        "star" => "star (synthetic)".into(),
        other => other.to_owned(),
    }
}

/// A model as its authors spell it.
fn model_name(model: &str) -> String {
    match model {
        "sce" | "coles" | "grace" | "cca-ssg" | "sp-gcl" | "ggd" | "dgi" | "mvgrl" | "bgrl" => {
            model.to_uppercase()
        }
        "blockgcl" => "BlockGCL".into(),
        "contrast-reg" => "Contrast-Reg".into(),
        other => other.to_owned(),
    }
}

fn in_a_sentence(mode: Mode) -> &'static str {
    match mode {
        Mode::Structcomp => "clusters",
        Mode::Full => "the whole graph",
    }
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Structcomp => "clusters",
        Mode::Full => "whole graph",
    }
}
