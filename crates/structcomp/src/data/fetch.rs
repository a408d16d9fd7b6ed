//! Downloads named datasets. Files are verified before they get their final names.

#[cfg(feature = "download")]
mod http;
#[cfg(feature = "download")]
mod unpack;

use super::named::{NamedDataset, Progress};
use crate::Result;
use std::{path::Path, time::Duration};

/// Options for downloads.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// Replaces scheme and host of every URL, for a mirror with the same paths.
    pub base_url: Option<String>,
    /// Timeout for connecting, and again for the response headers.
    pub connect_timeout: Duration,
    /// How long a transfer may make no progress before it counts as interrupted.
    pub stall_timeout: Duration,
    /// Bytes per second, over each stall timeout, below which a transfer counts as interrupted and as one without
    /// progress.
    pub least_rate: u64,
    /// The largest download of a file whose size is not known before.
    pub most_bytes: u64,
    /// Number of retries without progress in between.
    pub retries: u32,
    /// Pause before the first retry; it doubles each time.
    pub pause: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            base_url: None,
            connect_timeout: Duration::from_secs(20),
            stall_timeout: Duration::from_secs(60),
            least_rate: 1 << 10,
            most_bytes: 64 << 30,
            retries: 4,
            pause: Duration::from_secs(1),
        }
    }
}

/// The result of a download.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The downloaded files, in order.
    pub files: Vec<FetchedFile>,
    /// Optional files that could not be downloaded, and files without a known checksum.
    pub warnings: Vec<String>,
}

/// A downloaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    /// Name in the dataset's folder.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Downloads the missing files of a dataset into its folder below `data_dir`.
///
/// Interrupted downloads resume, also in a later run. A file gets its final name only after its size
/// and checksum have been verified.
#[cfg(feature = "download")]
pub fn fetch(
    dataset: &NamedDataset,
    data_dir: impl AsRef<Path>,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched> {
    let folder = dataset.folder(data_dir);
    let mut job = online::Job { dataset, folder, options, progress, fetched: Fetched::default() };
    job.run()?;
    Ok(job.fetched)
}

/// Fails, as this build cannot download.
#[cfg(not(feature = "download"))]
pub fn fetch(
    dataset: &NamedDataset,
    data_dir: impl AsRef<Path>,
    _options: &FetchOptions,
    _progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched> {
    let missing = dataset.missing(&data_dir);
    if missing.is_empty() {
        return Ok(Fetched::default());
    }
    Err(crate::Error::Input(format!(
        "this build cannot download (enable the feature 'download'); put these files into {}: {}",
        dataset.folder(data_dir).display(),
        super::named::listed(&missing)
    )))
}

#[cfg(feature = "download")]
mod online {
    use super::{FetchOptions, Fetched, FetchedFile, http, unpack};
    use crate::{
        Error, Result,
        data::named::{File, FileState, NamedDataset, Progress, listed, state_of},
    };
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    pub(super) struct Job<'a> {
        pub(super) dataset: &'a NamedDataset,
        pub(super) folder: PathBuf,
        pub(super) options: &'a FetchOptions,
        pub(super) progress: &'a mut dyn FnMut(Progress<'_>),
        pub(super) fetched: Fetched,
    }

    impl Job<'_> {
        pub(super) fn run(&mut self) -> Result<()> {
            let dataset = self.dataset;
            for file in dataset.files.iter().filter(|file| !file.optional) {
                if self.is_wanted(file)? && file.url.is_some() {
                    self.download(file)?;
                }
            }
            if let Some(archive) = &dataset.archive
                && !self.missing().is_empty()
            {
                self.take_from(archive)?;
            }
            if !self.missing().is_empty() {
                return Err(self.unobtainable());
            }
            for file in dataset.files.iter().filter(|file| file.optional && file.url.is_some()) {
                if let Err(error) = self.is_wanted(file).and_then(|wanted| match wanted {
                    true => self.download(file),
                    false => Ok(()),
                }) {
                    self.fetched.warnings.push(format!("optional file {}: {error}", file.name));
                }
            }
            Ok(())
        }

        /// Whether the file is missing. A file with other contents may be the user's, so it is an error.
        fn is_wanted(&mut self, file: &File) -> Result<bool> {
            let path = file.path_in(&self.folder);
            if file.sha256.is_none() && file.bytes.is_none() {
                return Ok(!path.is_file());
            }
            match state_of(file, &path, self.progress)? {
                FileState::Missing => Ok(true),
                FileState::Ok | FileState::NotOnRecord { .. } => Ok(false),
                differs => {
                    let what =
                        format!("is not the published file: {differs}; delete it to download it again");
                    Err(Error::format(path, what))
                }
            }
        }

        fn download(&mut self, file: &File) -> Result<()> {
            let target = file.path_in(&self.folder);
            let parent = target.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(parent).map_err(Error::io(parent))?;
            let (bytes, sha256) = http::download(file, &target, self.options, self.progress)
                .map_err(|error| self.with_advice(file, error))?;
            if file.sha256.is_none() {
                let found = FileState::NotOnRecord { found: sha256.clone() };
                self.fetched.warnings.push(format!("{}: {found}", file.name));
            }
            self.fetched.files.push(FetchedFile { name: file.name.clone(), bytes, sha256 });
            Ok(())
        }

        /// An archive that is already in the folder is not downloaded again. One that was downloaded and is refused is
        /// deleted, so that it is not in the way of the next attempt.
        fn take_from(&mut self, archive: &File) -> Result<()> {
            let is_ours = self.is_wanted(archive)?;
            if is_ours {
                self.download(archive)?;
            }
            let path = archive.path_in(&self.folder);
            let needed: Vec<&File> = self.dataset.files.iter().filter(|file| !file.optional).collect();
            let unpacked = unpack::unpack(&path, &self.folder, &needed, self.progress);
            if unpacked.is_ok() || (is_ours && matches!(unpacked, Err(Error::Format { .. }))) {
                fs::remove_file(&path).map_err(Error::io(&path))?;
            }
            unpacked
        }

        fn missing(&self) -> Vec<&File> {
            let needed = self.dataset.files.iter().filter(|file| !file.optional);
            needed.filter(|file| !file.path_in(&self.folder).is_file()).collect()
        }

        /// Adds what the user can do to the error of a failed download.
        fn with_advice(&self, file: &File, error: Error) -> Error {
            let Error::Download { url, what } = error else { return error };
            let mut wanted = self.missing();
            if wanted.is_empty() || self.dataset.archive.is_some() {
                wanted = vec![file];
            }
            let place = self.folder.display();
            let what =
                format!("{what}; try again later, or put these files into {place}: {}", listed(&wanted));
            Error::Download { url, what }
        }

        fn unobtainable(&self) -> Error {
            let NamedDataset { name, publisher, note, .. } = self.dataset;
            let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
            Error::Input(format!(
                "{name} cannot be downloaded{note}; put these files by {publisher} into {}: {}",
                self.folder.display(),
                listed(&self.missing())
            ))
        }
    }
}

#[cfg(all(test, not(feature = "download")))]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_cannot_download_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let photo = crate::data::named::find("photo").unwrap();
        let error = fetch(photo, folder.path(), &FetchOptions::default(), &mut |_| {}).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("feature 'download'") && said.contains("amazon_electronics_photo.npz"),
            "{said}"
        );
    }
}
