//! The ten splits of geom-gcn that lie beside a dataset: `NAME_split_0.6_0.2_K.npz`, three masks each.

use super::{bytes::Head, npz::Archive};
use crate::{Budget, Error, Result, Split, SplitSet};
use std::path::{Path, PathBuf};

/// The splits in the order of their numbers, and their files; `None` where there are none.
pub(crate) fn geom_gcn_splits(
    folder: &Path,
    nodes: usize,
    budget: &Budget,
) -> Result<Option<(SplitSet, Vec<PathBuf>)>> {
    let head = Head::of(folder)?;
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

/// The number in a split file's name.
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
