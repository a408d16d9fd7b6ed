//! Which cells to run.

use crate::estimate::{Need, correction};
use crate::source::Sources;
use crate::store::VERSION;
use crate::{Cell, EXPERIMENTS, Experiment, Finished, Mode, Repeats};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use structcomp::data::named;
use structcomp::memory::human_bytes;
use structcomp::{Budget, Error, Result, Seed};

/// What to rerun, and how.
///
/// ```no_run
/// use std::sync::atomic::AtomicBool;
/// use structcomp_reproduce::{Experiment, Report, Reproduction};
///
/// let reproduction = Reproduction {
///     experiments: Experiment::select(&["small"])?,
///     data_dir: "data".into(),
///     only: Some("cora/sce".into()),
///     ..Reproduction::default()
/// };
/// let plan = reproduction.plan()?;
/// plan.run(&AtomicBool::new(false), |_| {});
/// Report::read(&reproduction.out)?.write(&reproduction.out)?;
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone)]
pub struct Reproduction {
    /// The experiments.
    pub experiments: Vec<&'static Experiment>,
    /// The folder for the cells and the report.
    pub out: PathBuf,
    /// The folder of the named datasets.
    pub data_dir: PathBuf,
    /// Training seeds per cell.
    pub seeds: usize,
    /// Splits per seed.
    pub runs: usize,
    /// The first training seed.
    pub seed: Seed,
    /// Only cells whose name, such as `cora/grace/structcomp`, contains this.
    pub only: Option<String>,
    /// Only cells of this mode.
    pub mode: Option<Mode>,
    /// Whether finished cells are run again.
    pub redo: bool,
    /// The memory for all cells that run at the same time.
    pub budget: Budget,
    /// The command that measures training in a process of its own: it gets a request as its last argument and prints
    /// what [`measure`](crate::measure()) returns. Without it, cells that measure fail.
    pub measure_command: Vec<OsString>,
}

impl Default for Reproduction {
    fn default() -> Self {
        Self {
            experiments: vec![&EXPERIMENTS[0]],
            out: "reproduction".into(),
            data_dir: PathBuf::new(),
            seeds: 3,
            runs: 50,
            seed: Seed(0),
            only: None,
            mode: None,
            redo: false,
            budget: Budget::default(),
            measure_command: Vec::new(),
        }
    }
}

/// The selected cells that are left to run.
pub struct Plan {
    pub(crate) options: Reproduction,
    pub(crate) sources: Sources,
    pub(crate) repeats: Repeats,
    pub(crate) to_do: Vec<Planned>,
    /// The number of selected cells that are already finished.
    pub finished: usize,
    /// What the user should know, such as missing datasets.
    pub notes: Vec<String>,
}

/// A cell to run.
pub(crate) struct Planned {
    pub(crate) cell: Cell,
    pub(crate) key: String,
    pub(crate) need: Need,
    /// Core seconds that it is expected to take.
    pub(crate) expected: f64,
}

impl Reproduction {
    /// Selects the cells, reads their datasets and checks which are finished.
    pub fn plan(&self) -> Result<Plan> {
        if self.seeds == 0 || self.runs == 0 {
            return Err(Error::Input("a cell needs at least one seed and one split".into()));
        }
        match self.selected()? {
            cells if cells.is_empty() => Err(self.nothing_selected()),
            cells => self.plan_of(cells),
        }
    }

    /// Plans these cells.
    pub(crate) fn plan_of(&self, cells: Vec<Cell>) -> Result<Plan> {
        let mut notes = Vec::new();
        let done = Finished::read_all(&self.out, &mut notes)?;
        let mut plan = Plan {
            options: self.clone(),
            sources: Sources::new(&self.data_dir, self.budget),
            repeats: Repeats { seeds: self.seeds, runs: self.runs, seed: self.seed.0 },
            to_do: Vec::new(),
            finished: 0,
            notes,
        };
        let mut missing = BTreeSet::new();
        for cell in cells {
            match named::find(&cell.dataset).and_then(|data| data.locate(&self.data_dir).err()) {
                Some(error) => drop(missing.insert(format!("skipped: {error}"))),
                None => plan.add(cell, &done)?,
            }
        }
        if let (true, 0, Some(why)) = (plan.to_do.is_empty(), plan.finished, missing.first()) {
            return Err(Error::Input(format!("nothing to run; {why}")));
        }
        plan.notes.extend(missing);
        Ok(plan)
    }

    /// The cells of the experiments that pass the filters.
    pub(crate) fn selected(&self) -> Result<Vec<Cell>> {
        let mut selected = Vec::new();
        for experiment in &self.experiments {
            selected.extend(experiment.cells()?);
        }
        selected.retain(|cell| {
            self.only.as_ref().is_none_or(|only| cell.matches(only))
                && self.mode.is_none_or(|mode| cell.mode == mode)
        });
        Ok(selected)
    }

    fn nothing_selected(&self) -> Error {
        let names: Vec<&str> = self.experiments.iter().map(|experiment| experiment.name).collect();
        let only = self.only.as_ref().map(|only| format!(" with '{only}' in its name")).unwrap_or_default();
        let mode = self.mode.map(|mode| format!(" of mode {}", mode.name())).unwrap_or_default();
        let example = self.experiments.iter().find_map(|experiment| experiment.cells().ok()?.pop());
        let example =
            example.map(|cell| format!("; an example of a name is {}", cell.name())).unwrap_or_default();
        let who =
            if names.len() > 3 { "the selected experiments have".into() } else { names.join(", ") + " has" };
        Error::Input(format!("{who} no cell{only}{mode}{example}"))
    }
}

impl Plan {
    fn add(&mut self, cell: Cell, done: &[Finished]) -> Result<()> {
        let source = self.sources.get(&cell.dataset)?;
        let found = done.iter().find(|found| found.cell.file() == cell.file() && found.is_of(&cell));
        match found {
            Some(found) if !self.options.redo && found.serves(&cell, &self.repeats, &source.sha256) => {
                self.finished += 1;
                return Ok(());
            }
            Some(found) if found.has_more_than(&self.repeats) => self.notes.push(format!(
                "{} was run with {} and will be replaced; use another folder to keep both",
                cell.full_name(),
                found.repeats
            )),
            _ => {}
        }
        let key = cell.key(VERSION, &self.repeats, &source.sha256)?;
        let need = Need::of(&cell, &source, &self.repeats)?;
        if need.bytes > self.options.budget.bytes {
            let [takes, allowed] = [need.bytes, self.options.budget.bytes].map(human_bytes);
            let name = cell.full_name();
            self.notes
                .push(format!("{name} needs about {takes}, more than the {allowed} allowed; it runs alone"));
        }
        let expected = need.core_seconds * correction(&cell, done);
        self.to_do.push(Planned { cell, key, need, expected });
        Ok(())
    }

    /// The number of cells left to run.
    pub fn to_do(&self) -> usize {
        self.to_do.len()
    }

    /// How many seconds all of them are expected to take.
    pub fn expected_seconds(&self) -> f64 {
        self.to_do.iter().map(|planned| self.expected_of(&planned.cell)).sum()
    }

    /// How many seconds a cell is expected to take.
    pub fn expected_of(&self, cell: &Cell) -> f64 {
        let planned = self.to_do.iter().find(|planned| planned.cell == *cell);
        planned.map_or(0.0, |planned| planned.expected / rayon::current_num_threads() as f64)
    }
}
