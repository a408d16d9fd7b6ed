//! The choice of a method and its settings: what the command line, Python and TOML spell.

use super::{
    Partition, Partitioner, affinity_gs, algebraic_jc, label_propagation, multilevel, random,
    variation_neighborhoods,
};
use crate::{Error, Graph, Result, Seed};
use serde::{Deserialize, Serialize};

/// A method to make clusters: its name and what it can do.
pub struct Method {
    /// What `--method` calls it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether `imbalance` and `max_size` limit its clusters.
    pub(crate) limits: Limits,
    /// Whether node weights count in the size of its clusters.
    pub(crate) weighs_nodes: bool,
    /// Whether it can coarsen each component by itself.
    pub(crate) per_component: bool,
    /// The method, set up.
    pub(crate) make: fn(&Partitioning) -> Box<dyn Partitioner>,
}

/// What a method does about the size of clusters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    /// Nothing: it has no use for a limit.
    No,
    /// It aims at a balance, and may miss it.
    #[cfg_attr(not(feature = "metis"), allow(dead_code))]
    Aims,
    /// It never exceeds the limit.
    Keeps,
}

/// Every method. One more is one file beside this one and one line here.
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

/// What a refinement tries to improve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refine {
    /// The weight of the edges between clusters, to be small.
    #[default]
    Cut,
    /// The distance ‖P'Pᵀ − Â‖ between the graph and its compression, to be small.
    Objective,
}

/// How a graph is to be split into clusters.
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
    /// The method's name from [`METHODS`], or a `.part` file that any partitioner wrote.
    pub method: String,
    /// How many clusters; the paper's rule is a tenth of the nodes.
    pub clusters: Option<usize>,
    /// How much larger than the average a cluster may be, as a share of it; by default the method's own.
    pub imbalance: Option<f64>,
    /// The largest size of a cluster, instead of `imbalance`.
    pub max_size: Option<usize>,
    /// What `multilevel` refines for.
    pub refine: Refine,
    /// Coarsen each component of more than ten nodes by the same ratio, as the paper's authors did;
    /// then there are more clusters than asked for.
    pub per_component: bool,
    /// What each node counts for in the size of its cluster; one where absent.
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
    /// The number of clusters asked for: the setting, or a tenth of the nodes.
    pub fn clusters_of(&self, nodes: usize) -> usize {
        self.clusters.unwrap_or(nodes.div_ceil(10))
    }

    /// Splits the graph, or reads how a file splits it.
    pub fn partition(&self, graph: &Graph, seed: Seed) -> Result<Partition> {
        Ok(self.split(graph, seed)?.0)
    }

    /// As [`partition`](Self::partition), with how many clusters were asked for, by the settings or by
    /// the file: METIS and files may leave some of them empty.
    pub fn split(&self, graph: &Graph, seed: Seed) -> Result<(Partition, usize)> {
        if self.is_file() {
            if *self != (Self { method: self.method.clone(), ..Self::default() }) {
                let file = &self.method;
                return Err(Error::Input(format!(
                    "{file} says what the clusters are, so it takes no other setting"
                )));
            }
            return Partition::read(&self.method, graph.nodes());
        }
        let clusters = self.clusters_of(graph.nodes());
        Ok((self.partitioner()?.partition(graph, clusters, seed)?, clusters))
    }

    /// Whether the method is a file that says the cluster of each node.
    pub fn is_file(&self) -> bool {
        self.find().is_none() && std::path::Path::new(&self.method).is_file()
    }

    /// The configured method; an error where it has no use for one of the settings.
    pub fn partitioner(&self) -> Result<Box<dyn Partitioner>> {
        let name = &self.method;
        let method = self.find().ok_or_else(|| {
            let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            Error::Input(format!(
                "'{name}' is neither a partitioner nor a file; partitioners are {}",
                known.join(", ")
            ))
        })?;
        if let Some(imbalance) = self.imbalance
            && !(imbalance.is_finite() && imbalance >= 0.0)
        {
            return Err(Error::Input(format!("the imbalance must be 0 or more, not {imbalance}")));
        }
        let without = |setting: &str| Err(Error::Input(format!("{name} has no use for {setting}")));
        match method.limits {
            Limits::No if self.imbalance.is_some() => return without("an imbalance"),
            Limits::No | Limits::Aims if self.max_size.is_some() => return without("a largest size"),
            _ => {}
        }
        if self.node_weights.is_some() && !method.weighs_nodes {
            return without("node weights");
        }
        if self.refine != Refine::Cut && method.name != multilevel::METHOD.name {
            return without("another aim than its own");
        }
        if self.per_component && !method.per_component {
            return without("components coarsened one by one");
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

    fn said(config: &Partitioning) -> String {
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
            assert!(said(&config).contains("imbalance must be 0 or more"));
        }
        assert!(said(&config("magic")).contains("partitioners are multilevel,"));
        assert!(
            said(&Partitioning { imbalance: Some(0.1), ..config("random") }).contains("no use for an imb")
        );
        assert!(said(&Partitioning { max_size: Some(9), ..config("random") }).contains("no use for a larg"));
        let weights = Some(vec![1; 3]);
        assert!(
            said(&Partitioning { node_weights: weights, ..config("random") }).contains("no use for node")
        );
        assert!(said(&Partitioning { refine: Refine::Objective, ..config("random") }).contains("aim"));
        assert!(said(&Partitioning { per_component: true, ..config("random") }).contains("one by one"));
    }

    #[test]
    fn a_file_may_stand_for_a_method() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.part");
        std::fs::write(&path, "1\n0\n1\n").unwrap();
        let graph = Graph::from_edges(3, &[]).unwrap();
        let partition = config(&path.display().to_string()).partition(&graph, Seed(0)).unwrap();
        assert_eq!(partition.assignment(), [1, 0, 1]);
        let with_more = Partitioning { clusters: Some(2), ..config(&path.display().to_string()) };
        assert!(with_more.partition(&graph, Seed(0)).unwrap_err().to_string().contains("no other setting"));
    }

    #[test]
    fn every_method_has_a_name_of_its_own() {
        for (at, method) in METHODS.iter().enumerate() {
            assert!(METHODS[..at].iter().all(|other| other.name != method.name));
            let made = config(method.name).partitioner().unwrap();
            let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (3, 4)]).unwrap();
            assert!(made.partition(&graph, 2, Seed(0)).is_ok(), "{}", method.name);
        }
    }
}
