//! The datasets that experiments generate.

use structcomp::data::{FeatureKind, Source, Synthetic};
use structcomp::graph::Repairs;
use structcomp::{Budget, Dataset, Dense, Features, Graph, NodeIds, Result, Seed};

/// A dataset that an experiment generates.
pub(crate) struct Generated {
    name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) generate: fn(&Budget) -> Result<Dataset>,
}

pub(crate) const FLICKR: &str = "synthetic-flickr";
pub(crate) const STAR: &str = "star";

static GENERATED: [Generated; 2] = [
    Generated {
        name: FLICKR,
        title: "Flickr's size (synthetic)",
        generate: |budget| flickr().generate_within(Seed(0), budget),
    },
    Generated { name: STAR, title: "star (synthetic)", generate: |_| star() },
];

impl Generated {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        GENERATED.iter().find(|data| data.name == name)
    }
}

/// A graph of Flickr's size; its real features and labels are harder.
fn flickr() -> Synthetic {
    Synthetic {
        name: FLICKR.into(),
        nodes: 89_250,
        edges: 449_878,
        classes: 7,
        features: FeatureKind::Gaussian { width: 500 },
        feature_noise: 0.87,
        overlap: 0.33,
        homophily: 0.32,
        degree_exponent: 2.5,
        max_degree: 5_000,
        community: 100,
        ..Synthetic::default()
    }
}

/// A node connected to 1999 others, all with the same feature.
fn star() -> Result<Dataset> {
    let edges: Vec<(u32, u32)> = (1..2000).map(|leaf| (0, leaf)).collect();
    Ok(Dataset {
        name: STAR.into(),
        graph: Graph::from_edges(2000, &edges)?,
        features: Some(Features::Dense(Dense::new(2000, 1, vec![1.0; 2000])?)),
        labels: None,
        splits: Vec::new(),
        ids: NodeIds::Implicit,
        repairs: Repairs::default(),
        source: Source { format: "synthetic", synthetic: true, ..Source::default() },
    })
}
