//! What an embedding is compared with: rows that need no training, and the same training on random clusters.
//!
//! A control is a line in [`CONTROLS`].

use super::{Accuracy, Agreement, Comparison, HeldOut, KMeans, LinkScore, Probe};
use crate::{
    Dataset, Dense, Features, Fitted, Graph, Labels, Normalization, Propagation, Result, Seed, SplitSet,
};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A control: rows that are judged as the embedding is.
#[derive(Debug)]
pub struct Control {
    /// The key in reports, such as `propagated`.
    pub name: &'static str,
    /// The label in tables, such as `Â²X`.
    pub label: &'static str,
    /// What it is, such as "two hops, no training".
    pub about: &'static str,
    rows: Rows,
}

/// How the rows of a control are computed, and what from.
#[derive(Debug)]
enum Rows {
    Features(for<'x> fn(&Graph, &'x Features) -> Result<Cow<'x, Features>>),
    Model(fn(&Fitted, &Dataset, &Features) -> Result<Option<Dense>>),
    /// Trains again, so it is only done on request.
    RandomClusters,
}

/// Every control, in the order of reports.
pub const CONTROLS: &[Control] = &[
    Control {
        name: "features",
        label: "X",
        about: "the features alone",
        rows: Rows::Features(|_, x| Ok(Cow::Borrowed(x))),
    },
    Control {
        name: "propagated",
        label: "Â²X",
        about: "two hops, no training",
        rows: Rows::Features(|graph, x| {
            Ok(Cow::Owned(Propagation::new(graph, Normalization::Symmetric).power(x, 2)?))
        }),
    },
    Control {
        name: "encoder",
        label: "encoder",
        about: "the same encoder, not trained",
        rows: Rows::Model(|fitted, data, x| {
            fitted.untrained(data)?.map(|encoder| encoder.embed(&data.graph, x)).transpose()
        }),
    },
    Control {
        name: "random_clusters",
        label: "random",
        about: "the same training on random clusters",
        rows: Rows::RandomClusters,
    },
];

/// The controls of a graph, or of a model on a graph.
///
/// ```
/// use structcomp::{Controls, Probe, Seed, SplitSet, data};
///
/// let demo = data::Synthetic::named("demo").unwrap().generate(Seed(0))?;
/// let (x, labels) = (demo.features.as_ref().unwrap(), demo.labels.as_ref().unwrap());
/// let splits = SplitSet::random(labels, 20, 3, Seed(0));
/// let controls = Controls::of_features(&demo.graph, x);
/// let found = controls.classify(&Probe::default(), labels, &splits, Seed(0))?;
/// assert!(found.get("propagated").unwrap().mean > found.get("features").unwrap().mean);
/// # Ok::<(), structcomp::Error>(())
/// ```
pub struct Controls<'a> {
    graph: &'a Graph,
    features: Cow<'a, Features>,
    model: Option<(&'a Fitted, &'a Dataset)>,
    random_clusters: bool,
}

impl<'a> Controls<'a> {
    /// Controls that need no model.
    pub fn of_features(graph: &'a Graph, features: &'a Features) -> Self {
        Self { graph, features: Cow::Borrowed(features), model: None, random_clusters: false }
    }

    /// The controls of a model; features are prepared as the model does.
    pub fn of_model(fitted: &'a Fitted, data: &'a Dataset) -> Result<Self> {
        let features = fitted.features(data)?;
        Ok(Self { graph: &data.graph, features, model: Some((fitted, data)), random_clusters: false })
    }

    /// Whether to train on random clusters as well.
    pub fn with_random_clusters(self, random_clusters: bool) -> Self {
        Self { random_clusters, ..self }
    }

    /// Judges every control. Rows are computed one control at a time, so that memory holds one of them.
    pub fn each<T>(&self, mut judge: impl FnMut(&Features) -> Result<T>) -> Result<ByControl<T>> {
        let mut results = Vec::new();
        for control in CONTROLS {
            let dense = |rows: Dense| Cow::Owned(Features::Dense(rows));
            let rows = match (&control.rows, self.model) {
                (Rows::Features(rows), _) => rows(self.graph, &self.features)?,
                (Rows::Model(rows), Some((fitted, data))) => match rows(fitted, data, &self.features)? {
                    Some(rows) => dense(rows),
                    None => continue,
                },
                (Rows::RandomClusters, Some((fitted, data))) if self.random_clusters => {
                    dense(fitted.on_random_clusters(data)?.embed(data)?)
                }
                _ => continue,
            };
            results.push((control, judge(&rows)?));
        }
        Ok(ByControl { results })
    }

    /// How often a probe is right on every control.
    pub fn classify(
        &self,
        probe: &Probe,
        labels: &Labels,
        splits: &SplitSet,
        seed: Seed,
    ) -> Result<ByControl<Accuracy>> {
        self.each(|x| probe.classify(x, labels, splits, seed))
    }

    /// How well every control tells held-out edges from non-edges.
    pub fn links(&self, held_out: &HeldOut) -> Result<ByControl<LinkScore>> {
        self.each(|x| held_out.judge(x))
    }

    /// How well k-means finds the classes in every control.
    pub fn cluster(&self, kmeans: &KMeans, labels: &Labels, seed: Seed) -> Result<ByControl<Agreement>> {
        self.each(|x| Agreement::of(&kmeans.cluster(x, seed)?.of, labels))
    }
}

/// A result for each control; serialised as a map from the control's name.
#[derive(Clone, Debug)]
pub struct ByControl<T> {
    results: Vec<(&'static Control, T)>,
}

impl<T> ByControl<T> {
    /// The controls with their results, in the order of [`CONTROLS`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Control, &T)> {
        self.results.iter().map(|(control, result)| (*control, result))
    }

    /// The result of a control by name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.find(name).map(|(_, result)| result)
    }

    fn find(&self, name: &str) -> Option<(&'static Control, &T)> {
        self.iter().find(|(control, _)| control.name == name)
    }
}

impl ByControl<Accuracy> {
    /// The control with the highest mean accuracy, the first of several.
    pub fn best(&self) -> Option<(&'static Control, &Accuracy)> {
        self.iter().reduce(|best, next| if next.1.mean > best.1.mean { next } else { best })
    }

    /// The control that the verdict is against.
    fn rival(&self) -> Option<(&'static Control, &Accuracy)> {
        self.find("propagated")
    }

    /// Whether an embedding is better than its rival among the controls; none for a single split.
    pub fn verdict(&self, embedding: &Accuracy) -> Result<Option<Verdict>> {
        match self.rival() {
            Some((control, accuracy)) if embedding.runs > 1 => {
                let comparison = Comparison::paired(&embedding.per_split, &accuracy.per_split)?;
                Ok(Some(Verdict { against: control, comparison }))
            }
            _ => Ok(None),
        }
    }
}

impl<T: Serialize> Serialize for ByControl<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(control, result)| (control.name, result)))
    }
}

/// An embedding against a control, on the same splits.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The control.
    pub against: &'static Control,
    /// The difference, and whether it may be chance.
    pub comparison: Comparison,
}

impl Verdict {
    /// Whether the embedding is better; none if the difference may be chance (p ≥ 0.05).
    pub fn better(&self) -> Option<bool> {
        (self.comparison.p_value < 0.05).then_some(self.comparison.difference > 0.0)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.better() {
            Some(true) => "better",
            Some(false) => "worse",
            None => "no clear difference",
        };
        write!(f, "against {}: {verdict} (paired t test, ", self.against.label)?;
        match self.comparison.p_value {
            p if p < 0.001 => write!(f, "p = {p:.1e})"),
            p => write!(f, "p = {p:.3})"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            against: &'static str,
            difference: f64,
            p: f64,
            better: Option<bool>,
        }
        let Comparison { difference, p_value: p } = self.comparison;
        Fields { against: self.against.name, difference, p, better: self.better() }.serialize(serializer)
    }
}
