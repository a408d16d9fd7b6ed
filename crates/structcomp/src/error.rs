//! The one error type of the library.

use std::path::{Path, PathBuf};

/// Everything that can go wrong, with the facts a person needs to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file or folder concerned.
        path: PathBuf,
        /// What the system said; part of the message, so that a chain of causes does not say it again.
        cause: std::io::Error,
    },
    /// A file does not hold what its format promises.
    #[error("{}{}: {what}", path.display(), line.map(|n| format!(":{n}")).unwrap_or_default())]
    Format {
        /// The file, or the member inside an archive as `file/member`.
        path: PathBuf,
        /// Line in a text file, from 1.
        line: Option<u64>,
        /// What is wrong with it.
        what: String,
    },
    /// Arguments or data that do not fit together.
    #[error("{0}")]
    Input(String),
    /// Something would not fit into the memory the caller allows.
    #[error(
        "{what} needs {}, more than the {} allowed; free memory or raise the limit (--memory)",
        human_bytes(*need),
        human_bytes(*budget)
    )]
    Memory {
        /// What was about to be allocated.
        what: String,
        /// Bytes it needs.
        need: u64,
        /// Bytes allowed.
        budget: u64,
    },
    /// Data needed repairs although strict reading was asked for.
    #[error("the data is not clean and --strict was given: {0}")]
    Strict(String),
    /// A download failed for good.
    #[error("{url}: {what}")]
    Download {
        /// The address.
        url: String,
        /// What happened, and what to do about it.
        what: String,
    },
}

/// `Result` with this library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A fault in a file's contents.
    pub(crate) fn format(path: impl AsRef<Path>, what: impl Into<String>) -> Self {
        let path = path.as_ref().to_owned();
        Self::Format { path, line: None, what: what.into() }
    }

    /// A fault at a line of a text file, counted from 1.
    pub(crate) fn at_line(path: impl AsRef<Path>, line: u64, what: impl Into<String>) -> Self {
        let path = path.as_ref().to_owned();
        Self::Format { path, line: Some(line), what: what.into() }
    }

    /// A Parquet file met by a build that cannot read or write it.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn no_parquet(path: impl AsRef<Path>) -> Self {
        Self::format(path, "is Parquet, which this build leaves out; build with the feature `parquet`")
    }

    /// For `map_err`: the system's error with the path it lacks.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |cause| Self::Io { path, cause }
    }

    /// The same error with the file or folder that was being read, where it does not name one.
    pub(crate) fn within(self, path: &Path) -> Self {
        match self {
            Self::Input(what) => Self::format(path, what),
            Self::Memory { what, need, budget } if !what.contains(&*path.to_string_lossy()) => {
                Self::Memory { what: format!("{}: {what}", path.display()), need, budget }
            }
            other => other,
        }
    }
}

/// A byte count as people write it: `1.5 GiB`.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_and_the_line() {
        let error = Error::at_line("edges.txt", 7, "expected two node ids");
        assert_eq!(error.to_string(), "edges.txt:7: expected two node ids");
        assert_eq!(Error::format("x.npy", "cut short").to_string(), "x.npy: cut short");
    }

    #[test]
    fn bytes_read_well() {
        assert_eq!(human_bytes(512), "512 B");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(13_800_000_000), "12.9 GiB");
    }
}
