//! The contrastive models: which views they compare, and their losses with gradients.
//!
//! A model is a file here with its settings, a `Blueprint` of what it asks of the encoder and of the rows, and
//! an `Objective`; and a line in the list below.

mod bgrl;
mod blockgcl;
mod cca_ssg;
mod coles;
mod contrast_reg;
mod dgi;
mod ggd;
mod grace;
mod mvgrl;
mod nearest;
mod own;
mod quadratic;
mod sce;
mod scores;
mod solved;
mod sp_gcl;
mod unitary;

pub use bgrl::Bgrl;
pub use blockgcl::BlockGcl;
pub use cca_ssg::CcaSsg;
pub use coles::Coles;
pub use contrast_reg::{Contrast, ContrastReg};
pub use dgi::Dgi;
pub use ggd::Ggd;
pub use grace::Grace;
pub use mvgrl::Mvgrl;
pub(crate) use own::Caller;
pub use own::{Own, OwnLoss, OwnObjective, OwnRows};
pub(crate) use quadratic::Gram;
pub use sce::Sce;
pub use solved::Solved;
pub use sp_gcl::SpGcl;
#[cfg(test)]
pub(crate) use {coles::random_pairs, sce::Pairs};

#[cfg(feature = "cuda")]
pub(crate) use quadratic::Form;
use quadratic::Quadratic;

use crate::compress::Coarsening;
use crate::graph::Hops;
use crate::nn::Beside;
use crate::sample::Neighborhood;
pub(crate) use crate::sample::Views;
use crate::{Activation, Csr, EncoderKind, Error, Result, Seed};
use serde::{Deserialize, Serialize};

/// What a model is: its settings implement this.
pub(crate) trait Contrastive {
    /// What it asks of the encoder and of the batches, for an embedding of dimension `hidden`.
    fn blueprint(&self, hidden: usize) -> Blueprint;

    /// Refuses settings that make no sense.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The loss for the rows of a batch.
    fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>>;

    /// Initial values of parameters of its own, which are trained with the encoder's.
    fn own(&self, _width: usize, _seed: Seed) -> Vec<f32> {
        Vec::new()
    }

    /// How much of the target weights is kept after a step, for models that follow their own weights.
    fn momentum(&self, _step: usize, _steps: usize) -> Option<f64> {
        None
    }

    /// About how much its loss costs.
    fn cost(&self) -> LossCost {
        LossCost { by_width: 24.0, ..LossCost::default() }
    }

    /// The loss of the first step by its formula in `f64`, for the test that every model's gradient is checked by.
    #[cfg(test)]
    fn twin(&self, of: &Twin) -> f64;
}

macro_rules! models {
    ($($(#[$doc:meta])* $kind:ident = $name:literal $title:literal,)*) => {
        /// A model with its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum Model {
            $($(#[$doc])* #[serde(rename = $name)] $kind($kind),)*
            /// Computed in closed form from two halves of every cluster, without training.
            #[serde(rename = "solved")]
            Solved(Solved),
            /// One whose loss the caller computes; see [`Hooks::loss`](crate::Hooks::loss).
            Own(Own),
        }

        impl Default for Model {
            fn default() -> Self {
                Self::Solved(Solved::default())
            }
        }

        impl Model {
            /// The names of all models.
            pub const NAMES: &'static [&'static str] = &["solved", $($name),*];

            /// The names of the contrastive models, which are trained.
            pub const TRAINED: &'static [&'static str] = &[$($name),*];

            /// A model by name, with its default settings.
            pub fn named(name: &str) -> Result<Self> {
                match name {
                    $($name => Ok(Self::$kind($kind::default())),)*
                    "solved" => Ok(Self::Solved(Solved::default())),
                    _ => Err(Error::Input(format!("unknown model '{name}'; models are {}", Self::NAMES.join(", ")))),
                }
            }

            /// The name as people write it, such as `CCA-SSG`.
            pub fn title(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $title,)*
                    Self::Solved(_) => "the solved recipe",
                    Self::Own(_) => "custom loss",
                }
            }

            /// The name in settings and files, such as `cca-ssg`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                    Self::Solved(_) => "solved",
                    Self::Own(_) => "own",
                }
            }

            fn settings(&self) -> &dyn Contrastive {
                match self {
                    $(Self::$kind(settings) => settings,)*
                    Self::Solved(settings) => settings,
                    Self::Own(settings) => settings,
                }
            }
        }
    };
}

models! {
    /// Sparsest cut: pushes random pairs of rows apart.
    Sce = "sce" "SCE",
    /// Contrastive Laplacian eigenmaps: neighbours together, random pairs apart.
    Coles = "coles" "COLES",
    /// Two views of a row together, all other rows apart.
    Grace = "grace" "GRACE",
    /// Two views correlated, columns decorrelated.
    CcaSsg = "cca-ssg" "CCA-SSG",
    /// Rows like the mean of all, rows of permuted nodes not.
    Dgi = "dgi" "DGI",
    /// Rows told from those of permuted nodes by a sum.
    Ggd = "ggd" "GGD",
    /// Layers trained one by one, each with two views correlated and columns decorrelated.
    BlockGcl = "blockgcl" "BlockGCL",
    /// Rows like their nearest ones or their neighbours, with a regulariser.
    ContrastReg = "contrast-reg" "Contrast-Reg",
    /// Two encoders, each with rows like the mean of the other's.
    Mvgrl = "mvgrl" "MVGRL",
    /// One view predicted from the other, without negatives.
    Bgrl = "bgrl" "BGRL",
    /// A single view: nearest rows together, random ones apart.
    SpGcl = "sp-gcl" "SP-GCL",
}

/// Floating point operations of a loss, for estimates of time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossCost {
    /// In units of rows · width².
    pub by_width: f64,
    /// In units of rows² · width.
    pub by_rows: f64,
    /// Whether it holds a matrix of all pairs of rows.
    pub all_pairs: bool,
}

/// What a model asks of the encoder and of the rows; the defaults are those of a model of one view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blueprint {
    pub(crate) views: Views,
    /// Where the encoder passes messages, unless training says otherwise.
    pub(crate) encoder: EncoderKind,
    /// What follows each layer of the encoder but the last, unless training says otherwise.
    pub(crate) inner: Activation,
    /// What follows the last, unless training says otherwise.
    pub(crate) activation: Activation,
    /// Whether the encoder has batch norm, unless training says otherwise.
    pub(crate) batch_norm: bool,
    /// Two more layers in training, behind the encoder.
    pub(crate) head: Option<Head>,
    /// Other networks besides the one.
    pub(crate) beside: Beside,
    /// What the embedding is made of the encoder's result by.
    pub(crate) readout: Hops,
    /// The adjacency between the rows of a batch that the loss needs.
    pub(crate) adjacency: Option<Coarsening>,
    /// The rows that the loss compares, if not all.
    pub(crate) neighborhood: Option<Neighborhood>,
}

/// A projection head, or a predictor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Head {
    /// Numbers between its layers.
    pub(crate) width: usize,
    pub(crate) activation: Activation,
    /// Whether it sees nothing below zero.
    pub(crate) rectified: bool,
}

impl Default for Blueprint {
    fn default() -> Self {
        Self {
            views: Views::One,
            encoder: EncoderKind::Sgc,
            inner: Activation::None,
            activation: Activation::None,
            batch_norm: false,
            head: None,
            beside: Beside::Alone,
            readout: Hops::none(),
            adjacency: None,
            neighborhood: None,
        }
    }
}

/// The rows that a loss compares.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a> {
    /// Rows of each view.
    pub(crate) rows: usize,
    /// The adjacency between them, where the blueprint asks for it.
    pub(crate) adjacency: Option<&'a Csr>,
    /// What each counts in a mean over all rows of the graph; all the same if absent.
    pub(crate) weights: Option<&'a [f32]>,
    pub(crate) seed: Seed,
}

/// What a model's twin in `f64` sees.
#[cfg(test)]
pub(crate) struct Twin<'a> {
    /// For each network the rows of its views.
    pub(crate) views: &'a [Vec<f64>],
    pub(crate) width: usize,
    pub(crate) own: &'a [f64],
    pub(crate) target: &'a [f64],
    pub(crate) on: Compared<'a>,
    /// The rows that choices without a gradient, such as nearest rows, are made from.
    pub(crate) seen: &'a [f32],
}

/// A loss, and its gradient in the rows that it was computed from.
#[derive(Default)]
pub(crate) struct Loss {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f32>,
    /// The gradient of the model's own parameters.
    pub(crate) of_own: Vec<f32>,
}

/// What a loss sees besides the rows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Step<'a> {
    /// Counted over all epochs.
    pub(crate) number: usize,
    /// Rows of each view.
    pub(crate) rows: usize,
    /// The model's own parameters.
    pub(crate) own: &'a [f32],
    /// What the encoder before the head makes of the rows with the target weights, where there are any.
    pub(crate) target: &'a [f32],
}

/// What a model computes from the rows of its views.
pub(crate) trait Objective {
    /// The loss of rows of `width` numbers: for each network those of its views, one after the other.
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss>;

    /// The same as a quadratic form, for losses that are one.
    fn quadratic(&self) -> Option<&dyn Quadratic> {
        None
    }
}

impl Model {
    /// How many views of the rows it compares.
    pub fn views(&self) -> usize {
        self.blueprint(1).views.count()
    }

    /// About how much its loss costs.
    pub fn cost(&self) -> LossCost {
        self.settings().cost()
    }

    /// Whether it compares two augmented views, so that what these leave out matters.
    pub fn augments(&self) -> bool {
        self.blueprint(1).views == Views::Two
    }

    /// What it asks of the encoder and of the batches.
    pub(crate) fn blueprint(&self, hidden: usize) -> Blueprint {
        self.settings().blueprint(hidden)
    }

    pub(crate) fn check(&self) -> Result<()> {
        self.settings().check()
    }

    /// The loss for the rows of a batch.
    pub(crate) fn objective(&self, on: &Compared) -> Result<Box<dyn Objective + Send>> {
        if on.rows < 2 {
            return Err(Error::Input(format!(
                "contrastive training needs at least 2 rows, clusters or nodes, in a batch, but there is {}; ask for more",
                on.rows
            )));
        }
        self.settings().objective(on)
    }

    pub(crate) fn own(&self, width: usize, seed: Seed) -> Vec<f32> {
        self.settings().own(width, seed)
    }

    pub(crate) fn momentum(&self, step: usize, steps: usize) -> Option<f64> {
        self.settings().momentum(step, steps)
    }

    #[cfg(test)]
    pub(crate) fn twin(&self, of: &Twin) -> f64 {
        self.settings().twin(of)
    }
}

/// Refuses a setting that must be positive and finite.
fn positive(what: &str, value: f64) -> Result<()> {
    match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Error::Input(format!("{what} must be above 0, not {value}"))),
    }
}

/// Refuses a setting that must be a share from 0 to below 1.
fn share_below_one(what: &str, value: f64) -> Result<()> {
    match (0.0..1.0).contains(&value) {
        true => Ok(()),
        false => Err(Error::Input(format!("{what} must be from 0 to below 1, not {value}"))),
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
    check_step(objective, views, width, &Step::default(), |views, _| twin(views));
}

/// The same with parameters of the model's own; the twin sees them too.
#[cfg(test)]
fn check_step(
    objective: &dyn Objective,
    views: &[Vec<f32>],
    width: usize,
    step: &Step,
    twin: impl Fn(&[Vec<f64>], &[f64]) -> f64,
) {
    let rows = views[0].len() / width;
    let loss = objective.loss(views.concat(), width, &Step { rows, ..*step }).unwrap();
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&value| value as f64).collect() };
    let mut exact: Vec<Vec<f64>> = views.iter().map(|view| wide(view)).collect();
    exact.push(wide(step.own));
    let of = |all: &[Vec<f64>]| twin(&all[..views.len()], &all[views.len()]);
    let expected = of(&exact);
    assert!((loss.value - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{} and {expected}", loss.value);
    let mut gradients: Vec<&[f32]> = loss.gradient.chunks(views[0].len()).collect();
    gradients.push(&loss.of_own);
    for (part, gradient) in gradients.iter().enumerate() {
        assert_eq!(gradient.len(), exact[part].len());
        let largest = gradient.iter().fold(0f32, |most, g| most.max(g.abs())) as f64;
        assert!(largest > 0.0 || gradient.is_empty(), "the gradient is not zero");
        for (at, &got) in gradient.iter().enumerate() {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[part][at] += by;
                of(&moved)
            };
            let derivative = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let close = (got as f64 - derivative).abs() < 1e-3 * (derivative.abs() + 0.05 * largest);
            assert!(close, "part {part}, number {at}: {got} and {derivative}");
        }
    }
}

/// Rows of numbers for tests, neither regular nor random.
#[cfg(test)]
fn some_rows(rows: usize, width: usize, salt: u64) -> Vec<f32> {
    let number = |i: u64| (crate::random::mix(i ^ salt << 40) >> 40) as f32 / (1 << 23) as f32 - 1.0;
    (0..(rows * width) as u64).map(number).collect()
}
