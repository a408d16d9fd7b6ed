//! What an embedding is compared with: rows that need no training, and the same training on random clusters.
//!
//! A control is a line in [`CONTROLS`].

mod ggcm;
mod rows;
mod slimg;

use super::{Accuracy, Agreement, HeldOut, KMeans, LinkScore, Probe, Verdict};
use crate::{Dataset, Dense, Error, Features, Fitted, Graph, Labels, Result, Seed, SplitSet};
use rows::Hopped;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

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
    Hopped(Hopped),
    Model(fn(&Fitted, &Dataset, &Features) -> Result<Option<Dense>>),
    /// Trains again, so it is only done on request.
    RandomClusters,
}

/// Every control, in the order of reports.
pub const CONTROLS: &[Control] = &[
    hopped("features", "X", "the features alone", Hopped::Features),
    hopped("hop1", "ÂX", "one hop", Hopped::Power(1)),
    hopped("propagated", "Â²X", "two hops", Hopped::Power(2)),
    hopped("hops_mean", "mean", "the mean of X, ÂX and Â²X", Hopped::Mean),
    hopped("ssgc4", "SSGC-4", "5 % X and the mean of hops 1 to 4", Hopped::Ssgc(4)),
    hopped("ssgc16", "SSGC-16", "5 % X and the mean of hops 1 to 16", Hopped::Ssgc(16)),
    hopped("hops_concat", "[X|ÂX|Â²X]", "side by side", Hopped::Concat),
    hopped("ggcm", "GGCM", "16 hops, each next to a random sharpening", Hopped::Ggcm),
    hopped("slimg", "SlimG", "eigenvectors of A, X and two kinds of two hops", Hopped::SlimG),
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

const fn hopped(name: &'static str, label: &'static str, about: &'static str, rows: Hopped) -> Control {
    Control { name, label, about, rows: Rows::Hopped(rows) }
}

/// The controls that the paper and measures other than classification are compared with.
const FEW: [&str; 4] = ["features", "propagated", "encoder", "random_clusters"];

impl Control {
    /// A control by name.
    pub fn named(name: &str) -> Result<&'static Self> {
        CONTROLS.iter().find(|control| control.name == name).ok_or_else(|| {
            let known: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
            Error::Input(format!("unknown control '{name}'; expected one of {}", known.join(", ")))
        })
    }

    /// Its rows; an error for controls that need a model.
    ///
    /// Wide features are projected on their leading 256 principal axes first, but for powers of Â times X.
    ///
    /// ```
    /// use structcomp::{Seed, data, evaluate::Control};
    ///
    /// let demo = data::Synthetic::named("demo").unwrap().generate(Seed(0))?;
    /// let rows = Control::named("ssgc16")?.rows(&demo.graph, demo.features.as_ref().unwrap())?;
    /// assert_eq!(rows.rows(), demo.graph.nodes());
    /// # Ok::<(), structcomp::Error>(())
    /// ```
    pub fn rows(&'static self, graph: &Graph, x: &Features) -> Result<Features> {
        let mut found = None;
        rows::each(graph, x, true, &[self], |_, rows| {
            found = Some(rows.clone());
            Ok(())
        })?;
        found.ok_or_else(|| Error::Input(format!("the control '{}' needs a trained model", self.name)))
    }
}

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
#[derive(Clone)]
pub struct Controls<'a> {
    graph: &'a Graph,
    features: Cow<'a, Features>,
    model: Option<(&'a Fitted, &'a Dataset)>,
    random_clusters: bool,
    few: bool,
}

impl<'a> Controls<'a> {
    /// Controls that need no model.
    pub fn of_features(graph: &'a Graph, features: &'a Features) -> Self {
        Self { graph, features: Cow::Borrowed(features), model: None, random_clusters: false, few: false }
    }

    /// The controls of a model; features are prepared as the model does.
    pub fn of_model(fitted: &'a Fitted, data: &'a Dataset) -> Result<Self> {
        let features = fitted.features(data)?;
        Ok(Self {
            graph: &data.graph,
            features,
            model: Some((fitted, data)),
            random_clusters: false,
            few: false,
        })
    }

    /// Whether to train on random clusters as well.
    pub fn with_random_clusters(self, random_clusters: bool) -> Self {
        Self { random_clusters, ..self }
    }

    /// Only X, Â²X and, of a model, the encoder: what the paper's tables are compared with.
    pub fn few(self) -> Self {
        Self { few: true, ..self }
    }

    /// Judges every control. Rows are computed one control at a time, so that memory holds few of them.
    pub fn each<T>(&self, judge: impl FnMut(&Features) -> Result<T>) -> Result<ByControl<T>> {
        self.judged(true, judge)
    }

    /// With `exact`, powers of Â times X are not projected first.
    fn judged<T>(&self, exact: bool, mut judge: impl FnMut(&Features) -> Result<T>) -> Result<ByControl<T>> {
        let wanted: Vec<&'static Control> =
            CONTROLS.iter().filter(|control| !self.few || FEW.contains(&control.name)).collect();
        let mut results = Vec::new();
        rows::each(self.graph, &self.features, exact, &wanted, |control, rows| {
            results.push((control, judge(rows)?));
            Ok(())
        })?;
        for control in wanted {
            let rows = match (&control.rows, self.model) {
                (Rows::Model(rows), Some((fitted, data))) => match rows(fitted, data, &self.features)? {
                    Some(rows) => rows,
                    None => continue,
                },
                (Rows::RandomClusters, Some((fitted, data))) if self.random_clusters => {
                    fitted.on_random_clusters(data)?.embed(data)?
                }
                _ => continue,
            };
            results.push((control, judge(&Features::Dense(rows))?));
        }
        let place = |name: &str| CONTROLS.iter().position(|control| control.name == name);
        results.sort_by_key(|(control, _)| place(control.name));
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
        self.judged(!probe.treats_rows(), |x| probe.classify(x, labels, splits, seed))
    }

    /// How well the few controls tell held-out edges from non-edges.
    pub fn links(&self, held_out: &HeldOut) -> Result<ByControl<LinkScore>> {
        self.clone().few().each(|x| held_out.judge(x))
    }

    /// How well k-means finds the classes in the few controls.
    pub fn cluster(&self, kmeans: &KMeans, labels: &Labels, seed: Seed) -> Result<ByControl<Agreement>> {
        self.clone().few().each(|x| Agreement::of(&kmeans.cluster(x, seed)?.of, labels))
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
    /// Those that need no training.
    pub fn untrained(&self) -> impl Iterator<Item = (&'static Control, &Accuracy)> {
        self.iter().filter(|(control, _)| !matches!(control.rows, Rows::RandomClusters))
    }

    /// The control without training that has the highest mean accuracy, the first of several.
    pub fn best(&self) -> Option<(&'static Control, &Accuracy)> {
        self.untrained().reduce(|best, next| if next.1.mean > best.1.mean { next } else { best })
    }

    /// Whether an embedding is better than all controls without training; none for a single split.
    pub fn verdict(&self, embedding: &Accuracy) -> Result<Option<Verdict>> {
        Verdict::of(embedding, self)
    }
}

impl<T: Serialize> Serialize for ByControl<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(control, result)| (control.name, result)))
    }
}
