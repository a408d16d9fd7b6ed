//! Folders that appear whole or not at all.

use super::{FILES, MANIFEST, Manifest};
use crate::{Error, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A dataset folder written under a temporary name beside its place and renamed at the end.
pub(crate) struct FolderWriter {
    folder: TempDir,
    target: PathBuf,
}

impl FolderWriter {
    /// Starts the folder that is to become `target`: a new or an empty one, or a dataset folder
    /// that holds nothing else, which is replaced.
    pub(crate) fn create(target: &Path) -> Result<Self> {
        check_target(target)?;
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(Error::io(parent))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".structcomp-").suffix(".part");
        // Like any folder a program makes, not private like a temporary one; the umask holds.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let folder = builder.tempdir_in(parent).map_err(Error::io(target))?;
        Ok(Self { folder, target: target.to_owned() })
    }

    /// Where a file of the folder is to be written now.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes `dataset.json` and puts the folder into its place.
    pub(crate) fn finish(self, manifest: &Manifest) -> Result<()> {
        let path = self.file(MANIFEST);
        let text = serde_json::to_string_pretty(manifest).map_err(|error| Error::Input(error.to_string()))?;
        fs::write(&path, text + "\n").map_err(Error::io(&path))?;
        check_target(&self.target)?;
        let replaced = self.target.exists().then(|| self.folder.path().with_extension("old"));
        if let Some(replaced) = &replaced {
            fs::rename(&self.target, replaced).map_err(Error::io(&self.target))?;
        }
        if let Err(error) = fs::rename(self.folder.path(), &self.target) {
            if let Some(replaced) = &replaced {
                fs::rename(replaced, &self.target).map_err(Error::io(&self.target))?;
            }
            return Err(Error::io(&self.target)(error));
        }
        // It has moved, so there is nothing left to delete.
        let _ = self.folder.keep();
        replaced.map_or(Ok(()), |replaced| fs::remove_dir_all(&replaced).map_err(Error::io(&replaced)))
    }
}

fn check_target(target: &Path) -> Result<()> {
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return Err(Error::format(target, "is a file; name a folder to write"));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(target).map_err(Error::io(target))? {
        names.push(entry.map_err(Error::io(target))?.file_name().to_string_lossy().into_owned());
    }
    let foreign = names.iter().find(|name| !FILES.contains(&name.as_str()));
    match foreign {
        None if names.is_empty() => Ok(()),
        None => Manifest::read(target).map(|_| ()).map_err(|error| {
            Error::format(target, format!("is not empty and not a dataset folder ({error}); name another"))
        }),
        Some(name) => {
            let what = format!("holds '{name}', which is no part of a dataset folder; name another folder");
            Err(Error::format(target, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, Graph, NodeIds, Repairs, data::Source};

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
    fn a_folder_given_up_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let writer = FolderWriter::create(&folder.path().join("data")).unwrap();
        fs::write(writer.file("graph.scg"), "half").unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
