//! The contrastive models: which views they compare, and their losses with gradients.

mod cca_ssg;
mod coles;
mod grace;
mod own;
mod quadratic;
mod sce;

pub use cca_ssg::CcaSsg;
pub use coles::Coles;
pub use grace::Grace;
pub(crate) use own::Caller;
pub use own::{Own, OwnLoss, OwnObjective};
pub(crate) use quadratic::Gram;
pub use sce::Sce;
#[cfg(test)]
pub(crate) use {coles::random_pairs, sce::Pairs};

use quadratic::Quadratic;

use crate::{Activation, Error, Graph, Partition, Result, Seed};
use serde::{Deserialize, Serialize};

/// A model with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Model {
    /// Sparsest cut: pushes random pairs of rows apart.
    Sce(Sce),
    /// Contrastive Laplacian eigenmaps: neighbours together, random pairs apart.
    Coles(Coles),
    /// Two views of a row together, all other rows apart.
    Grace(Grace),
    /// Two views correlated, columns decorrelated.
    CcaSsg(CcaSsg),
    /// One whose loss the caller computes; see [`Trainer::with_objective`](crate::Trainer::with_objective).
    Own(Own),
}

/// A loss, and its gradient in the rows that it was computed from.
pub(crate) struct Loss {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f32>,
    /// How alike two views of a row are, 1 where they are the same; none for models of one view.
    pub(crate) agreement: Option<f64>,
}

/// What a model computes from the rows of its views.
pub(crate) trait Objective: Send {
    /// The loss of rows of `width` numbers, those of one view after those of the other.
    fn loss(&self, z: Vec<f32>, width: usize, epoch: usize) -> Result<Loss>;

    /// The same as a quadratic form, for losses that are one.
    fn quadratic(&self) -> Option<&dyn Quadratic> {
        None
    }
}

impl Model {
    /// The names of all models.
    pub const NAMES: [&str; 4] = ["sce", "coles", "grace", "cca-ssg"];

    /// A model by name, with its default settings.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "sce" => Ok(Self::Sce(Sce::default())),
            "coles" => Ok(Self::Coles(Coles::default())),
            "grace" => Ok(Self::Grace(Grace::default())),
            "cca-ssg" => Ok(Self::CcaSsg(CcaSsg::default())),
            _ => Err(Error::Input(format!("'{name}' is no model; models are {}", Self::NAMES.join(", ")))),
        }
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sce(_) => "sce",
            Self::Coles(_) => "coles",
            Self::Grace(_) => "grace",
            Self::CcaSsg(_) => "cca-ssg",
            Self::Own(_) => "own",
        }
    }

    /// Whether a second view, with members dropped, is compared with the first.
    pub(crate) fn two_views(&self) -> bool {
        match self {
            Self::Sce(_) | Self::Coles(_) => false,
            Self::Grace(_) | Self::CcaSsg(_) => true,
            Self::Own(own) => own.two_views,
        }
    }

    /// The activation after the last layer of its encoder.
    pub(crate) fn last_activation(&self) -> Activation {
        if self.two_views() { Activation::Prelu } else { Activation::None }
    }

    /// The width of the projection head's layers, where there is one.
    pub(crate) fn head(&self, hidden: usize) -> Option<usize> {
        match self {
            Self::Grace(grace) => Some(grace.projection.unwrap_or(hidden)),
            Self::Own(own) => own.projection,
            _ => None,
        }
    }

    /// What it computes in training on `compressed` rows.
    pub(crate) fn objective(
        &self,
        partition: &Partition,
        graph: &Graph,
        seed: Seed,
    ) -> Result<Box<dyn Objective>> {
        let rows = partition.clusters();
        if rows < 2 {
            return Err(Error::Input(format!(
                "contrast needs at least 2 clusters, and there is {rows}; ask for more"
            )));
        }
        match self {
            Self::Sce(sce) => sce.objective(rows, seed),
            Self::Coles(coles) => coles.objective(graph, partition, seed),
            Self::Grace(grace) => grace.objective(),
            Self::CcaSsg(cca) => cca.objective(),
            Self::Own(_) => Err(Error::Input("a model of your own needs its objective".into())),
        }
    }
}

/// Refuses a setting that must be positive and finite.
fn positive(what: &str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::Input(format!("{what} must be above 0, not {value}"))),
    }
}

/// Tests that a model's gradient is the derivative of its loss as a naive twin computes it.
#[cfg(test)]
fn check_gradient(
    objective: &dyn Objective,
    views: &[Vec<f32>],
    width: usize,
    twin: impl Fn(&[Vec<f64>]) -> f64,
) {
    let loss = objective.loss(views.concat(), width, 0).unwrap();
    let exact: Vec<Vec<f64>> = views.iter().map(|view| view.iter().map(|&z| z as f64).collect()).collect();
    let expected = twin(&exact);
    assert!((loss.value - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{} and {expected}", loss.value);
    let largest = loss.gradient.iter().fold(0f32, |most, g| most.max(g.abs())) as f64;
    assert!(largest > 0.0, "the gradient is not zero");
    for (view, gradient) in loss.gradient.chunks(views[0].len()).enumerate() {
        for (at, &got) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[view][at] += by;
                twin(&moved)
            };
            let derivative = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let close = (got as f64 - derivative).abs() < 1e-3 * (derivative.abs() + 0.05 * largest);
            assert!(close, "view {view}, number {at}: {got} and {derivative}");
        }
    }
}

/// Rows of numbers for tests, neither regular nor random.
#[cfg(test)]
fn some_rows(rows: usize, width: usize, salt: u64) -> Vec<f32> {
    let number = |i: u64| (crate::random::mix(i ^ salt << 40) >> 40) as f32 / (1 << 23) as f32 - 1.0;
    (0..(rows * width) as u64).map(number).collect()
}
