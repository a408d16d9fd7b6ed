//! The datasets of the paper by name: where they come from, their files, and the counts that reading
//! them must give.
//!
//! The data is in `named/catalog.json`, which is compiled in.

mod verify;

pub use verify::{FileStage, FileState, Progress, Verified};
#[cfg(feature = "download")]
pub(crate) use verify::{hash_file, state_of};

use crate::{Dataset, Error, Result};
use serde::Deserialize;
use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// A dataset with a well-known name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDataset {
    /// Name of the dataset and of its folder.
    pub name: String,
    /// Alternative names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Who publishes it.
    pub publisher: String,
    /// The licence of the data, as far as it is known.
    pub licence: String,
    /// A remark for those who download it.
    #[serde(default)]
    pub note: Option<String>,
    /// The archive that contains the files, if they are not published separately.
    #[serde(default)]
    pub archive: Option<File>,
    /// The files in the folder.
    pub files: Vec<File>,
    /// The counts that reading it must give.
    pub expected: Expected,
}

/// A published file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Path inside the dataset's folder, with `/` as separator.
    pub name: String,
    /// URL; `None` for the members of an archive and for files that cannot be downloaded.
    #[serde(default)]
    pub url: Option<String>,
    /// Size in bytes, if known.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// SHA-256 in hexadecimal, if known.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Whether the dataset can be read without this file.
    #[serde(default)]
    pub optional: bool,
}

/// The counts that reading a dataset must give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Number of nodes.
    pub nodes: usize,
    /// Distinct undirected edges without self loops, if known.
    pub edges: Option<usize>,
    /// Features per node.
    pub features: usize,
    /// Number of classes.
    pub classes: usize,
    /// Unlabelled nodes, if known.
    #[serde(default)]
    pub unlabelled: Option<usize>,
    /// Repairs while reading, if known.
    #[serde(default)]
    pub repairs: Option<ExpectedRepairs>,
    /// Whether the counts were measured on the files, rather than quoted from the literature.
    pub measured: bool,
}

/// The known part of [`Repairs`](crate::graph::Repairs).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedRepairs {
    /// Distinct nodes with a self loop.
    pub self_loops: u64,
    /// Listed edges that repeat an earlier one.
    pub duplicates: u64,
    /// Nodes without edges.
    pub isolated: u64,
}

static CATALOG: LazyLock<Vec<NamedDataset>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("named/catalog.json")).expect("the built-in catalog is valid")
});

/// All named datasets, in the order of the paper.
pub fn all() -> &'static [NamedDataset] {
    &CATALOG
}

/// Finds a dataset by name or alias, ignoring case.
pub fn find(name: &str) -> Option<&'static NamedDataset> {
    all().iter().find(|dataset| dataset.names().any(|known| known.eq_ignore_ascii_case(name)))
}

/// The default folder for datasets: `$STRUCTCOMP_DATA`, or the user's data folder.
pub fn default_folder() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("STRUCTCOMP_DATA") {
        return Ok(folder);
    }
    let home = variable("XDG_DATA_HOME")
        .or_else(|| variable("LOCALAPPDATA"))
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")));
    home.map(|folder| folder.join("structcomp")).ok_or_else(|| {
        Error::Input("there is no home folder; set STRUCTCOMP_DATA to the folder of the datasets".into())
    })
}

/// Like [`find`], with an error that suggests similar names.
pub fn lookup(name: &str) -> Result<&'static NamedDataset> {
    find(name).ok_or_else(|| unknown(name))
}

pub(crate) fn unknown(name: &str) -> Error {
    let known: Vec<&str> = all().iter().map(|dataset| dataset.name.as_str()).collect();
    let advice = match nearest(name) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("expected one of {}", known.join(", ")),
    };
    Error::Input(format!("unknown dataset '{name}'; {advice}"))
}

impl NamedDataset {
    /// Download size, if it is known for every file.
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

    /// The required files that are not in the folder.
    pub fn missing(&self, data_dir: impl AsRef<Path>) -> Vec<&File> {
        let folder = self.folder(data_dir);
        self.files.iter().filter(|file| !file.optional && !file.path_in(&folder).is_file()).collect()
    }

    /// The folder, if all required files are there; otherwise an error that explains how to get them.
    pub fn locate(&self, data_dir: impl AsRef<Path>) -> Result<PathBuf> {
        let data_dir = data_dir.as_ref();
        let folder = self.folder(data_dir);
        let missing = self.missing(data_dir);
        if missing.is_empty() { Ok(folder) } else { Err(self.absent(&folder, &missing)) }
    }

    fn absent(&self, folder: &Path, missing: &[&File]) -> Error {
        let note = self.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        let (name, missing, publisher) = (self.name.clone(), listed(missing), &self.publisher);
        let what = format!(
            "dataset {name} is not in {}: missing {missing}, published by {publisher}{note}",
            folder.display()
        );
        Error::Absent { name, what, can_be_fetched: self.can_be_fetched() }
    }

    /// Whether every required file has a URL, its own or that of the archive.
    pub fn can_be_fetched(&self) -> bool {
        let archive = self.archive.as_ref().is_some_and(|archive| archive.url.is_some());
        archive || self.files.iter().all(|file| file.optional || file.url.is_some())
    }

    /// Describes how a dataset differs from the expected counts.
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
    /// Path of the file in the dataset's folder.
    pub fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(&self.name)
    }
}

/// Names of files, separated by commas.
pub(crate) fn listed(files: &[&File]) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    names.join(", ")
}

/// The known name that contains `name`, or else the one with the smallest edit distance, if that is
/// small.
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

/// The Levenshtein distance.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
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
    use crate::graph::Repairs;
    use crate::{Features, Graph, Labels, NodeIds, data::Source};
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
        assert_eq!(said("citesear"), "unknown dataset 'citesear'; did you mean 'citeseer'?");
        assert_eq!(said("arxiv"), "unknown dataset 'arxiv'; did you mean 'ogbn-arxiv'?");
        assert_eq!(said("Redit"), "unknown dataset 'Redit'; did you mean 'reddit'?");
        let none = said("zzzzzzzz");
        assert!(none.contains("expected one of cora, citeseer,") && !none.contains("did you mean"), "{none}");
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
    fn missing_data_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let said = find("photo").unwrap().locate(folder.path()).unwrap_err().to_string();
        let place = folder.path().join("amazon-photo");
        for fact in [
            "dataset amazon-photo is not in",
            &place.display().to_string(),
            "missing amazon_electronics_photo.npz",
            "set STRUCTCOMP_DATA",
        ] {
            assert!(said.contains(fact), "{fact} in {said}");
        }
        let reddit = find("reddit").unwrap().locate(folder.path()).unwrap_err().to_string();
        assert!(reddit.contains("missing adj_full.npz, feats.npy, class_map.json, role.json"), "{reddit}");
        assert!(reddit.contains("GraphSAINT"), "{reddit}");
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("amazon_electronics_photo.npz"), "").unwrap();
        assert_eq!(find("photo").unwrap().locate(folder.path()).unwrap(), place);
    }

    #[test]
    fn each_wrong_count_is_reported() {
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
