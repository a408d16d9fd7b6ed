//! Reruns the experiments of the StructComp paper next to the published numbers, and draws results.
//!
//! An experiment is a list of cells: a dataset, a model, and whether it is trained on clusters or on the whole graph.
//! Each finished cell is a file, so that interrupted runs resume. The report is made from these files alone.
//!
//! An experiment is one file in `experiment/` and one line in [`EXPERIMENTS`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod accuracy;
mod base64;
mod cell;
mod draft;
mod estimate;
mod experiment;
mod fit;
mod generated;
mod html;
mod measure;
mod model;
mod outcome;
mod page;
mod parts;
mod picture;
mod plan;
mod plot;
mod report;
mod run;
mod schedule;
mod settings;
mod source;
mod store;

pub use cell::{Cell, Mode, Published, PublishedCost, Repeats, Setting, Setup, Task};
pub use experiment::{EXPERIMENTS, Experiment};
pub use measure::measure;
pub use outcome::{Accuracies, Cost, Outcome, Regularizer, Spread, Theory, Trend};
pub use page::{ClassTable, PageMap, RunPage};
pub use picture::Picture;
pub use plan::{Plan, Reproduction};
pub use report::Report;
pub use run::{Event, Tally};
pub use store::Finished;

use std::path::Path;
use structcomp::Error;

/// For `map_err`: an I/O error with its path.
fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error::Io { path, cause }
}

/// A value as JSON.
fn json(value: &impl serde::Serialize) -> structcomp::Result<String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Error::Input(error.to_string()))
}

#[cfg(test)]
mod tests;
