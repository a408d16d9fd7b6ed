//! Link prediction: how held-out edges rank among non-edges.

use super::rows;
use crate::{EdgeList, Error, Features, Graph, Result, Seed};
use rand::seq::index;
use rayon::prelude::*;
use serde::Serialize;

/// How well scores separate edges from non-edges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkScore {
    /// Area under the ROC curve: how often an edge scores above a non-edge, where a tie counts half.
    pub auc: f64,
    /// Average precision: the precision at each edge's score, averaged over the edges. Equal scores count together,
    /// as in scikit-learn.
    pub average_precision: f64,
}

/// A graph without some of its edges, which are to be predicted among as many non-edges.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// All nodes and the remaining edges.
    pub graph: Graph,
    /// The held-out edges, as `(smaller, larger)` in ascending order.
    pub positive: Vec<(u32, u32)>,
    /// As many pairs that are not edges of the whole graph, in the same form.
    pub negative: Vec<(u32, u32)>,
}

impl LinkScore {
    /// Compares the scores of edges and of non-edges; edges should score higher.
    ///
    /// ```
    /// // Of the four pairs two are in order and one is a tie.
    /// let score = structcomp::evaluate::LinkScore::of(&[0.9, 0.2], &[0.2, 0.4])?;
    /// assert_eq!(score.auc, 2.5 / 4.0);
    /// # Ok::<(), structcomp::Error>(())
    /// ```
    pub fn of(positive: &[f32], negative: &[f32]) -> Result<Self> {
        if positive.is_empty() || negative.is_empty() {
            return Err(Error::Input("expected at least one score of an edge and one of a non-edge".into()));
        }
        if positive.iter().chain(negative).any(|score| score.is_nan()) {
            return Err(Error::Input("a score is NaN".into()));
        }
        let scored =
            |scores: &[f32], edge: bool| scores.iter().map(|&score| (score, edge)).collect::<Vec<_>>();
        let mut ranked = scored(positive, true);
        ranked.extend(scored(negative, false));
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let (mut edges, mut others, mut area, mut precision) = (0.0, 0.0, 0.0, 0.0);
        // Compared as floats, since 0 and -0 are equal scores.
        for tied in ranked.chunk_by(|a, b| a.0 == b.0) {
            let new_edges = tied.iter().filter(|(_, edge)| *edge).count() as f64;
            let new_others = tied.len() as f64 - new_edges;
            area += new_others * (edges + new_edges / 2.0);
            (edges, others) = (edges + new_edges, others + new_others);
            precision += new_edges * edges / (edges + others);
        }
        Ok(Self { auc: area / (edges * others), average_precision: precision / edges })
    }
}

impl HeldOut {
    /// Holds out the fraction `share` of the edges of `graph` and draws as many non-edges, both uniformly. Nodes that
    /// lose all their edges stay.
    pub fn draw(graph: &Graph, share: f64, seed: Seed) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::Input(format!(
                "the share of edges to hold out is {share}, but must be above 0 and below 1"
            )));
        }
        let count = (share * graph.edges() as f64).round() as usize;
        if count == 0 {
            return Err(Error::Input(format!(
                "a share of {share} of {} edges is less than one edge",
                graph.edges()
            )));
        }
        let mut chosen = index::sample(&mut seed.stream("held-out edges"), graph.edges(), count).into_vec();
        chosen.sort_unstable();
        let mut chosen = chosen.into_iter().peekable();
        let mut positive = Vec::with_capacity(count);
        let mut kept = Vec::with_capacity(graph.edges() - count);
        for (number, edge) in graph.edge_iter().enumerate() {
            if chosen.next_if_eq(&number).is_some() { positive.push(edge) } else { kept.push(edge) }
        }
        let mut negative = graph.random_non_edges(count, seed.stream("non-edges"))?;
        negative.sort_unstable();
        Ok(Self { graph: with_edges(graph, &kept)?, positive, negative })
    }

    /// How well the cosine of two rows separates edges from non-edges. The embedding must be computed from
    /// [`graph`](Self::graph): one that has seen the held-out edges proves nothing.
    pub fn judge(&self, x: &Features) -> Result<LinkScore> {
        if x.rows() != self.graph.nodes() {
            let (rows, nodes) = (x.rows(), self.graph.nodes());
            return Err(Error::Input(format!(
                "the embedding has {rows} rows but the graph has {nodes} nodes"
            )));
        }
        let score =
            |pairs: &[(u32, u32)]| pairs.par_iter().map(|&pair| cosine(x, pair)).collect::<Vec<f32>>();
        LinkScore::of(&score(&self.positive), &score(&self.negative))
    }
}

/// The cosine of two rows; 0 where one of them is zero.
fn cosine(x: &Features, (u, v): (u32, u32)) -> f32 {
    let spread = |row: u32| {
        let mut values = vec![0.0; x.cols()];
        rows::add_scaled(x, row as usize, 1.0, &mut values);
        values
    };
    let (a, b) = (spread(u), spread(v));
    let lengths = (rows::inner(&a, &a) * rows::inner(&b, &b)).sqrt();
    if lengths > 0.0 { (rows::inner(&a, &b) / lengths) as f32 } else { 0.0 }
}

/// The graph on the same nodes with only these of its edges, and their weights.
fn with_edges(graph: &Graph, edges: &[(u32, u32)]) -> Result<Graph> {
    if graph.weights().is_none() {
        return Graph::from_edges(graph.nodes(), edges);
    }
    let weight = |u: u32, v: u32| {
        let at = graph.neighbors(u).binary_search(&v).ok()?;
        graph.edge_weights(u).map(|weights| weights[at])
    };
    let listed = edges.iter().map(|&(u, v)| ((u as u64) << 32 | v as u64, weight(u, v).unwrap_or(1.0)));
    Ok(EdgeList::from_weighted(listed.collect()).build(graph.nodes())?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;
    use proptest::prelude::*;

    #[test]
    fn a_ranking_scores_as_computed_by_hand() {
        // In order: + - + -. Precision 1 at the first edge, 2/3 at the second.
        let score = LinkScore::of(&[4.0, 2.0], &[3.0, 1.0]).unwrap();
        assert_eq!(score, LinkScore { auc: 0.75, average_precision: (1.0 + 2.0 / 3.0) / 2.0 });
        let tied = LinkScore::of(&[1.0, 0.0], &[1.0, -0.0, 1.0]).unwrap();
        assert_eq!(tied.auc, (0.5 + 1.0 + 0.5 + 0.5) / 6.0);
        assert!(LinkScore::of(&[], &[1.0]).is_err() && LinkScore::of(&[1.0], &[]).is_err());
        assert!(LinkScore::of(&[1.0], &[f32::NAN]).is_err());
    }

    proptest! {
        #[test]
        fn scores_are_those_of_counting_pairs(
            positive in prop::collection::vec(-4i8..5, 1..30),
            negative in prop::collection::vec(-5i8..4, 1..30),
        ) {
            let of = |scores: &[i8]| scores.iter().map(|&s| s as f32 / 2.0).collect::<Vec<_>>();
            let score = LinkScore::of(&of(&positive), &of(&negative)).unwrap();
            let (mut area, mut precision) = (0.0, 0.0);
            for p in &positive {
                let higher = negative.iter().filter(|n| *n < p).count() as f64;
                area += higher + negative.iter().filter(|n| *n == p).count() as f64 / 2.0;
                let edges = positive.iter().filter(|other| *other >= p).count() as f64;
                precision += edges / (edges + negative.iter().filter(|other| *other >= p).count() as f64);
            }
            let edges = positive.len() as f64;
            prop_assert!((score.auc - area / edges / negative.len() as f64).abs() < 1e-12);
            prop_assert!((score.average_precision - precision / edges).abs() < 1e-12);
        }
    }

    fn ring() -> Graph {
        let edges: Vec<(u32, u32)> = (0..40).map(|v| (v, (v + 1) % 40)).collect();
        Graph::from_edges(40, &edges).unwrap()
    }

    #[test]
    fn held_out_and_remaining_edges_make_the_graph() {
        let graph = ring();
        let held = HeldOut::draw(&graph, 0.25, Seed(2)).unwrap();
        assert_eq!((held.positive.len(), held.negative.len(), held.graph.edges()), (10, 10, 30));
        assert!(held.positive.iter().all(|&(u, v)| graph.has_edge(u, v) && !held.graph.has_edge(u, v)));
        let mut edges: Vec<(u32, u32)> = held.graph.edge_iter().chain(held.positive.clone()).collect();
        edges.sort_unstable();
        assert_eq!(edges, graph.edge_iter().collect::<Vec<_>>());
        assert!(held.negative.iter().all(|&(u, v)| u < v && !graph.has_edge(u, v)));
        for pairs in [&held.positive, &held.negative] {
            assert!(pairs.windows(2).all(|two| two[0] < two[1]), "ascending, so none twice");
        }
        // Of ten pairs drawn among all, one would be an edge every second time.
        for seed in 0..20 {
            let held = HeldOut::draw(&graph, 0.25, Seed(seed)).unwrap();
            assert!(held.negative.iter().all(|&(u, v)| !graph.has_edge(u, v)));
        }
        assert_eq!(held, HeldOut::draw(&graph, 0.25, Seed(2)).unwrap());
        let other = HeldOut::draw(&graph, 0.25, Seed(3)).unwrap();
        assert!(held.positive != other.positive && held.negative != other.negative);
    }

    #[test]
    fn links_are_scored_by_the_angle_between_rows() {
        let held = HeldOut {
            graph: Graph::from_edges(4, &[]).unwrap(),
            positive: vec![(0, 1)],
            negative: vec![(0, 2), (0, 3)],
        };
        // Node 1 has nearly the direction of node 0, node 2 another one and is longer, node 3 is zero.
        let x = Dense::new(4, 2, vec![1.0, 1.0, 9.0, 8.0, 100.0, -50.0, 0.0, 0.0]).unwrap();
        let score = held.judge(&Features::Dense(x)).unwrap();
        assert_eq!((score.auc, score.average_precision), (1.0, 1.0));
        let away = Dense::new(4, 1, vec![1.0, -5.0, 2.0, 0.0]).unwrap();
        assert_eq!(held.judge(&Features::Dense(away)).unwrap().auc, 0.0);
        assert!(held.judge(&Features::Dense(Dense::new(1, 1, vec![1.0]).unwrap())).is_err());
    }

    #[test]
    fn weights_stay_with_their_edges() {
        let pack = |u: u64, v: u64| u << 32 | v;
        let list = (0..9).map(|v| (pack(v, v + 1), v as f32 + 2.0)).collect();
        let graph = EdgeList::from_weighted(list).build(10).unwrap().0;
        let held = HeldOut::draw(&graph, 0.4, Seed(0)).unwrap();
        assert_eq!(held.graph.edges(), 5);
        for (u, v) in held.graph.edge_iter() {
            let at = held.graph.neighbors(u).binary_search(&v).unwrap();
            assert_eq!(held.graph.edge_weights(u).unwrap()[at], u as f32 + 2.0);
        }
    }

    #[test]
    fn invalid_shares_are_errors() {
        for share in [0.0, 1.0, -0.5, f64::NAN, 0.001] {
            assert!(HeldOut::draw(&ring(), share, Seed(0)).is_err(), "{share}");
        }
        let triangle = Graph::from_edges(3, &[(0, 1), (1, 2), (2, 0)]).unwrap();
        let error = HeldOut::draw(&triangle, 0.5, Seed(0)).unwrap_err();
        assert!(error.to_string().contains("non-adjacent pairs"));
    }
}
