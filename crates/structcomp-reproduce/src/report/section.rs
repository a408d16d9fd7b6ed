//! The section of an experiment.

use super::settings;
use crate::parts::Parts;
use crate::{Cell, Experiment, Finished, Mode, Outcome, Repeats, Reproduction};
use std::fmt::Write;

/// An experiment in the report.
pub(super) struct Section {
    pub(super) experiment: &'static Experiment,
    /// The commands that run its cells.
    pub(super) commands: Vec<String>,
    /// How often cells were trained and evaluated.
    pub(super) protocol: String,
    pub(super) parts: Parts,
}

impl Section {
    /// The section of an experiment; none without finished cells.
    pub(super) fn of(
        experiment: &'static Experiment,
        defined: &[Cell],
        finished: &[Finished],
    ) -> Option<Self> {
        let own = |cell: &Cell| cell.experiment == experiment.name;
        let defined: Vec<String> = defined
            .iter()
            .filter(|cell| own(cell) && !experiment.optional.contains(&&cell.dataset[..]))
            .map(Cell::name)
            .collect();
        let mut cells: Vec<&Finished> = finished.iter().filter(|finished| own(&finished.cell)).collect();
        if cells.is_empty() {
            return None;
        }
        // In the order of the experiment.
        let place = |name: &String| defined.iter().position(|other| other == name).unwrap_or(usize::MAX);
        cells.sort_by_cached_key(|finished| (place(&finished.cell.name()), finished.cell.name()));
        let mut parts = (experiment.parts)(experiment, &cells);
        parts.tables.extend(settings::table(&cells));
        parts.notes.extend(missing(&defined, &cells));
        let (commands, protocol) = (commands(experiment, &cells), protocol(&cells));
        Some(Self { experiment, commands, protocol, parts })
    }

    pub(super) fn markdown(&self) -> String {
        let Self { experiment, commands, protocol, parts } = self;
        let commands = commands.join("`, `");
        let mut text = format!("\n## {}\n\n`{commands}`\n\n", experiment.title);
        let _ = writeln!(text, "{} {protocol}", experiment.caption);
        parts.notes.iter().for_each(|note| text += &format!("\n{note}\n"));
        for figure in &parts.figures {
            let _ = write!(text, "\n![{}](figures/{}.svg)\n", figure.about, figure.name);
        }
        parts.tables.iter().for_each(|table| text += &table.markdown());
        text
    }
}

/// Which cells of the experiment have no result.
fn missing(defined: &[String], cells: &[&Finished]) -> Option<String> {
    const FEW: usize = 12;
    let done: Vec<String> = cells.iter().map(|finished| finished.cell.name()).collect();
    let left: Vec<&str> = defined.iter().filter(|name| !done.contains(name)).map(String::as_str).collect();
    let names = match left.len() {
        0 => return None,
        few if few <= FEW => format!(": {}", left.join(", ")),
        _ => String::new(),
    };
    let have = if left.len() == 1 { "has" } else { "have" };
    Some(format!("{} of {} cells {have} not been run{names}.", left.len(), defined.len()))
}

/// How often the cells were run, by mode unless all are alike.
fn repeats(cells: &[&Finished]) -> Vec<(Option<Mode>, Repeats)> {
    let mut all: Vec<(Option<Mode>, Repeats)> = Vec::new();
    for finished in cells {
        let own = (Some(finished.cell.mode), finished.repeats);
        if !all.contains(&own) {
            all.push(own);
        }
    }
    match all.first() {
        Some(&(_, first)) if all.iter().all(|own| own.1 == first) => vec![(None, first)],
        _ => all,
    }
}

/// The commands that run these cells.
fn commands(experiment: &Experiment, cells: &[&Finished]) -> Vec<String> {
    let usual = Reproduction::default();
    let command = |(mode, repeats): (Option<Mode>, Repeats)| {
        let mut command = format!("structcomp reproduce {}", experiment.name);
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

/// How often cells were trained and evaluated.
fn protocol(cells: &[&Finished]) -> String {
    let evaluated = |finished: &&&Finished| matches!(finished.outcome, Outcome::Accuracy(_));
    let evaluated: Vec<&Finished> = cells.iter().filter(evaluated).copied().collect();
    if evaluated.is_empty() {
        return String::new();
    }
    let way = |(mode, Repeats { seeds, runs, .. }): (Option<Mode>, Repeats)| {
        let seeds = if seeds == 1 { "one training seed".into() } else { format!("{seeds} training seeds") };
        let mode = mode.map(|mode| format!("on {} ", mode.title())).unwrap_or_default();
        format!("{mode}{seeds}, up to {runs} splits each")
    };
    let ways: Vec<String> = repeats(&evaluated).into_iter().map(way).collect();
    format!("Protocol: {}. ± is the standard deviation over splits.", ways.join("; "))
}
