//! The report: tables and figures of all finished cells, as Markdown, as text and as data.

use super::{Cell, Experiment, Finished, page, sections};
use crate::{Error, Result, write_text};
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// What finished cells come to.
pub struct Report {
    cells: Vec<Finished>,
    pub(super) sections: Vec<Section>,
}

/// An experiment.
pub(super) struct Section {
    pub(super) experiment: Experiment,
    /// What to type for its cells.
    pub(super) commands: Vec<String>,
    /// How often cells were trained and judged.
    pub(super) protocol: String,
    pub(super) tables: Vec<Table>,
    pub(super) figures: Vec<Figure>,
    /// What the numbers say.
    pub(super) notes: Vec<String>,
}

/// Rows of text and numbers.
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
    /// Columns from the left that are text.
    pub(super) texts: usize,
}

/// A picture with the name of its file, without the ending.
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) svg: String,
}

impl Report {
    /// All finished cells below a folder, but for those that would be done otherwise now.
    pub fn read(out: &Path) -> Result<Self> {
        let defined: Vec<Cell> =
            Experiment::ALL.into_iter().filter_map(|experiment| experiment.cells().ok()).flatten().collect();
        let as_defined = |finished: Finished| {
            let cell = defined.iter().find(|cell| cell.file() == finished.cell.file())?;
            finished.is_of(cell).then(|| Finished { cell: cell.clone(), ..finished })
        };
        let cells: Vec<Finished> =
            Finished::read_all(out, &mut Vec::new())?.into_iter().filter_map(as_defined).collect();
        let sections = Experiment::ALL.into_iter().filter_map(|experiment| {
            let own: Vec<&Finished> =
                cells.iter().filter(|cell| cell.cell.experiment == experiment).collect();
            (!own.is_empty()).then(|| sections::section(experiment, own))
        });
        let sections = sections.collect();
        Ok(Self { cells, sections })
    }

    /// Writes `index.html`, `results.md`, `results.json` and the figures.
    pub fn write(&self, out: &Path) -> Result<()> {
        write_text(out.join("index.html"), &page::html(self))?;
        write_text(out.join("results.json"), &self.json()?)?;
        let path = out.join("results.md");
        self.write_figures(&path)?;
        write_text(path, &self.markdown())
    }

    /// Writes the Markdown, and the figures in a folder `figures` beside it. What a file that is there has of
    /// experiments without a finished cell here stays as it is, so that one can be done anew without the others.
    pub fn write_markdown(&self, path: &Path) -> Result<()> {
        let before = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Error::io(path)(error)),
        };
        self.write_figures(path)?;
        write_text(path, &self.markdown_over(&before))
    }

    fn write_figures(&self, beside: &Path) -> Result<()> {
        let folder = beside.parent().unwrap_or(Path::new("")).join("figures");
        let mut figures = self.sections.iter().flat_map(|section| &section.figures);
        figures.try_for_each(|figure| write_text(folder.join(format!("{}.svg", figure.name)), &figure.svg))
    }

    /// All finished cells.
    pub fn json(&self) -> Result<String> {
        let text =
            serde_json::to_string_pretty(&self.cells).map_err(|error| Error::Input(error.to_string()))?;
        Ok(text + "\n")
    }

    /// The report as Markdown, figures by the names of their files.
    pub fn markdown(&self) -> String {
        self.markdown_over("")
    }

    /// The same, with the sections of `before` for experiments that have none here.
    fn markdown_over(&self, before: &str) -> String {
        let mut text = String::from(
            "# Results\n\nEvery table and figure here was made by the command above it, from the finished cells in its \
             folder; with `--only` and a cell's name, such as `--only cora/sce/structcomp`, it makes that cell alone. \
             Differences are ours less the paper's, in points of accuracy.\n",
        );
        for experiment in Experiment::ALL {
            match self.sections.iter().find(|section| section.experiment == experiment) {
                Some(section) => text += &section.markdown(),
                None => text += section_of(before, experiment).unwrap_or_default(),
            }
        }
        text
    }

    /// Some experiments for a terminal.
    pub fn text(&self, experiments: &[Experiment]) -> String {
        let mut text = String::new();
        for section in self.sections.iter().filter(|section| experiments.contains(&section.experiment)) {
            let _ = write!(text, "{}\n{}\n", section.experiment.title(), section.protocol);
            section.tables.iter().for_each(|table| match table.is_settings() {
                // A terminal has room for what is ours; the page has all.
                true => text += &table.first_and_last().text(),
                false => text += &table.text(),
            });
            section.notes.iter().for_each(|note| text += &format!("\n{note}\n"));
            text.push('\n');
        }
        text
    }
}

/// What a report says of an experiment, from its heading to the next.
fn section_of(report: &str, experiment: Experiment) -> Option<&str> {
    let start = report.find(&format!("\n## {}\n", experiment.title()))?;
    let section = &report[start..];
    let end = section[1..].find("\n## ").map_or(section.len(), |end| end + 1);
    Some(&section[..end])
}

impl Section {
    fn markdown(&self) -> String {
        let Self { experiment, commands, protocol, tables, figures, notes } = self;
        let commands = commands.join("`, `");
        let mut text = format!("\n## {}\n\n`{commands}`\n\n", experiment.title());
        let _ = writeln!(text, "{} {protocol}", experiment.about());
        notes.iter().for_each(|note| text += &format!("\n{note}\n"));
        for figure in figures {
            let _ = write!(text, "\n![{}](figures/{}.svg)\n", figure.about, figure.name);
        }
        tables.iter().for_each(|table| text += &table.markdown());
        text
    }
}

impl Table {
    /// Whether it is all text, as settings are.
    pub(super) fn is_settings(&self) -> bool {
        self.texts == self.head.len()
    }

    fn first_and_last(&self) -> Self {
        let ends = |row: &Vec<String>| row.first().into_iter().chain(row.last()).cloned().collect();
        Self {
            caption: "Settings that are ours; the page has all, and whose they are".into(),
            head: self.head.first().into_iter().chain(self.head.last()).copied().collect(),
            rows: self.rows.iter().map(ends).collect(),
            texts: 2,
        }
    }

    fn markdown(&self) -> String {
        let row = |cells: &mut dyn Iterator<Item = &str>| {
            let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = String::from("\n");
        if !self.caption.is_empty() {
            let _ = write!(text, "{}\n\n", self.caption);
        }
        text += &row(&mut self.head.iter().copied());
        text += &row(&mut (0..self.head.len()).map(|at| if at < self.texts { "---" } else { "---:" }));
        self.rows.iter().for_each(|cells| text += &row(&mut cells.iter().map(String::as_str)));
        text
    }

    fn text(&self) -> String {
        let length = |cell: &str| cell.chars().count();
        let wide = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| length(cell)).chain([length(self.head[at])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(wide).collect();
        let row = |cells: &mut dyn Iterator<Item = &str>| {
            let mut line = String::new();
            for ((at, cell), width) in cells.enumerate().zip(&widths) {
                let space = " ".repeat(width - length(cell).min(*width));
                let (before, after) = if at < self.texts { ("", &space[..]) } else { (&space[..], "") };
                let _ = write!(line, "  {before}{cell}{after}");
            }
            line.trim_end().to_owned() + "\n"
        };
        let mut text = String::from("\n");
        if !self.caption.is_empty() {
            let _ = writeln!(text, "{}", self.caption);
        }
        text += &row(&mut self.head.iter().copied());
        self.rows.iter().for_each(|cells| text += &row(&mut cells.iter().map(String::as_str)));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let rows = vec![vec!["a|b".into(), "1.00".into()], vec!["Â²X".into(), "-12.50".into()]];
        Table { caption: "Two rows".into(), head: vec!["what", "much"], rows, texts: 1 }
    }

    #[test]
    fn tables_are_set_for_terminals_and_for_markdown() {
        assert_eq!(table().text(), "\nTwo rows\n  what    much\n  a|b     1.00\n  Â²X   -12.50\n");
        assert_eq!(
            table().markdown(),
            "\nTwo rows\n\n| what | much |\n| --- | ---: |\n| a\\|b | 1.00 |\n| Â²X | -12.50 |\n"
        );
    }
}
