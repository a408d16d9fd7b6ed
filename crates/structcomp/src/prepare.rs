//! What is done to features before the first layer. It is fitted once and then part of the model.

mod association;
mod position;
mod scale;
mod stand_in;
mod subspace;

pub use scale::FeatureNorm;
pub use stand_in::StandIn;

use crate::safetensors::{Tensors, Writer};
use crate::{Budget, Dataset, Error, Features, Graph, Result, Seed};
use scale::Scale;
use serde::{Deserialize, Serialize};
pub(crate) use stand_in::FittedStandIn;
use std::borrow::Cow;

/// How features are prepared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Prepare {
    /// How features are scaled.
    pub feature_norm: FeatureNorm,
    /// What takes the place of features in a graph that has none.
    pub stand_in: StandIn,
    /// How many features a stand-in has.
    pub stand_in_width: usize,
}

impl Default for Prepare {
    fn default() -> Self {
        Self { feature_norm: FeatureNorm::None, stand_in: StandIn::Position, stand_in_width: 128 }
    }
}

/// Preparation with the statistics of the graph it was fitted on, ready for any other graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prepared {
    scale: Scale,
    stand_in: Option<FittedStandIn>,
    /// Columns that it takes; a stand-in makes them itself.
    columns: usize,
}

/// The part of [`Prepared`] that is written as text; the rest are arrays.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct PreparedNote {
    feature_norm: FeatureNorm,
    stand_in: Option<FittedStandIn>,
    columns: usize,
}

impl Prepare {
    /// Learns what there is to learn from a graph and its features, and prepares them.
    pub(crate) fn fit<'x>(
        &self,
        graph: &Graph,
        features: Option<&'x Features>,
        seed: Seed,
    ) -> Result<(Prepared, Cow<'x, Features>)> {
        let (stand_in, x) = match features {
            Some(x) => {
                check_rows(graph, x)?;
                (None, Cow::Borrowed(x))
            }
            None => {
                let fitted = FittedStandIn::new(self.stand_in, self.stand_in_width, graph, seed);
                let x = fitted.features(graph)?;
                (Some(fitted), Cow::Owned(x))
            }
        };
        if let (Features::Sparse(x), FeatureNorm::Standardize) = (&*x, self.feature_norm) {
            // Sparse rows may be as wide as a file says.
            let size = (x.rows() as u64).saturating_mul(x.cols() as u64);
            Budget::default().check_items("standardised features, which are dense,", size, 4)?;
        }
        let scale = Scale::fit(self.feature_norm, &x);
        let prepared = Prepared { scale, stand_in, columns: x.cols() };
        let x = prepared.scale.apply(x);
        Ok((prepared, x))
    }
}

impl Prepare {
    /// Prepares the features of a dataset in place, for all who need them without a model.
    pub fn dataset(&self, data: &mut Dataset, seed: Seed) -> Result<()> {
        data.source.notes.extend(self.note(data));
        let (_, x) = self.fit(&data.graph, data.features.as_ref(), seed)?;
        data.features = Some(x.into_owned());
        Ok(())
    }

    /// What a reader of results should know: whether a stand-in takes the place of features.
    pub fn note(&self, data: &Dataset) -> Option<String> {
        let Self { stand_in, stand_in_width: width, .. } = self;
        let missing = data.features.is_none();
        missing.then(|| format!("the graph has no features; {stand_in} stand in for them, {width} per node"))
    }
}

impl Prepared {
    /// The features of a graph, prepared as those of the graph it was fitted on.
    pub(crate) fn apply<'x>(
        &self,
        graph: &Graph,
        features: Option<&'x Features>,
    ) -> Result<Cow<'x, Features>> {
        let x = match (&self.stand_in, features) {
            (None, Some(x)) => {
                check_rows(graph, x)?;
                if x.cols() != self.columns {
                    return Err(Error::Input(format!(
                        "the model takes {} features per node, but these nodes have {}",
                        self.columns,
                        x.cols()
                    )));
                }
                Cow::Borrowed(x)
            }
            (None, None) => {
                return Err(Error::Input(format!(
                    "the model takes {} features per node, but the graph has none",
                    self.columns
                )));
            }
            (Some(stand_in), None) => Cow::Owned(stand_in.features(graph)?),
            (Some(stand_in), Some(_)) => {
                return Err(Error::Input(format!(
                    "the model was fitted on a graph without features ({} stood in for them), but this one has some",
                    stand_in.kind
                )));
            }
        };
        Ok(self.scale.apply(x))
    }

    /// How many columns prepared features have.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Whether features come from the graph itself.
    pub(crate) fn has_stand_in(&self) -> bool {
        self.stand_in.is_some()
    }

    pub(crate) fn note(&self) -> PreparedNote {
        PreparedNote { feature_norm: self.scale.norm, stand_in: self.stand_in.clone(), columns: self.columns }
    }

    pub(crate) fn write<'a>(&'a self, to: &mut Writer<'a>) {
        if self.scale.norm == FeatureNorm::Standardize {
            to.double("prepare.mean", &[self.columns], &self.scale.mean[..]);
            to.double("prepare.scale", &[self.columns], &self.scale.scale[..]);
        }
    }

    pub(crate) fn read(note: PreparedNote, from: &Tensors) -> Result<Self> {
        let PreparedNote { feature_norm: norm, stand_in, columns } = note;
        let column = |name: &str| match norm {
            FeatureNorm::Standardize => from.double(name, &[columns]),
            _ => Ok(Vec::new()),
        };
        let scale = Scale { norm, mean: column("prepare.mean")?, scale: column("prepare.scale")? };
        Ok(Self { scale, stand_in, columns })
    }
}

fn check_rows(graph: &Graph, x: &Features) -> Result<()> {
    match (x.rows(), graph.nodes()) {
        (rows, nodes) if rows == nodes => Ok(()),
        (rows, nodes) => {
            Err(Error::Input(format!("features have {rows} rows but the graph has {nodes} nodes")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;

    fn path(nodes: u32) -> Graph {
        Graph::from_edges(nodes as usize, &(1..nodes).map(|v| (v - 1, v)).collect::<Vec<_>>()).unwrap()
    }

    fn dense(rows: usize, values: &[f32]) -> Features {
        Features::Dense(Dense::new(rows, values.len() / rows, values.to_vec()).unwrap())
    }

    #[test]
    fn another_graph_is_scaled_by_the_statistics_of_the_first() {
        let prepare = Prepare { feature_norm: FeatureNorm::Standardize, ..Prepare::default() };
        let x = dense(2, &[1.0, 5.0, 3.0, 5.0]);
        let (prepared, scaled) = prepare.fit(&path(2), Some(&x), Seed(0)).unwrap();
        assert_eq!(scaled.to_dense().values(), [-1.0, 0.0, 1.0, 0.0]);
        // Mean 2 and deviation 1 are those of the first graph; the constant column stays zero.
        let other = dense(3, &[2.0, 9.0, 4.0, 9.0, 0.0, 9.0]);
        let scaled = prepared.apply(&path(3), Some(&other)).unwrap();
        assert_eq!(scaled.to_dense().values(), [0.0, 0.0, 2.0, 0.0, -2.0, 0.0]);
    }

    #[test]
    fn features_that_do_not_fit_are_refused() {
        let x = dense(3, &[1.0, 2.0, 3.0]);
        let error = |result: Result<Cow<'_, Features>>| result.unwrap_err().to_string();
        assert!(
            error(Prepare::default().fit(&path(2), Some(&x), Seed(0)).map(|fit| fit.1)).contains("3 rows")
        );
        let (prepared, _) = Prepare::default().fit(&path(3), Some(&x), Seed(0)).unwrap();
        assert!(error(prepared.apply(&path(3), None)).contains("the graph has none"));
        assert!(error(prepared.apply(&path(1), Some(&dense(1, &[1.0, 2.0])))).contains("nodes have 2"));
    }

    #[test]
    fn a_stand_in_serves_its_own_graph_and_only_degrees_another() {
        for kind in [StandIn::Position, StandIn::Degree] {
            let prepare = Prepare { stand_in: kind, stand_in_width: 4, ..Prepare::default() };
            let (prepared, x) = prepare.fit(&path(6), None, Seed(3)).unwrap();
            assert_eq!(prepared.apply(&path(6), None).unwrap(), x);
            let other = prepared.apply(&path(5), None);
            match kind {
                StandIn::Degree => assert_eq!(other.unwrap().cols(), 4),
                _ => assert!(other.unwrap_err().to_string().contains("another graph"), "{kind:?}"),
            }
            assert!(prepared.apply(&path(6), Some(&x)).unwrap_err().to_string().contains("stood in"));
        }
    }
}
