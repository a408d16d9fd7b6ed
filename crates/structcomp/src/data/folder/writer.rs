//! Atomic writes of folders: a folder appears complete or not at all.

use super::{FILES, MANIFEST, Manifest};
use crate::atomic::{Staging, recover, write_text};
use crate::{Error, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A dataset folder written under a temporary name next to the target and renamed at the end.
pub(crate) struct FolderWriter {
    staging: Staging,
    target: PathBuf,
}

impl FolderWriter {
    /// Starts writing `target`, which must not exist, be empty, or be a dataset folder without other files,
    /// which is replaced.
    pub(crate) fn create(target: &Path) -> Result<Self> {
        // A link to a folder stays one.
        let target = match target.is_symlink() {
            true => target.canonicalize().map_err(Error::io(target))?,
            false => target.to_owned(),
        };
        recover(&target)?;
        check_target(&target)?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Ok(Self { staging: Staging::create_in(parent)?, target })
    }

    /// Temporary path of a file of the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.staging.path().join(name)
    }

    /// Writes `dataset.json` and renames the folder.
    pub(crate) fn finish(self, manifest: &Manifest) -> Result<()> {
        let text = serde_json::to_string_pretty(manifest).map_err(|error| Error::Input(error.to_string()))?;
        write_text(self.file(MANIFEST), &(text + "\n"))?;
        check_target(&self.target)?;
        self.staging.replace(&self.target)
    }
}

fn check_target(target: &Path) -> Result<()> {
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return Err(Error::format(target, "is a file; choose a folder to write"));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(target).map_err(Error::io(target))? {
        names.push(entry.map_err(Error::io(target))?.file_name().to_string_lossy().into_owned());
    }
    let foreign = names.iter().find(|name| !FILES.contains(&name.as_str()));
    match foreign {
        None if names.is_empty() => Ok(()),
        None => Manifest::read(target).map(|_| ()).map_err(|error| {
            Error::format(
                target,
                format!("is not empty and not a dataset folder ({error}); choose another folder"),
            )
        }),
        Some(name) => {
            let what =
                format!("contains '{name}', which is not part of a dataset folder; choose another folder");
            Err(Error::format(target, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Repairs;
    use crate::{Dataset, Graph, NodeIds, data::Source};

    fn dataset(edges: &[(u32, u32)]) -> Dataset {
        Dataset {
            name: "tiny".into(),
            graph: Graph::from_edges(3, edges).unwrap(),
            features: None,
            labels: None,
            splits: Vec::new(),
            ids: NodeIds::Implicit,
            repairs: Repairs::default(),
            source: Source::default(),
        }
    }

    #[test]
    fn a_dataset_folder_is_replaced_and_any_other_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("deep/data");
        dataset(&[(0, 1)]).save(&target).unwrap();
        dataset(&[(0, 1), (1, 2)]).save(&target).unwrap();
        assert_eq!(Graph::open(target.join("graph.scg")).unwrap().edges(), 2);
        fs::write(target.join("thesis.txt"), "ten years of work").unwrap();
        let error = dataset(&[]).save(&target).unwrap_err().to_string();
        assert!(error.contains("thesis.txt"), "{error}");
        assert_eq!(fs::read_to_string(target.join("thesis.txt")).unwrap(), "ten years of work");

        let strange = folder.path().join("strange");
        fs::create_dir(&strange).unwrap();
        dataset(&[]).save(&strange).unwrap();
        fs::write(strange.join("dataset.json"), "{\"format\": \"another tool's\"}").unwrap();
        assert!(dataset(&[]).save(&strange).is_err());
        assert!(dataset(&[]).save(strange.join("dataset.json")).is_err());
    }

    #[test]
    fn an_abandoned_folder_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let writer = FolderWriter::create(&folder.path().join("data")).unwrap();
        fs::write(writer.file("graph.scg"), "half").unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
