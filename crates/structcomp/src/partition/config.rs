//! Partitioning settings, shared by the library, the command line, Python and TOML files.

use super::{
    Partition, Partitioner, affinity_gs, algebraic_jc, label_propagation, multilevel, random,
    variation_neighborhoods,
};
use crate::guard::while_unchanged;
use crate::{Error, Graph, Result, Seed};
use serde::{Deserialize, Serialize};

/// A partitioning method: its name and the settings it supports.
pub struct Method {
    /// The name used in settings.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    pub(crate) limits: Limits,
    /// Whether it supports `node_weights`.
    pub(crate) weighs_nodes: bool,
    /// Whether it supports `per_component`.
    pub(crate) per_component: bool,
    pub(crate) make: fn(&Partitioning) -> Box<dyn Partitioner>,
}

/// How a method treats limits on the cluster size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// It supports neither `imbalance` nor `max_size`.
    No,
    /// It aims at `imbalance` but may exceed it, and does not support `max_size`.
    #[cfg_attr(not(feature = "metis"), allow(dead_code))]
    Aims,
    /// It never exceeds the limit.
    Keeps,
}

/// All methods. To add one, write a file next to this one and add a line here.
pub const METHODS: &[Method] = &[
    multilevel::METHOD,
    #[cfg(feature = "metis")]
    super::metis::KWAY,
    #[cfg(feature = "metis")]
    super::metis::RECURSIVE,
    #[cfg(feature = "metis")]
    super::metis::STRICT,
    label_propagation::METHOD,
    variation_neighborhoods::METHOD,
    algebraic_jc::METHOD,
    affinity_gs::METHOD,
    random::METHOD,
];

/// What refinement minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refine {
    /// The total weight of edges between clusters.
    #[default]
    Cut,
    /// The paper's objective ‖P'Pᵀ − Â‖, the distance between the graph and its compression.
    Objective,
}

/// How to split a graph into clusters.
///
/// ```
/// use structcomp::{Graph, Partitioning, Seed};
///
/// let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])?;
/// let config = Partitioning { clusters: Some(2), ..Partitioning::default() };
/// let partition = config.partition(&graph, Seed(0))?;
/// assert_eq!(partition.clusters(), 2);
/// # Ok::<(), structcomp::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Partitioning {
    /// The name of a method in [`METHODS`], or the path of a `.part` file from any partitioner.
    pub method: String,
    /// The number of clusters; by default a tenth of the nodes, as in the paper.
    pub clusters: Option<usize>,
    /// How far a cluster may exceed the average size, as a fraction of it; the default depends on the
    /// method.
    pub imbalance: Option<f64>,
    /// The maximum cluster size; overrides `imbalance`.
    pub max_size: Option<usize>,
    /// What `multilevel` minimises when it refines a partition.
    pub refine: Refine,
    /// Coarsen each component of more than ten nodes by the same ratio, as the paper's authors did.
    /// This returns more clusters than requested.
    pub per_component: bool,
    /// How much each node adds to the size of its cluster; 1 by default.
    #[serde(skip)]
    pub node_weights: Option<Vec<u32>>,
}

impl Default for Partitioning {
    fn default() -> Self {
        Self {
            method: multilevel::METHOD.name.to_owned(),
            clusters: None,
            imbalance: None,
            max_size: None,
            refine: Refine::Cut,
            per_component: false,
            node_weights: None,
        }
    }
}

impl Partitioning {
    /// The number of clusters for a graph of `nodes` nodes: the setting, or a tenth of the nodes.
    pub fn clusters_of(&self, nodes: usize) -> usize {
        self.clusters.unwrap_or(nodes.div_ceil(10))
    }

    /// Splits the graph, or reads the clusters from the configured file.
    pub fn partition(&self, graph: &Graph, seed: Seed) -> Result<Partition> {
        Ok(self.split(graph, seed)?.0)
    }

    /// Like [`partition`](Self::partition), and also returns the number of clusters requested or counted
    /// in the file. METIS and files may leave some of these empty.
    pub fn split(&self, graph: &Graph, seed: Seed) -> Result<(Partition, usize)> {
        if self.is_file() {
            if *self != (Self { method: self.method.clone(), ..Self::default() }) {
                let file = &self.method;
                return Err(Error::Input(format!(
                    "{file} already defines the clusters; remove the other partition settings"
                )));
            }
            return Partition::read(&self.method, graph.nodes());
        }
        let clusters = self.clusters_of(graph.nodes());
        let partitioner = self.partitioner()?;
        let partition = while_unchanged(graph, None, || partitioner.partition(graph, clusters, seed))?;
        Ok((partition, clusters))
    }

    /// Whether `method` is a file with the cluster of each node.
    pub fn is_file(&self) -> bool {
        self.find().is_none() && std::path::Path::new(&self.method).is_file()
    }

    /// The configured method. Returns an error if it does not support one of the settings.
    pub fn partitioner(&self) -> Result<Box<dyn Partitioner>> {
        let name = &self.method;
        let method = self.find().ok_or_else(|| {
            let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            Error::Input(format!(
                "'{name}' is neither a partitioning method nor a file; available methods: {}",
                known.join(", ")
            ))
        })?;
        if let Some(imbalance) = self.imbalance
            && !(imbalance.is_finite() && imbalance >= 0.0)
        {
            return Err(Error::Input(format!("imbalance must be at least 0, got {imbalance}")));
        }
        let unsupported = |setting: &str| Err(Error::Input(format!("{name} does not support {setting}")));
        match method.limits {
            Limits::No if self.imbalance.is_some() => return unsupported("an imbalance limit"),
            Limits::No | Limits::Aims if self.max_size.is_some() => {
                return unsupported("a maximum cluster size");
            }
            _ => {}
        }
        if self.node_weights.is_some() && !method.weighs_nodes {
            return unsupported("node weights");
        }
        if self.refine != Refine::Cut && method.name != multilevel::METHOD.name {
            return unsupported("refinement for the objective");
        }
        if self.per_component && !method.per_component {
            return unsupported("per-component coarsening");
        }
        Ok((method.make)(self))
    }

    fn find(&self) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == self.method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(method: &str) -> Partitioning {
        Partitioning { method: method.to_owned(), ..Partitioning::default() }
    }

    fn error(config: &Partitioning) -> String {
        let graph = Graph::from_edges(3, &[]).unwrap();
        config.partition(&graph, Seed(0)).unwrap_err().to_string()
    }

    #[test]
    fn the_default_is_a_tenth_of_the_nodes() {
        assert_eq!(Partitioning::default().clusters_of(2708), 271);
        assert_eq!(Partitioning { clusters: Some(300), ..Partitioning::default() }.clusters_of(2708), 300);
    }

    #[test]
    fn bad_settings_are_errors() {
        for imbalance in [-0.1, f64::NAN, f64::INFINITY] {
            let config = Partitioning { imbalance: Some(imbalance), ..Partitioning::default() };
            assert!(error(&config).contains("imbalance must be at least 0"));
        }
        assert!(error(&config("magic")).contains("available methods: multilevel,"));
    }

    #[test]
    fn settings_that_a_method_does_not_support_are_errors() {
        let random = || config("random");
        for (config, setting) in [
            (Partitioning { imbalance: Some(0.1), ..random() }, "an imbalance limit"),
            (Partitioning { max_size: Some(9), ..random() }, "a maximum cluster size"),
            (Partitioning { node_weights: Some(vec![1; 3]), ..random() }, "node weights"),
            (Partitioning { refine: Refine::Objective, ..random() }, "refinement for the objective"),
            (Partitioning { per_component: true, ..random() }, "per-component coarsening"),
        ] {
            assert_eq!(error(&config), format!("random does not support {setting}"));
        }
    }

    #[test]
    fn the_method_may_be_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.part");
        std::fs::write(&path, "1\n0\n1\n").unwrap();
        let graph = Graph::from_edges(3, &[]).unwrap();
        let partition = config(&path.display().to_string()).partition(&graph, Seed(0)).unwrap();
        assert_eq!(partition.assignment(), [1, 0, 1]);
        let with_more = Partitioning { clusters: Some(2), ..config(&path.display().to_string()) };
        assert!(
            with_more
                .partition(&graph, Seed(0))
                .unwrap_err()
                .to_string()
                .contains("already defines the clusters")
        );
    }

    #[test]
    fn every_method_has_a_unique_name_and_runs() {
        for (at, method) in METHODS.iter().enumerate() {
            assert!(METHODS[..at].iter().all(|other| other.name != method.name));
            let made = config(method.name).partitioner().unwrap();
            let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (3, 4)]).unwrap();
            assert!(made.partition(&graph, 2, Seed(0)).is_ok(), "{}", method.name);
        }
    }
}
