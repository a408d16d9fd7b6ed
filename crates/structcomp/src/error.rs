//! The library's error type.

use std::path::{Path, PathBuf};

/// Everything that can go wrong, with the facts needed to fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file or folder concerned.
        path: PathBuf,
        /// The system's error. It is part of the message, so it is not also reported as a source.
        cause: std::io::Error,
    },
    /// A file does not follow its format.
    #[error("{}{}: {what}", path.display(), line.map(|n| format!(":{n}")).unwrap_or_default())]
    Format {
        /// The file, or the member inside an archive as `file/member`.
        path: PathBuf,
        /// Line in a text file, from 1.
        line: Option<u64>,
        /// What is wrong.
        what: String,
    },
    /// Invalid arguments, or data that does not fit together.
    #[error("{0}")]
    Input(String),
    /// An allocation would exceed the memory limit.
    #[error(
        "{what} needs {}, more than the memory limit of {}; free memory or raise the limit",
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
    /// The data needed repairs although strict reading was requested.
    #[error("the data needs repairs, which strict reading does not allow: {0}")]
    Strict(String),
    /// Files of a published dataset are not where they should be.
    #[error("{what}; put the files there, or set STRUCTCOMP_DATA to the folder that has them in {name}")]
    Absent {
        /// Name of the dataset.
        name: String,
        /// Where it is not, what is missing, and who publishes it.
        what: String,
        /// Whether it can be downloaded.
        can_be_fetched: bool,
    },
    /// A download failed after all retries.
    #[error("{url}: {what}")]
    Download {
        /// The address.
        url: String,
        /// What happened, and what to do.
        what: String,
    },
}

/// `Result` with this library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn format(path: impl AsRef<Path>, what: impl Into<String>) -> Self {
        let path = path.as_ref().to_owned();
        Self::Format { path, line: None, what: what.into() }
    }

    /// `line` counts from 1.
    pub(crate) fn at_line(path: impl AsRef<Path>, line: u64, what: impl Into<String>) -> Self {
        let path = path.as_ref().to_owned();
        Self::Format { path, line: Some(line), what: what.into() }
    }

    /// A setting that cannot have this value; `cause` is what came of deserialising it.
    pub fn invalid_setting(name: &str, value: &serde_json::Value, cause: &serde_json::Error) -> Self {
        let cause = cause.to_string();
        let expected = cause.split_once("expected ").map(|(_, expected)| expected);
        let expected = match expected {
            Some(names) if cause.starts_with("unknown variant") => names.replace('`', "'"),
            Some("usize" | "u64" | "u32" | "u16" | "u8") => "an integer of at least 0".into(),
            Some("f64" | "f32") => "a number".into(),
            Some("a boolean") => "true or false".into(),
            Some("a string" | "string or map") => "a name".into(),
            Some(other) if !cause.starts_with("unknown") => match other.strip_prefix("an array of length ") {
                Some(length) => format!("a list of {length} values"),
                None => other.into(),
            },
            _ => return Self::Input(format!("{name}: {cause}")),
        };
        Self::Input(format!("{name} must be {expected}, not {value}"))
    }

    /// For builds without Parquet.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn no_parquet(path: impl AsRef<Path>) -> Self {
        Self::format(
            path,
            "is a Parquet file; this build cannot read or write Parquet (enable the feature `parquet`)",
        )
    }

    /// For `map_err`: adds the path that the system's error lacks.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |cause| Self::Io { path, cause }
    }

    /// Adds the file or folder that was being read, if the error does not name one.
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

/// A byte count in binary units: `1.5 GiB`.
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
    fn settings_are_refused_in_words() {
        let said = |value: serde_json::Value, cause: serde_json::Error| {
            Error::invalid_setting("it", &value, &cause).to_string()
        };
        for value in [serde_json::json!(-3), serde_json::json!(2.5), serde_json::json!("wide")] {
            let cause = serde_json::from_value::<Option<usize>>(value.clone()).unwrap_err();
            assert_eq!(
                said(value.clone(), cause),
                format!("it must be an integer of at least 0, not {value}")
            );
        }
        let cause = serde_json::from_value::<crate::Mode>("half".into()).unwrap_err();
        assert_eq!(
            said("half".into(), cause),
            "it must be one of 'structcomp', 'full', 'cluster-gcn', 'graphsaint', 'graphzoom', not \"half\""
        );
        let cause = serde_json::from_value::<[f64; 2]>(serde_json::json!([1.0])).unwrap_err();
        assert!(said(serde_json::json!([1.0]), cause).starts_with("it must be a list of 2 values, not"));
    }

    #[test]
    fn bytes_read_well() {
        assert_eq!(human_bytes(512), "512 B");
        assert_eq!(human_bytes(1536), "1.5 KiB");
        assert_eq!(human_bytes(13_800_000_000), "12.9 GiB");
    }
}
