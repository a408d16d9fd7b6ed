//! The datasets of the paper by name: where they come from, which files they have, and the counts
//! that reading them must give.
//!
//! The facts are in `named/catalog.json`, which is part of the program.

mod verify;

pub use verify::{FileState, Progress, Stage, Verified};
#[cfg(feature = "download")]
pub(crate) use verify::{hash_file, state_of};

use crate::{Dataset, Error, Result};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// A dataset that people know by name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDataset {
    /// Its name, which is also the name of its folder.
    pub name: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Who publishes it.
    pub publisher: String,
    /// The licence of the data, as far as it is known.
    pub licence: String,
    /// What else to know before fetching it.
    #[serde(default)]
    pub note: Option<String>,
    /// The archive that holds the files, where they are not published one by one.
    #[serde(default)]
    pub archive: Option<File>,
    /// The files as they lie in the folder.
    pub files: Vec<File>,
    /// What reading it must give.
    pub expected: Expected,
}

/// A published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its path inside the dataset's folder, with `/` between the parts.
    pub name: String,
    /// Its address; none for the members of an archive and for what cannot be fetched.
    #[serde(default)]
    pub url: Option<String>,
    /// Its size, where it is on record.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Its SHA-256 in hexadecimal, where it is on record.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Whether the dataset can be read without it.
    #[serde(default)]
    pub optional: bool,
}

/// The counts that reading a dataset must give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Nodes.
    pub nodes: usize,
    /// Distinct undirected edges without self loops, where known.
    pub edges: Option<usize>,
    /// Features of a node.
    pub features: usize,
    /// Classes.
    pub classes: usize,
    /// Nodes without a class, where known.
    #[serde(default)]
    pub unlabelled: Option<usize>,
    /// What has to be mended while reading, where known.
    #[serde(default)]
    pub repairs: Option<ExpectedRepairs>,
    /// Whether the counts were measured on the files; otherwise they are what is commonly quoted.
    pub measured: bool,
}

/// The part of [`Repairs`](crate::Repairs) that is on record.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedRepairs {
    /// Distinct nodes that are joined to themselves.
    pub self_loops: u64,
    /// Listed edges that repeat an earlier one.
    pub duplicates: u64,
    /// Nodes without any edge.
    pub isolated: u64,
}

static CATALOG: LazyLock<Vec<NamedDataset>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("named/catalog.json")).expect("the built-in catalog is well formed")
});

/// All named datasets, in the order of the paper.
pub fn all() -> &'static [NamedDataset] {
    &CATALOG
}

/// The dataset of this name or alias, in any case.
pub fn find(name: &str) -> Option<&'static NamedDataset> {
    all().iter().find(|dataset| dataset.names().any(|known| known.eq_ignore_ascii_case(name)))
}

/// Where datasets are kept unless somebody says otherwise: `$STRUCTCOMP_DATA`, or the user's data folder.
pub fn default_folder() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("STRUCTCOMP_DATA") {
        return Ok(folder);
    }
    let home = variable("XDG_DATA_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")));
    home.map(|folder| folder.join("structcomp"))
        .ok_or_else(|| Error::Input("no home folder is known; say where datasets are with --data-dir".into()))
}

/// Like [`find`], with an error that suggests what could have been meant.
pub fn lookup(name: &str) -> Result<&'static NamedDataset> {
    find(name).ok_or_else(|| unknown(name))
}

pub(crate) fn unknown(name: &str) -> Error {
    let known: Vec<&str> = all().iter().map(|dataset| dataset.name.as_str()).collect();
    let advice = match nearest(name) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("known are {}", known.join(", ")),
    };
    Error::Input(format!("there is no dataset '{name}'; {advice}"))
}

impl NamedDataset {
    /// Bytes to download, where they are on record for every file.
    pub fn bytes(&self) -> Option<u64> {
        match &self.archive {
            Some(archive) => archive.bytes,
            None => self.files.iter().map(|file| file.bytes).sum(),
        }
    }

    /// The folder of this dataset.
    pub fn folder(&self, data_dir: impl AsRef<Path>) -> PathBuf {
        data_dir.as_ref().join(&self.name)
    }

    /// The files that are not in the folder and without which the dataset cannot be read.
    pub fn missing(&self, data_dir: impl AsRef<Path>) -> Vec<&File> {
        let folder = self.folder(data_dir);
        self.files.iter().filter(|file| !file.optional && !file.path_in(&folder).is_file()).collect()
    }

    /// The folder, if all it takes to read the dataset is there; otherwise an error that tells how
    /// to get it.
    pub fn locate(&self, data_dir: impl AsRef<Path>) -> Result<PathBuf> {
        let data_dir = data_dir.as_ref();
        let folder = self.folder(data_dir);
        let missing = self.missing(data_dir);
        if missing.is_empty() { Ok(folder) } else { Err(self.absent(&folder, &missing)) }
    }

    fn absent(&self, folder: &Path, missing: &[&File]) -> Error {
        let name = &self.name;
        let how = match self.can_be_fetched() {
            true => format!("run 'structcomp datasets fetch {name}', or put them there"),
            false => format!("put them there; they come from {}", self.publisher),
        };
        let note = self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        Error::Input(format!(
            "the dataset {name} is not in {}: {} missing; {how}{note}; if it is in another folder, name the \
             folder above it with --data-dir or STRUCTCOMP_DATA",
            folder.display(),
            listed(missing),
        ))
    }

    /// Whether every file that is needed has an address, its own or that of the archive.
    pub fn can_be_fetched(&self) -> bool {
        let archive = self.archive.as_ref().is_some_and(|archive| archive.url.is_some());
        archive || self.files.iter().all(|file| file.optional || file.url.is_some())
    }

    /// How a dataset that was read differs from what is expected of it, in words.
    pub fn check_counts(&self, dataset: &Dataset) -> Vec<String> {
        let expected = &self.expected;
        let source = if expected.measured { "" } else { " (as commonly quoted, not measured)" };
        let mut said = Vec::new();
        let mut check = |what: &str, found: u64, expected: Option<u64>| match expected {
            Some(expected) if expected != found => {
                said.push(format!("{found} {what}, expected {expected}{source}"));
            }
            _ => {}
        };
        let labels = dataset.labels.as_ref();
        let count = |count: usize| Some(count as u64);
        check("nodes", dataset.graph.nodes() as u64, count(expected.nodes));
        check("edges", dataset.graph.edges() as u64, expected.edges.and_then(count));
        let features = dataset.features.as_ref().map_or(0, |features| features.cols());
        check("features", features as u64, count(expected.features));
        check("classes", labels.map_or(0, |labels| labels.classes()) as u64, count(expected.classes));
        let unlabelled = labels.map_or(dataset.graph.nodes(), |labels| labels.unlabelled());
        check("unlabelled nodes", unlabelled as u64, expected.unlabelled.and_then(count));
        if let Some(repairs) = &expected.repairs {
            check("self loops", dataset.repairs.self_loops, Some(repairs.self_loops));
            check("duplicate edges", dataset.repairs.duplicates, Some(repairs.duplicates));
            check("isolated nodes", dataset.repairs.isolated, Some(repairs.isolated));
        }
        said
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }
}

impl File {
    /// Where the file lies.
    pub fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(&self.name)
    }
}

/// The names of files as a list for people.
pub(crate) fn listed(files: &[&File]) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.join(", ")
}

/// The known name that `name` is part of, or else the one with the fewest letters to change, if
/// those are few.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let known = || all().iter().flat_map(NamedDataset::names);
    if let Some(longer) = known().find(|known| name.len() > 2 && known.to_ascii_lowercase().contains(&name)) {
        return Some(longer);
    }
    let few = 1 + name.len() / 4;
    let distances = known().map(|known| (edit_distance(&name, &known.to_ascii_lowercase()), known));
    distances
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, _)| distance <= few)
        .map(|(_, known)| known)
}

/// How many letters have to be put in, taken out or replaced to get from `a` to `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + (from != *to) as usize;
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, Graph, Labels, NodeIds, Repairs, data::Source};
    use std::path::Component;

    #[test]
    fn the_thirteen_datasets_are_found_by_name_alias_and_case() {
        assert_eq!(all().len(), 13);
        assert_eq!(find("Photo").unwrap().name, "amazon-photo");
        assert_eq!(find("film").unwrap().name, "actor");
        assert_eq!(find("OGBN-Papers100m").unwrap().name, "ogbn-papers100M");
        assert!(find("cor").is_none());
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let said = |name| lookup(name).unwrap_err().to_string();
        assert_eq!(said("citesear"), "there is no dataset 'citesear'; did you mean 'citeseer'?");
        assert_eq!(said("arxiv"), "there is no dataset 'arxiv'; did you mean 'ogbn-arxiv'?");
        assert_eq!(said("Redit"), "there is no dataset 'Redit'; did you mean 'reddit'?");
        let none = said("zzzzzzzz");
        assert!(none.contains("known are cora, citeseer,") && !none.contains("did you mean"), "{none}");
    }

    #[test]
    fn every_entry_of_the_catalog_is_usable() {
        for dataset in all() {
            for file in dataset.files.iter().chain(&dataset.archive) {
                let tame =
                    Path::new(&file.name).components().all(|part| matches!(part, Component::Normal(_)));
                assert!(tame, "{}", file.name);
                let url = file.url.as_deref().unwrap_or("https://");
                assert!(url.starts_with("https://"), "{url}");
                let hex =
                    |sum: &String| sum.len() == 64 && sum.bytes().all(|b| b"0123456789abcdef".contains(&b));
                assert!(file.sha256.as_ref().is_none_or(hex), "{}", file.name);
            }
            assert_eq!(dataset.can_be_fetched(), dataset.name != "reddit", "{}", dataset.name);
        }
    }

    #[test]
    fn absent_data_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let said = find("photo").unwrap().locate(folder.path()).unwrap_err().to_string();
        let place = folder.path().join("amazon-photo");
        for fact in [
            "the dataset amazon-photo is not in",
            &place.display().to_string(),
            "amazon_electronics_photo.npz missing",
            "run 'structcomp datasets fetch amazon-photo'",
            "--data-dir or STRUCTCOMP_DATA",
        ] {
            assert!(said.contains(fact), "{fact} in {said}");
        }
        let reddit = find("reddit").unwrap().locate(folder.path()).unwrap_err().to_string();
        assert!(reddit.contains("adj_full.npz, feats.npy, class_map.json, role.json missing"), "{reddit}");
        assert!(!reddit.contains("datasets fetch") && reddit.contains("GraphSAINT"), "{reddit}");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("amazon_electronics_photo.npz"), "").unwrap();
        assert_eq!(find("photo").unwrap().locate(folder.path()).unwrap(), place);
    }

    #[test]
    fn wrong_counts_are_told_one_by_one() {
        let mut named = find("cora").unwrap().clone();
        named.expected.nodes = 3;
        named.expected.edges = Some(1);
        named.expected.features = 0;
        named.expected.classes = 2;
        named.expected.unlabelled = Some(1);
        named.expected.repairs = None;
        let mut dataset = Dataset {
            name: "toy".into(),
            graph: Graph::from_edges(3, &[(0, 1)]).unwrap(),
            features: None::<Features>,
            labels: Some(Labels::new([Some(0), Some(1), None]).unwrap()),
            splits: Vec::new(),
            ids: NodeIds::default(),
            repairs: Repairs { duplicates: 4, isolated: 1, ..Repairs::default() },
            source: Source::default(),
        };
        assert_eq!(named.check_counts(&dataset), Vec::<String>::new());
        named.expected.repairs = Some(ExpectedRepairs { self_loops: 0, duplicates: 5, isolated: 1 });
        assert_eq!(named.check_counts(&dataset), ["4 duplicate edges, expected 5"]);
        dataset.graph = Graph::from_edges(3, &[(0, 1), (1, 2)]).unwrap();
        named.expected.measured = false;
        named.expected.repairs = None;
        assert_eq!(named.check_counts(&dataset), ["2 edges, expected 1 (as commonly quoted, not measured)"]);
        named.expected.edges = None;
        assert_eq!(named.check_counts(&dataset), Vec::<String>::new());
    }
}
