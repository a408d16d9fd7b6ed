//! The report of all finished cells: HTML, Markdown, text and JSON.

pub(crate) mod accuracy;
mod page;
mod section;
mod settings;
pub(crate) mod table;

use crate::{Cell, EXPERIMENTS, Experiment, Finished, experiment, io, json};
use section::Section;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use structcomp::Result;
use structcomp::output::write_text;
use table::Table;

/// The report of finished cells.
pub struct Report {
    cells: Vec<Finished>,
    sections: Vec<Section>,
}

/// What an experiment shows of its finished cells.
pub(crate) struct Parts {
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    /// What the numbers say.
    pub(crate) notes: Vec<String>,
}

/// A picture, with the name of its file without the extension.
pub(crate) struct Figure {
    name: String,
    about: String,
    svg: String,
}

impl Figure {
    pub(crate) fn new(name: &str, about: &str, svg: Option<String>) -> Option<Self> {
        Some(Self { name: name.into(), about: about.into(), svg: svg? })
    }
}

impl Report {
    /// All finished cells below a folder, except those that would be run differently now.
    pub fn read(out: &Path) -> Result<Self> {
        let mut defined: Vec<Cell> = Vec::new();
        for experiment in &EXPERIMENTS {
            defined.extend(experiment.cells()?);
        }
        let as_defined = |finished: Finished| {
            let cell = defined.iter().find(|cell| cell.file() == finished.cell.file())?;
            finished.is_of(cell).then(|| Finished { cell: cell.clone(), ..finished })
        };
        let cells: Vec<Finished> =
            Finished::read_all(out, &mut Vec::new())?.into_iter().filter_map(as_defined).collect();
        let sections = EXPERIMENTS.iter().filter_map(|experiment| Section::of(experiment, &defined, &cells));
        let sections = sections.collect();
        Ok(Self { cells, sections })
    }

    /// Writes `index.html`, `results.md`, `results.json` and the figures.
    pub fn write(&self, out: &Path) -> Result<()> {
        write_text(out.join("index.html"), &page::html(&self.sections))?;
        write_text(out.join("results.json"), &self.json()?)?;
        let path = out.join("results.md");
        self.write_figures(&path)?;
        write_text(path, &self.markdown(""))
    }

    /// Writes the Markdown, and the figures in a folder `figures` next to it. An existing file keeps its sections of
    /// experiments without finished cells, so that one experiment can be rerun without the others.
    pub fn write_markdown(&self, path: &Path) -> Result<()> {
        let before = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(io(path)(error)),
        };
        self.write_figures(path)?;
        write_text(path, &self.markdown(&before))
    }

    fn write_figures(&self, markdown: &Path) -> Result<()> {
        let folder = markdown.parent().unwrap_or(Path::new("")).join("figures");
        let mut figures = self.sections.iter().flat_map(|section| &section.parts.figures);
        figures.try_for_each(|figure| write_text(folder.join(format!("{}.svg", figure.name)), &figure.svg))
    }

    /// All finished cells as JSON.
    pub fn json(&self) -> Result<String> {
        json(&self.cells)
    }

    /// The report as Markdown, with the sections of `before` for experiments that have none here.
    pub(crate) fn markdown(&self, before: &str) -> String {
        let mut text = String::from(
            "# Results\n\nEvery table and figure was made by the command above it, from the finished cells in its folder. To \
             run a single cell, add `--only` and its name, such as `--only cora/sce/structcomp`. Differences are ours minus \
             the paper's, in percentage points.\n",
        );
        for experiment in &EXPERIMENTS {
            match self.sections.iter().find(|section| section.experiment.name == experiment.name) {
                Some(section) => text += &section.markdown(),
                None => text += section_of(before, experiment).unwrap_or_default(),
            }
        }
        text
    }

    /// Some experiments for a terminal.
    pub fn text(&self, experiments: &[&Experiment]) -> String {
        let mut text = String::new();
        let wanted =
            |section: &&Section| experiments.iter().any(|other| other.name == section.experiment.name);
        for section in self.sections.iter().filter(wanted) {
            let _ = write!(text, "{}\n{}\n", section.experiment.title, section.protocol);
            section.parts.tables.iter().for_each(|table| match table.is_text() {
                true => {
                    text +=
                        &table.ends("Our own settings; the page has all settings and their sources").text()
                }
                false => text += &table.text(),
            });
            section.parts.notes.iter().for_each(|note| text += &format!("\n{note}\n"));
            text.push('\n');
        }
        text
    }
}

/// What a report has for an experiment, from its heading to the next.
fn section_of<'a>(report: &'a str, experiment: &Experiment) -> Option<&'a str> {
    let start = report.find(&format!("\n## {}\n", experiment.title))?;
    let section = &report[start..];
    let end = section[1..].find("\n## ").map_or(section.len(), |end| end + 1);
    Some(&section[..end])
}

/// The datasets of some cells, in order.
pub(crate) fn datasets<'a>(cells: &[&'a Finished]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for finished in cells {
        if !names.contains(&&finished.cell.dataset[..]) {
            names.push(&finished.cell.dataset);
        }
    }
    names
}

/// The name of a dataset for readers; generated ones say so.
pub(crate) fn data_title(dataset: &str) -> String {
    if let Some(generated) = experiment::generated(dataset) {
        return generated.title.to_owned();
    }
    let short = dataset.strip_prefix("amazon-").unwrap_or(dataset);
    let mut letters = short.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
