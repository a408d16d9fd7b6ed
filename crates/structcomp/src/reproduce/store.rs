//! Finished cells, each a file of its own that appears whole or not at all.

use super::{Cell, Outcome, Repeats};
use crate::{Error, Result, Seed, write_text};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A cell with what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// What was done.
    pub cell: Cell,
    /// The fingerprint of all that the outcome depends on.
    pub key: String,
    /// The fingerprint of the data.
    pub data_sha256: String,
    /// How often it was trained and judged.
    pub repeats: Repeats,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took, in seconds of one core.
    pub core_seconds: f64,
    /// How long it was expected to take, by counting.
    pub counted_seconds: f64,
    /// The version that did it.
    pub version: String,
}

/// The folder of the cells.
pub(super) fn folder(out: &Path) -> PathBuf {
    out.join("cells")
}

impl Finished {
    /// Writes the file of the cell.
    pub(super) fn write(&self, out: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Input(error.to_string()))?;
        write_text(folder(out).join(self.cell.file()), &(text + "\n"))
    }

    /// The finished cell of this name, whatever its settings; none where there is no such file or where it
    /// is of another form.
    pub(super) fn read(out: &Path, cell: &Cell) -> Option<Self> {
        serde_json::from_slice(&read_file(&folder(out).join(cell.file())).ok()?).ok()
    }

    /// Whether this is the cell as it is defined now, done by whichever version; whose its settings are, and
    /// what the paper prints, may have changed.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        self.outcome.answers(&cell.task)
            && cell.key_of(&self.version, &self.repeats, &self.data_sha256).is_ok_and(|key| key == self.key)
    }

    /// Whether nothing is left to do where these repeats are asked for, of a cell on data of this fingerprint.
    pub(super) fn serves(&self, cell: &Cell, repeats: &Repeats, data_sha256: &str) -> bool {
        let Repeats { seeds, runs, seed } = self.repeats;
        let enough = seeds >= repeats.seeds && runs >= repeats.runs && seed == repeats.seed;
        let as_now = self.version == env!("CARGO_PKG_VERSION") && self.data_sha256 == data_sha256;
        enough && as_now && self.is_of(cell)
    }

    /// Whether there is something in it that doing it with these repeats would not give.
    pub(super) fn has_more_than(&self, repeats: &Repeats) -> bool {
        let Repeats { seeds, runs, seed } = self.repeats;
        seeds > repeats.seeds || runs > repeats.runs || seed != repeats.seed
    }

    /// All finished cells below a folder, by name; `unread` gets a line for each file that holds none.
    pub(super) fn read_all(out: &Path, unread: &mut Vec<String>) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        let folder = folder(out);
        if !folder.exists() {
            return Ok(all);
        }
        for experiment in fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let experiment = experiment.map_err(Error::io(&folder))?.path();
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
                        "{} is damaged or of another version ({error}): its cell counts as not run",
                        file.display()
                    )),
                }
            }
        }
        unread.sort();
        all.sort_by_key(|finished| (finished.cell.experiment, finished.cell.name()));
        Ok(all)
    }
}

/// What is in a file; what is none, such as a pipe that nobody writes to, is an error at once.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
    }
}

/// The seeds of a cell under way that are done, each a file until the cell is finished.
pub(super) struct Parts {
    folder: PathBuf,
}

impl Parts {
    /// Those of a cell with this fingerprint.
    pub(super) fn of(out: &Path, key: &str) -> Self {
        Self { folder: out.join("under-way").join(key) }
    }

    fn file(&self, seed: Seed) -> PathBuf {
        self.folder.join(format!("{}.json", seed.0))
    }

    pub(super) fn read<T: DeserializeOwned>(&self, seed: Seed) -> Option<T> {
        serde_json::from_slice(&read_file(&self.file(seed)).ok()?).ok()
    }

    pub(super) fn write(&self, seed: Seed, part: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(part).map_err(|error| Error::Input(error.to_string()))?;
        write_text(self.file(seed), &text)
    }

    /// Takes the files away once the cell's own is written.
    pub(super) fn clear(&self) -> Result<()> {
        match self.folder.exists() {
            true => fs::remove_dir_all(&self.folder).map_err(Error::io(&self.folder)),
            false => Ok(()),
        }
    }
}
