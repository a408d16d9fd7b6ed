//! Ids of nodes, and edges between names.

use crate::arrays::{Reals, Whole};
use crate::edges::check_weights;
use crate::errors::{raise, wrong};
use pyo3::prelude::*;
use structcomp::data::EdgesByName;
use structcomp::graph::Repairs;
use structcomp::{Error, Graph, NodeIds, Result};

/// Ids from Python: integers or text.
#[derive(FromPyObject)]
pub(crate) enum Ids<'py> {
    /// An array of integers.
    Numbers(Whole<'py>),
    /// A list of strings.
    Names(Vec<String>),
}

impl Ids<'_> {
    pub(crate) fn ids(&self) -> PyResult<NodeIds> {
        match self {
            Self::Numbers(numbers) => {
                let numbers =
                    numbers.numbers()?.widened().ok_or_else(|| wrong("ids must not be negative"))?;
                NodeIds::from_numbers(numbers).map_err(raise)
            }
            Self::Names(_) => self.names(),
        }
    }

    /// The same as text, for edges between names.
    pub(crate) fn names(&self) -> PyResult<NodeIds> {
        let names = match self {
            Self::Numbers(numbers) => {
                let numbers = numbers.numbers()?;
                (0..numbers.len()).map(|at| numbers.at(at).to_string().into()).collect()
            }
            Self::Names(names) => names.iter().map(|name| name.as_str().into()).collect(),
        };
        NodeIds::from_names(names).map_err(raise)
    }
}

/// Edges between names, before they become a graph.
#[derive(Default)]
pub(crate) struct NamedList(EdgesByName);

impl NamedList {
    pub(crate) fn add<'a>(
        &mut self,
        sources: impl ExactSizeIterator<Item = &'a str>,
        targets: impl ExactSizeIterator<Item = &'a str>,
        weights: Option<&[f32]>,
    ) -> Result<()> {
        if sources.len() != targets.len() {
            let (a, b) = (sources.len(), targets.len());
            return Err(Error::Input(format!("edges have {a} sources but {b} targets")));
        }
        check_weights(weights.map(Reals::Single), sources.len())?;
        for (at, (source, target)) in sources.zip(targets).enumerate() {
            if source.is_empty() || target.is_empty() {
                return Err(Error::Input(format!("edge {at} has an empty id")));
            }
            self.0.push(source, target, weights.map_or(1.0, |weights| weights[at]));
        }
        Ok(())
    }

    pub(crate) fn build(self, ids: Option<NodeIds>) -> Result<(Graph, NodeIds, Repairs)> {
        self.0.build(ids)
    }
}
