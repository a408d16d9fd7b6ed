//! The paper's theorems in numbers: bounds by the library's diagnostics, and the regularizer by random draws.

mod parts;
mod regularizer;

use super::{Experiment, Generated, TABLE};
use crate::draft::{CLUSTERS, Draft, Place, SMALL, places};
use crate::fit::fit;
use crate::run::Halt;
use crate::source::{Data, Source};
use crate::{Mode, Repeats, Setup, Task, Theory};
use regularizer::regularizer;
use std::sync::atomic::AtomicBool;
use structcomp::evaluate::EdgeLoss;
use structcomp::graph::Repairs;
use structcomp::partition::Gap;
use structcomp::{
    Compressed, Dataset, Dense, Error, Features, Graph, NodeIds, Partition, Partitioning, Preset, Result,
    Seed, StructComp, data,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "theory",
    title: "The theorems in numbers",
    caption: "For a linear encoder trained by SCE on clusters. |L_G − L_P| is the difference between the loss over edges \
              computed from sums over neighbors and from sums over clusters. The paper's bound (theorem 4.1) need not \
              hold, ours does. The regularizer (theorem 4.2) is the mean second-order increase of the loss by leaving \
              members out, over random pairs of clusters with rows scaled to a root mean square length of ½.",
    drafts,
    parts: |_, cells| parts::parts(cells),
    generated: &[Generated { name: "star", title: "star (synthetic)", generate: |_| star_graph() }],
    ..TABLE
};

fn drafts() -> Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    for place in places(&["sce"], &SMALL, &CLUSTERS) {
        let preset = Preset::paper(place.model, place.dataset)?;
        let clusters = preset.as_ref().and_then(|preset| preset.clusters);
        let partitioning = Partitioning { clusters, ..Partitioning::default() };
        let training = preset.as_ref().map(|preset| preset.training.clone());
        drafts.push(place.with(Task::Theory(Setup { training, partitioning, ..Setup::default() }), preset));
    }
    drafts.push(Place { dataset: "star", model: "linear", mode: Mode::Structcomp }.with(Task::Star, None));
    Ok(drafts)
}

/// A node connected to 1999 others, all with the same feature.
fn star_graph() -> Result<Dataset> {
    let edges: Vec<(u32, u32)> = (1..2000).map(|leaf| (0, leaf)).collect();
    Ok(Dataset {
        name: "star".into(),
        graph: Graph::from_edges(2000, &edges)?,
        features: Some(Features::Dense(Dense::new(2000, 1, vec![1.0; 2000])?)),
        labels: None,
        splits: Vec::new(),
        ids: NodeIds::Implicit,
        repairs: Repairs::default(),
        source: data::Source { format: "synthetic", synthetic: true, ..data::Source::default() },
    })
}

/// The star on which the published bound fails: 200 clusters of ten nodes, one weight of 1.
pub(crate) fn star(data: &Data) -> Result<Theory> {
    let partition = Partition::new((0..data.graph.nodes() as u32).map(|node| node / 10).collect())?;
    let gaps = [1, 2].map(|hops| Gap::of(data.graph, &partition, hops, Seed(0)).map(|gap| gap.value));
    let edges = EdgeLoss::of(data.graph, &partition, data.x, &[1.0], 1);
    Ok(Theory {
        gaps: gaps.into_iter().collect::<Result<_>>()?,
        edges_nodes: edges.nodes,
        edges_clusters: edges.clusters,
        bound: edges.bound,
        printed_bound: edges.printed_bound,
        spectral: None,
        drop_member: None,
        regularizer: None,
    })
}

/// The theorems for a trained linear encoder.
pub(crate) fn theory(
    setup: &Setup,
    source: &Source,
    repeats: &Repeats,
    stop: &AtomicBool,
) -> Result<Theory, Halt> {
    let seed = Seed(repeats.seed);
    let Some(training) = &setup.training else {
        return Err(Error::Input("the theorems need settings to train with".into()).into());
    };
    let partitioning = setup.partitioning.clone();
    let settings = StructComp { partitioning, training: training.clone(), seed, ..StructComp::default() };
    let fitted = fit(&settings, &source.dataset, stop)?;
    let found = fitted.diagnostics(&source.dataset)?;
    let (weight, width) = fitted.encoder.linear_map();
    let data = source.data()?;
    let Some(partition) = &fitted.partition else {
        return Err(Error::Input("the theorems are about clusters".into()).into());
    };
    let compressed = Compressed::new(data.x, partition)?;
    Ok(Theory {
        gaps: found.gaps.iter().map(|gap| gap.value).collect(),
        edges_nodes: found.edges.nodes,
        edges_clusters: found.edges.clusters,
        bound: found.edges.bound,
        printed_bound: found.edges.printed_bound,
        spectral: Some([found.spectral.nodes, found.spectral.weighted, found.spectral.alike]),
        drop_member: Some([found.drop_member.variance_ratio, found.drop_member.bias_ratio]),
        regularizer: Some(regularizer(data.x, &compressed, (&weight, width), training.drop_member, seed)?),
    })
}
