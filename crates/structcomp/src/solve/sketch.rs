//! Solving from a sample of nodes, for graphs that are elsewhere: what of it must be known of all nodes is given.

use super::prediction::Halves;
use super::{
    Candidate, Facts, HOPS, OWN, POSITIONS, Prediction, SMOOTH, Sample, Solution, axes, check_varies,
    effective_dimensions, within,
};
use crate::encoder::{Filtered, Projected, Projection, Signal};
use crate::graph::Hops;
use crate::model::{Contrastive, Solved};
use crate::prepare::FittedStandIn;
use crate::{Error, Features, Result, Seed};

/// The axes that the features of some nodes have.
pub struct Sketch {
    settings: Solved,
    nodes: usize,
    x: Features,
    main: Projection,
    halves: Vec<Halves>,
}

/// What is known of all nodes, and of the neighbourhoods of the sampled ones.
pub struct Gathered {
    /// How well two halves of a cluster agree on each axis.
    pub reliable: Vec<f64>,
    /// Neighbours of each sampled node.
    pub degrees: Vec<usize>,
    /// Rows of the sampled nodes on all axes: means over neighbours, and two hops.
    pub near: Vec<f32>,
    /// See `near`.
    pub two: Vec<f32>,
    /// On the first axes: the mean over all hops, and the last hop alone.
    pub smooth: Vec<f32>,
    /// See `smooth`.
    pub last: Vec<f32>,
    /// Means over neighbours on the axes of each draw's given half.
    pub halves: Vec<Vec<f32>>,
    /// What makes positions, as it is in a file, and those of the sampled nodes.
    pub positions: Option<(String, Vec<f32>)>,
}

impl Sketch {
    /// The axes of a sample of so many nodes.
    pub fn new(settings: &Solved, x: Features, nodes: usize, seed: Seed) -> Result<Self> {
        settings.check()?;
        let main = axes(&x, settings.axes(nodes), seed);
        let draws = if x.cols() < 2 { 0 } else { Halves::DRAWS };
        let halves = (0..draws).map(|draw| Halves::new(&x, nodes, seed, draw)).collect();
        Ok(Self { settings: *settings, nodes, x, main, halves })
    }

    /// The axes of all features, and those of each draw's given half.
    pub fn projections(&self) -> Vec<&Projection> {
        std::iter::once(&self.main).chain(self.halves.iter().map(|halves| &halves.given)).collect()
    }

    /// How many of the first axes the smoothest part has.
    pub fn few(&self) -> usize {
        within(super::LARGE, self.main.columns().min(SMOOTH), self.nodes)
    }

    /// Columns of the positions.
    pub fn positions(&self) -> usize {
        within(super::LARGE, POSITIONS, self.nodes)
    }

    /// How the smoothest part weights hops, from none on.
    pub fn smooth() -> String {
        serde_json::to_string(&Signal::Hops(Hops::ssgc(HOPS, OWN))).unwrap_or_default()
    }

    /// How often clusters are split into halves.
    pub fn draws(&self) -> usize {
        self.settings.draws
    }

    /// The model, from what is known besides.
    pub fn solve(self, gathered: Gathered, edges: bool) -> Result<(Filtered, Solution)> {
        let Self { settings, nodes, x, main, halves } = self;
        let size = main.columns();
        let rows = Projected::new(&x, &main);
        let sample = Sample::known(&gathered.degrees);
        let count = gathered.degrees.len();
        let wanted = [(&gathered.near, size), (&gathered.two, size)];
        if x.rows() != count || wanted.iter().any(|(rows, width)| rows.len() != count * width) {
            return Err(Error::Input("the sampled rows do not fit together".into()));
        }
        let own: Vec<u32> = (0..size as u32).collect();
        let new = |signal, rows: Vec<f32>| {
            let width = rows.len() / count.max(1);
            Candidate::new(signal, rows, width, &sample)
        };
        let first = new(Signal::Hops(Hops::none()), rows.columns(&own));
        check_varies(&first)?;
        let few = gathered.last.len() / count.max(1);
        let dimensions = effective_dimensions(&sample.connected(&gathered.last, few), few);
        let positioned = gathered.positions.is_some();
        let positions = match gathered.positions {
            Some((stand_in, rows)) => {
                let stand_in: FittedStandIn = serde_json::from_str(&stand_in)
                    .map_err(|error| Error::Input(format!("positions: {error}")))?;
                new(Signal::Positions(stand_in), rows)
            }
            // No columns, so no part.
            None => new(Signal::Hops(Hops::none()), vec![0.0; count]),
        };
        if settings.weights.is_some_and(|weights| weights[4] > 0.0) && !positioned {
            let what = "there are no positions in this graph; give them the weight 0";
            return Err(Error::Input(what.into()));
        }
        let sizes = sizes(&rows.squares, &gathered.degrees);
        let candidates = [
            first,
            new(Signal::Neighbors, gathered.near),
            new(Signal::Hops(Hops::power(2)), gathered.two),
            new(Signal::Hops(Hops::ssgc(HOPS, OWN)), gathered.smooth),
            positions,
            new(sizes.0, sizes.1).with_unit_variance(),
        ];
        let told = told(&x, &halves, &gathered.halves, &sample);
        let known = Facts { reliable: gathered.reliable, dimensions, told, edges, nodes };
        known.assembled(&settings, main.clone(), candidates, &sample)
    }
}

/// How well features can be told, as [`Prediction::of`] has it.
fn told(x: &Features, halves: &[Halves], near: &[Vec<f32>], sample: &Sample) -> Prediction {
    let mut mean = Prediction::default();
    if x.cols() < 2 || sample.connected.len() < 4 {
        return mean;
    }
    for (halves, near) in halves.iter().zip(near) {
        let all = |projection: &Projection| {
            let columns: Vec<u32> = (0..projection.columns() as u32).collect();
            Projected::new(x, projection).columns(&columns)
        };
        let found = halves.told(&all(&halves.given), near, &all(&halves.asked), sample);
        mean.own += found.own / Halves::DRAWS as f64;
        mean.neighbors += found.neighbors / Halves::DRAWS as f64;
    }
    mean
}

/// Sizes of nodes, relative to the mean of their squared lengths.
fn sizes(squares: &[f64], degrees: &[usize]) -> (Signal, Vec<f32>) {
    let mean = squares.iter().sum::<f64>() / squares.len().max(1) as f64;
    let rows = squares.iter().zip(degrees).flat_map(|(&square, &degree)| Signal::sizes(degree, square, mean));
    (Signal::Sizes { mean }, rows.collect())
}

impl Sample {
    /// A sample of nodes of which the number of neighbours is known.
    fn known(degrees: &[usize]) -> Self {
        let nodes: Vec<u32> = (0..degrees.len() as u32).collect();
        let mut connected: Vec<u32> =
            nodes.iter().copied().filter(|&node| degrees[node as usize] > 0).collect();
        if connected.len() < 2 {
            connected.clone_from(&nodes);
        }
        Self { nodes, connected }
    }
}
