//! What an embedding is compared with: rows that need no training, and the same training on random clusters.
//!
//! A control is a line in [`CONTROLS`].

mod ggcm;
mod rows;
mod slimg;

use super::{Accuracy, Agreement, HeldOut, KMeans, LinkScore, Probe, Verdict};
use crate::{Dataset, Dense, Error, Features, Fitted, Graph, Labels, Result, Seed, SplitSet, progress};
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
    /// The names of those that need no model.
    pub fn untrained() -> Vec<&'static str> {
        let hopped = CONTROLS.iter().filter(|control| matches!(control.rows, Rows::Hopped(_)));
        hopped.map(|control| control.name).collect()
    }

    /// A control by name.
    pub fn named(name: &str) -> Result<&'static Self> {
        CONTROLS.iter().find(|control| control.name == name).ok_or_else(|| {
            let known: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
            Error::Input(format!("unknown control '{name}'; expected one of {}", known.join(", ")))
        })
    }

    /// Its rows; an error for controls that need a model.
    ///
    /// Rows start from all features if these are at most 8 million numbers, or at most 1,024 columns of 32,000 nodes, and
    /// otherwise from their 512 leading principal axes; above 32,000 nodes, from 256 axes where there are more features.
    /// Powers of Â times X are always those of all features.
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
        found.ok_or_else(|| {
            let (name, others) = (self.name, Self::untrained().join(", "));
            Error::Input(format!("'{name}' needs a trained model; without one there are {others}"))
        })
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
    thorough: bool,
}

impl<'a> Controls<'a> {
    /// Controls that need no model.
    pub fn of_features(graph: &'a Graph, features: &'a Features) -> Self {
        Self::new(graph, Cow::Borrowed(features), None)
    }

    /// The controls of a model; features are prepared as the model does.
    pub fn of_model(fitted: &'a Fitted, data: &'a Dataset) -> Result<Self> {
        Ok(Self::new(&data.graph, fitted.features(data)?, Some((fitted, data))))
    }

    fn new(graph: &'a Graph, features: Cow<'a, Features>, model: Option<(&'a Fitted, &'a Dataset)>) -> Self {
        Self { graph, features, model, random_clusters: false, few: false, thorough: false }
    }

    /// Whether to train on random clusters as well.
    pub fn with_random_clusters(self, random_clusters: bool) -> Self {
        Self { random_clusters, ..self }
    }

    /// Only X, Â²X and, of a model, the encoder: what the paper's tables are compared with.
    pub fn few(self) -> Self {
        Self { few: true, ..self }
    }

    /// Whether to compute rows of many hops on any graph, however long that takes.
    pub fn thorough(self, thorough: bool) -> Self {
        Self { thorough, ..self }
    }

    /// The controls that are left out because hops take long on this graph.
    pub fn left_out(&self) -> Vec<&'static Control> {
        let expensive = |rows| rows::is_expensive(rows, self.graph, &self.features);
        let left_out = |control: &&Control| matches!(control.rows, Rows::Hopped(rows) if !self.thorough && expensive(rows));
        CONTROLS.iter().filter(left_out).collect()
    }

    /// Judges every control. Rows are computed one control at a time, so that memory holds few of them.
    pub fn each<T>(&self, judge: impl FnMut(&Features) -> Result<T>) -> Result<ByControl<T>> {
        self.judged(true, judge)
    }

    /// With `exact`, powers of Â times X are not projected first.
    fn judged<T>(&self, exact: bool, mut judge: impl FnMut(&Features) -> Result<T>) -> Result<ByControl<T>> {
        let left_out: Vec<&str> = self.left_out().iter().map(|control| control.name).collect();
        let is_wanted = |control: &&Control| match self.few {
            true => FEW.contains(&control.name),
            false => !left_out.contains(&control.name),
        };
        let wanted: Vec<&'static Control> = CONTROLS.iter().filter(is_wanted).collect();
        let mut results = Vec::new();
        progress::parts(wanted.len());
        rows::each(self.graph, &self.features, exact, &wanted, |control, rows| {
            results.push((control, judge(rows)?));
            progress::part_done();
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
            progress::part_done();
        }
        progress::parts(0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;

    #[test]
    fn each_control_without_training_can_be_the_best_and_counts_in_the_verdict() {
        let accuracy =
            |mean: f64| Accuracy { mean, std: 1.0, runs: 3, per_split: vec![mean - 1.0, mean, mean + 1.5] };
        let untrained = CONTROLS.iter().filter(|control| control.name != "random_clusters");
        for strong in untrained {
            let of = |control: &'static Control| {
                (control, accuracy(if control.name == strong.name { 70.0 } else { 60.0 }))
            };
            let found = ByControl { results: CONTROLS.iter().map(of).collect() };
            assert_eq!(found.best().unwrap().0.name, strong.name);
            for (own, better) in [(65.0, Some(false)), (75.0, Some(true))] {
                let mut own = accuracy(own);
                own.per_split[0] += 0.1;
                let verdict = found.verdict(&own).unwrap().unwrap();
                assert_eq!(
                    (verdict.against.name, verdict.better, verdict.controls),
                    (strong.name, better, 10)
                );
            }
        }
    }

    #[test]
    fn rows_of_many_hops_are_left_out_where_hops_take_long_unless_asked_for() {
        // 2000 nodes with 260 neighbours each, and 4000 features, all of them zero.
        let edges: Vec<(u32, u32)> =
            (0..2000).flat_map(|node| (1..=130).map(move |by| (node, (node + by) % 2000))).collect();
        let graph = Graph::from_edges(2000, &edges).unwrap();
        let x = Features::Sparse(Csr::new(4000, vec![0; 2001], vec![], vec![]).unwrap());
        let names = |controls: &Controls| -> Vec<&str> {
            controls.left_out().iter().map(|control| control.name).collect()
        };
        let controls = Controls::of_features(&graph, &x);
        assert_eq!(names(&controls), ["ssgc16", "ggcm", "slimg"]);
        assert!(names(&controls.clone().thorough(true)).is_empty());
        let small = Graph::from_edges(2000, &edges[..1000]).unwrap();
        assert!(names(&Controls::of_features(&small, &x)).is_empty());
    }
}
