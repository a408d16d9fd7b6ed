//! `-`: standard input as a file, since formats are recognised by content and read in any order; and standard output.

use anyhow::{Context, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use structcomp::output::ScratchFolder;

/// The name for standard input and output.
pub(crate) const STANDARD: &str = "-";

/// A file with what standard input holds; any other path is returned as it is.
pub(crate) fn file_of(path: &Path) -> Result<PathBuf> {
    if path != Path::new(STANDARD) {
        return Ok(path.to_owned());
    }
    // It lives until the program ends, as data stay mapped; `main` deletes it then.
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(file.clone());
    }
    let scratch = ScratchFolder::create()?;
    let file = scratch.path().join("stdin");
    let mut copy = File::create(&file).with_context(|| file.display().to_string())?;
    io::copy(&mut io::stdin().lock(), &mut copy).context("cannot read standard input")?;
    std::mem::forget(scratch);
    Ok(FILE.get_or_init(|| file).clone())
}

/// Lets something write a file with this extension, and copies it to standard output.
pub(crate) fn to_standard_output(extension: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let scratch = ScratchFolder::create()?;
    let file = scratch.path().join("stdout").with_extension(extension);
    write(&file)?;
    let mut written = File::open(&file).with_context(|| file.display().to_string())?;
    io::copy(&mut written, &mut io::stdout().lock())?;
    Ok(())
}
