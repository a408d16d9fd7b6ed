//! Finished cells, each a file of its own that is written atomically.

use crate::{Cell, Outcome, Repeats, io, json};
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
        for experiment in entries(&folder(out))? {
            for file in entries(&experiment)? {
                if file.extension().is_none_or(|end| end != "json") {
                    continue;
                }
                let finished = match read_file(&file) {
                    Ok(text) => serde_json::from_slice::<Self>(&text).map_err(|error| error.to_string()),
                    Err(error) if is_no_file(&error) => Err(error.to_string()),
                    // A cell that the disk cannot read has been run.
                    Err(error) => return Err(io(&file)(error)),
                };
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
        all.sort_by_cached_key(|finished| finished.cell.full_name());
        Ok(all)
    }
}

/// What is in a folder; nothing if there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = |folder| fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    match read(folder) {
        Err(error) if is_no_file(&error) => Ok(Vec::new()),
        read => read.map_err(io(folder)),
    }
}

/// Whether there is nothing of the kind that was to be read.
fn is_no_file(error: &IoError) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput)
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
