//! New nodes of a graph that a model knows.

use super::Fitted;
use crate::{Dataset, Dense, EdgeList, Error, Features, Graph, Result};

/// Nodes that come to a graph, and the edges that come with them.
#[derive(Clone, Debug)]
pub struct NewNodes {
    /// The features of the new nodes, one row per node.
    pub features: Features,
    /// Edges between new nodes and others. The first new node has the number after the graph's last.
    pub edges: Vec<(u32, u32)>,
}

impl Fitted {
    /// The embedding of new nodes: they join the graph, and messages pass as in a graph that has them. New edges of a
    /// weighted graph have weight 1.
    pub fn embed_new(&self, data: &Dataset, new: &NewNodes) -> Result<Dense> {
        let Some(features) = &data.features else {
            return Err(Error::Input("new nodes need features, and the graph's nodes have none".into()));
        };
        if features.cols() != new.features.cols() {
            return Err(Error::Input(format!(
                "the new nodes have {} features, but those of the graph have {}",
                new.features.cols(),
                features.cols()
            )));
        }
        let graph = joined(&data.graph, new)?;
        let features = features.above(&new.features)?;
        let x = self.prepared.apply(&graph, Some(&features))?;
        let (start, width) = (data.graph.nodes() * self.outputs(), self.outputs());
        let (mut rows, mut at) = (Vec::with_capacity(new.features.rows() * width), 0);
        self.encoder.embed_rows(&graph, &x, |block| {
            let skipped = start.saturating_sub(at).min(block.len());
            rows.extend_from_slice(&block[skipped..]);
            at += block.len();
            Ok(())
        })?;
        Dense::new(new.features.rows(), width, rows)
    }
}

/// The graph with new nodes and edges.
fn joined(graph: &Graph, new: &NewNodes) -> Result<Graph> {
    let nodes = graph.nodes() + new.features.rows();
    let unknown = |&&(u, v): &&(u32, u32)| u.max(v) as usize >= nodes || (u.max(v) as usize) < graph.nodes();
    if let Some((u, v)) = new.edges.iter().find(unknown) {
        return Err(Error::Input(format!(
            "the edge ({u}, {v}) must have a new node, from {} to {}, at one end",
            graph.nodes(),
            nodes.saturating_sub(1)
        )));
    }
    let pack = |u: u32, v: u32| (u as u64) << 32 | v as u64;
    let list = match graph.weights() {
        Some(_) => {
            let weighted = (0..graph.nodes() as u32).flat_map(|u| {
                let weights = graph.edge_weights(u).unwrap_or_default();
                let near = graph.neighbors(u).iter().zip(weights).filter(move |(v, _)| u < **v);
                near.map(move |(&v, &weight)| (pack(u, v), weight))
            });
            let added = new.edges.iter().map(|&(u, v)| (pack(u, v), 1.0));
            EdgeList::from_weighted(weighted.chain(added).collect())
        }
        None => {
            let all = graph.edge_iter().chain(new.edges.iter().copied());
            EdgeList::from_packed(all.map(|(u, v)| pack(u, v)).collect())
        }
    };
    Ok(list.build(nodes)?.0)
}
