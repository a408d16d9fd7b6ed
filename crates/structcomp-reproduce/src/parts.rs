//! What a report is made of: tables, figures and notes.

pub(crate) mod accuracy;
pub(crate) mod table;

use crate::Finished;
use crate::generated::Generated;
use table::Table;

/// What an experiment shows of its finished cells.
pub(crate) struct Parts {
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    /// What the numbers say.
    pub(crate) notes: Vec<String>,
}

/// A picture, with the name of its file without the extension.
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) svg: String,
}

impl Figure {
    pub(crate) fn new(name: &str, about: &str, svg: Option<String>) -> Option<Self> {
        Some(Self { name: name.into(), about: about.into(), svg: svg? })
    }
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
    if let Some(generated) = Generated::named(dataset) {
        return generated.title.to_owned();
    }
    let short = dataset.strip_prefix("amazon-").unwrap_or(dataset);
    let mut letters = short.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
