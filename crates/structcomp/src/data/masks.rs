//! The ten geom-gcn splits stored next to a dataset: `NAME_split_0.6_0.2_K.npz`, three masks each.

use super::{bytes::FileHead, npz::Archive};
use crate::{Budget, Error, Result, Split, SplitSet};
use std::path::{Path, PathBuf};

/// The splits in numerical order, and their files; `None` if there are none.
pub(crate) fn geom_gcn_splits(
    folder: &Path,
    nodes: usize,
    budget: &Budget,
) -> Result<Option<(SplitSet, Vec<PathBuf>)>> {
    let head = FileHead::of(folder)?;
    let mut found: Vec<(u32, &str)> = head.names.iter().filter_map(|name| numbered(name)).collect();
    found.sort_unstable();
    if let Some(pair) = found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let what = format!("{} and {} are both split {}; keep one", pair[0].1, pair[1].1, pair[0].0);
        return Err(Error::format(folder, what));
    }
    if found.is_empty() {
        return Ok(None);
    }
    let files: Vec<PathBuf> = found.iter().map(|(_, name)| folder.join(name)).collect();
    let splits: Result<Vec<Split>> = files.iter().map(|file| read_split(file, nodes, budget)).collect();
    Ok(Some((SplitSet::named("geom-gcn", splits?), files)))
}

/// The number in the name of a split file.
fn numbered(name: &str) -> Option<(u32, &str)> {
    let (_, number) = name.strip_suffix(".npz")?.split_once("_split_0.6_0.2_")?;
    number.parse().ok().map(|number| (number, name))
}

fn read_split(path: &Path, nodes: usize, budget: &Budget) -> Result<Split> {
    let archive = Archive::open(path, budget)?;
    let mask = |name: &str| -> Result<Vec<bool>> {
        let mask = archive.array(name)?.to_bool(budget)?;
        match mask.len() == nodes {
            true => Ok(mask),
            false => {
                let what = format!("{name} has {} entries, but there are {nodes} nodes", mask.len());
                Err(Error::format(path, what))
            }
        }
    };
    let split = Split::from_masks(&mask("train_mask")?, &mask("val_mask")?, &mask("test_mask")?);
    split.map_err(|error| Error::format(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn write(path: &Path, masks: [&[u8]; 3]) {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
        for (name, mask) in ["train", "val", "test"].into_iter().zip(masks) {
            let header =
                format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}\n", mask.len());
            zip.start_file(format!("{name}_mask.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
            zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
            zip.write_all(header.as_bytes()).unwrap();
            zip.write_all(mask).unwrap();
        }
        zip.finish().unwrap();
    }

    fn read(folder: &Path) -> Result<Option<(SplitSet, Vec<PathBuf>)>> {
        geom_gcn_splits(folder, 3, &Budget::default())
    }

    #[test]
    fn splits_come_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap().is_none());
        write(&folder.path().join("a_split_0.6_0.2_10.npz"), [&[1, 0, 0], &[0, 1, 0], &[0, 0, 1]]);
        write(&folder.path().join("a_split_0.6_0.2_9.npz"), [&[0, 1, 0], &[0, 0, 0], &[1, 0, 1]]);
        std::fs::write(folder.path().join("a_split_0.6_0.2_x.npz"), "").unwrap();
        let (set, files) = read(folder.path()).unwrap().unwrap();
        let ninth = Split { train: vec![1], validation: vec![], test: vec![0, 2] };
        let tenth = Split { train: vec![0], validation: vec![1], test: vec![2] };
        assert_eq!(set, SplitSet::named("geom-gcn", vec![ninth, tenth]));
        assert_eq!(files.len(), 2);
        std::fs::create_dir(folder.path().join("b_split_0.6_0.2_9.npz")).unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("a_split_0.6_0.2_9.npz and b_split_0.6_0.2_9.npz are both split 9"),
            "{error}"
        );
    }

    #[test]
    fn masks_that_overlap_or_are_too_short_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a_split_0.6_0.2_0.npz");
        write(&path, [&[1, 0, 0], &[1, 1, 0], &[0, 0, 1]]);
        assert!(read(folder.path()).unwrap_err().to_string().contains("node 0 appears twice"));
        write(&path, [&[1, 0, 0], &[0, 1], &[0, 0, 1]]);
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("val_mask has 2 entries, but there are 3 nodes"), "{error}");
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(folder.path()).is_err(), "cut to {length}");
        }
    }
}
