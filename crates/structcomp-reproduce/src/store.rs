//! Finished cells, each a file of its own that is written atomically.

use crate::{Cell, EXPERIMENTS, Outcome, Repeats, io, json};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::fs;
use std::io::{Error as IoError, ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};
use structcomp::output::write_text;
use structcomp::{Result, Seed};

/// The version of this crate, which is part of a cell's key.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A cell and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The cell.
    pub cell: Cell,
    /// The fingerprint of everything the outcome depends on.
    pub key: String,
    /// The fingerprint of the data.
    pub data_sha256: String,
    /// How often it was trained and evaluated.
    pub repeats: Repeats,
    /// The outcome.
    pub outcome: Outcome,
    /// How long it took, in core seconds.
    pub core_seconds: f64,
    /// How long it was estimated to take.
    pub estimated_seconds: f64,
    /// The version that computed it.
    pub version: String,
}

/// The folder of the cells.
pub(crate) fn folder(out: &Path) -> PathBuf {
    out.join("cells")
}

impl Finished {
    /// Writes the file of the cell.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        write_text(folder(out).join(self.cell.file()), &json(self)?)
    }

    /// Whether the cell is still defined like this. Sources of settings and published numbers may have changed.
    pub(crate) fn is_of(&self, cell: &Cell) -> bool {
        self.outcome.answers(&cell.task)
            && cell.key(&self.version, &self.repeats, &self.data_sha256).is_ok_and(|key| key == self.key)
    }

    /// Whether the cell need not be run for these repeats and data.
    pub(crate) fn serves(&self, cell: &Cell, repeats: &Repeats, data_sha256: &str) -> bool {
        let Repeats { seeds, runs, seed } = self.repeats;
        let enough = seeds >= repeats.seeds && runs >= repeats.runs && seed == repeats.seed;
        let as_now = self.version == VERSION && self.data_sha256 == data_sha256;
        enough && as_now && self.is_of(cell)
    }

    /// Whether running it with these repeats would lose something.
    pub(crate) fn has_more_than(&self, repeats: &Repeats) -> bool {
        let Repeats { seeds, runs, seed } = self.repeats;
        seeds > repeats.seeds || runs > repeats.runs || seed != repeats.seed
    }

    /// All finished cells below a folder, sorted; `unread` gets a line for each invalid file.
    pub(crate) fn read_all(out: &Path, unread: &mut Vec<String>) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        let folder = folder(out);
        if !folder.exists() {
            return Ok(all);
        }
        for experiment in fs::read_dir(&folder).map_err(io(&folder))? {
            let experiment = experiment.map_err(io(&folder))?.path();
            let Ok(files) = fs::read_dir(&experiment) else { continue };
            let files = files.filter_map(|file| file.ok().map(|file| file.path()));
            for file in files.filter(|file| file.extension().is_some_and(|end| end == "json")) {
                let text = read_file(&file).map_err(|error| error.to_string());
                let finished = text.and_then(|text| {
                    serde_json::from_slice::<Self>(&text).map_err(|error| error.to_string())
                });
                match finished {
                    Ok(finished) => all.push(finished),
                    Err(error) => unread.push(format!(
                        "{} is not a valid cell file ({error}); its cell counts as not run",
                        file.display()
                    )),
                }
            }
        }
        unread.sort();
        let order = |name: &str| EXPERIMENTS.iter().position(|experiment| experiment.name == name);
        all.sort_by_key(|finished| (order(&finished.cell.experiment), finished.cell.name()));
        Ok(all)
    }
}

/// The contents of a file. Others, such as a pipe that nobody writes to, are an error at once.
fn read_file(path: &Path) -> IoResult<Vec<u8>> {
    match fs::metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(IoError::new(ErrorKind::InvalidInput, "not a file")),
    }
}

/// The finished seeds of an unfinished cell, each a file.
pub(crate) struct SeedFiles {
    folder: PathBuf,
}

impl SeedFiles {
    pub(crate) fn of(out: &Path, key: &str) -> Self {
        Self { folder: out.join("unfinished").join(key) }
    }

    fn file(&self, seed: Seed) -> PathBuf {
        self.folder.join(format!("{}.json", seed.0))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, seed: Seed) -> Option<T> {
        serde_json::from_slice(&read_file(&self.file(seed)).ok()?).ok()
    }

    pub(crate) fn write(&self, seed: Seed, part: &impl Serialize) -> Result<()> {
        write_text(self.file(seed), &json(part)?)
    }

    /// Removes the files.
    pub(crate) fn clear(&self) -> Result<()> {
        match self.folder.exists() {
            true => fs::remove_dir_all(&self.folder).map_err(io(&self.folder)),
            false => Ok(()),
        }
    }
}
