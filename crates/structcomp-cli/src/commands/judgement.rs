//! The accuracy of an embedding next to that of its controls.

use crate::terminal::Lines;
use anyhow::Result;
use clap::Args;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use structcomp::evaluate::{Accuracy, ByControl, Comparison, LogisticCv, Verdict};
use structcomp::{Controls, Dataset, Features, Labels, Probe, Seed, SplitSet};

#[derive(Args)]
pub(super) struct Judge {
    /// Classifier: logistic-cv (C chosen by cross-validation among the training nodes), logistic (C = 1 on rows as they
    /// are: the paper's choice for small datasets), mlp (large ones) or softmax (heterophilous ones)
    #[arg(long, value_name = "PROBE", default_value = "logistic-cv", value_parser = clap::builder::PossibleValuesParser::new(Probe::NAMES), hide_possible_values = true, help_heading = "Evaluation")]
    probe: String,
    /// Test nodes of each split for logistic-cv, drawn at random where there are more; 0 for all
    #[arg(long, value_name = "N", default_value_t = 4000, help_heading = "Evaluation")]
    test_nodes: usize,
    /// On graphs of any size, use all training nodes and compare with all embeddings without training
    #[arg(long, help_heading = "Evaluation")]
    thorough: bool,
}

/// Above so many nodes, logistic-cv is trained on at most so many.
const LARGE: usize = 100_000;
const TRAIN_NODES: usize = 10_000;

impl Judge {
    /// With the settings for a dataset.
    pub(super) fn probe(&self, dataset: &Dataset) -> Result<Probe> {
        Ok(match Probe::named(&self.probe, &dataset.name)? {
            Probe::LogisticCv(_) => {
                let large = dataset.graph.nodes() > LARGE && !self.thorough;
                let test_nodes = Some(self.test_nodes).filter(|&nodes| nodes > 0);
                Probe::LogisticCv(LogisticCv { test_nodes, train_nodes: large.then_some(TRAIN_NODES) })
            }
            other => other,
        })
    }

    /// Of these controls, those to compare with.
    pub(super) fn controls<'a>(&self, controls: Controls<'a>) -> Controls<'a> {
        controls.thorough(self.thorough)
    }
}

/// What is left out to save time, in one sentence.
fn sampled(controls: Option<&Controls>, probe: &Probe, splits: &SplitSet) -> Option<String> {
    let nodes = match probe {
        Probe::LogisticCv(regression) => regression.left_out(splits),
        _ => None,
    };
    let left_out = controls.map(Controls::left_out).unwrap_or_default();
    let names: Vec<&str> = left_out.iter().map(|control| control.label).collect();
    let rows = (!names.is_empty()).then(|| {
        format!(
            "{} would take long on this graph and are left out unless --thorough is given",
            names.join(", ")
        )
    });
    let parts: Vec<String> = nodes.into_iter().chain(rows).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// By the same probe on the same splits.
#[derive(Serialize)]
pub(super) struct Judgement {
    pub(super) accuracy: AccuracyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) untrained: Option<ByControl<Accuracy>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<Verdict>,
    /// What was left out to save time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sampled: Option<String>,
}

#[derive(Serialize)]
pub(super) struct AccuracyReport {
    #[serde(flatten)]
    pub(super) accuracy: Accuracy,
    pub(super) splits: String,
    pub(super) classifier: String,
    /// A paired test against a control; absent for a single split.
    #[serde(skip_serializing_if = "Option::is_none")]
    against_features: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against_propagated: Option<Comparison>,
    /// Classes too small for the splits, as `[class, nodes]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    small_classes: Vec<(u32, usize)>,
    /// How often test nodes of a class were taken for each class; reports have the share that is right.
    #[serde(rename = "per_class", serialize_with = "shares_right")]
    pub(super) confusion: Vec<BTreeMap<u32, u64>>,
}

/// The accuracy of each class in percent; none without test nodes.
fn shares_right<S: Serializer>(confusion: &[BTreeMap<u32, u64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq((0..).zip(confusion).map(|(class, counts)| {
        let (tests, right) = (counts.values().sum::<u64>(), counts.get(&class).copied().unwrap_or(0));
        (tests > 0).then(|| 100.0 * right as f64 / tests as f64)
    }))
}

impl Judgement {
    /// Judges an embedding and its controls, if there are any.
    pub(super) fn of(
        embedding: &Features,
        controls: Option<&Controls>,
        probe: &Probe,
        (labels, splits): (&Labels, &SplitSet),
        seed: Seed,
    ) -> Result<Self> {
        let predictions = probe.predict(embedding, labels, splits, seed)?;
        let accuracy = predictions.accuracy();
        let untrained =
            controls.map(|controls| controls.classify(probe, labels, splits, seed)).transpose()?;
        let verdict = match &untrained {
            Some(untrained) => untrained.verdict(&accuracy)?,
            None => None,
        };
        let against = |name: &str| {
            let control = untrained.as_ref().and_then(|untrained| untrained.get(name));
            let control = control.filter(|_| accuracy.runs > 1);
            control.map(|control| Comparison::paired(&accuracy.per_split, &control.per_split)).transpose()
        };
        let (against_features, against_propagated) = (against("features")?, against("propagated")?);
        let accuracy = AccuracyReport {
            accuracy,
            splits: splits.name.clone(),
            classifier: probe.to_string(),
            against_features,
            against_propagated,
            small_classes: splits.small_classes.clone(),
            confusion: predictions.confusion(labels.classes()),
        };
        Ok(Self { accuracy, untrained, verdict, sampled: sampled(controls, probe, splits) })
    }

    /// A line for the embedding, for every control and for the verdict.
    pub(super) fn rows(&self, lines: &mut Lines) {
        let AccuracyReport { accuracy, splits, classifier, .. } = &self.accuracy;
        let own = accuracy.mean;
        let mut row = |label: &str, Accuracy { mean, std, .. }: &Accuracy, about: &str| {
            lines.row(label, format!("{mean:.2} ± {std:.2}"), about.to_owned());
        };
        let count = if accuracy.runs == 1 { "1 split".into() } else { format!("{} splits", accuracy.runs) };
        row("accuracy", accuracy, &format!("test accuracy (%), {count} ({splits})"));
        for (control, accuracy) in self.untrained.iter().flat_map(ByControl::iter) {
            let about = format!("{:+6.2}  {}", own - accuracy.mean, control.about);
            row(&format!("  {}", control.label), accuracy, &about);
        }
        if let Some(verdict) = &self.verdict {
            lines.row("verdict", String::new(), verdict.to_string());
        }
        lines.row("classifier", String::new(), classifier.clone());
        if let Some(sampled) = &self.sampled {
            lines.row("sampled", String::new(), sampled.clone());
        }
    }

    /// A line for every class that is too small for the splits.
    pub(super) fn notes(&self, lines: &mut Lines, labels: &Labels) {
        for &(class, nodes) in &self.accuracy.small_classes {
            let name = labels.names().and_then(|names| names.get(class as usize));
            let name = name.map_or_else(|| class.to_string(), |name| format!("'{name}'"));
            let about = format!("class {name} has only {nodes} nodes, {} of them for training", nodes / 2);
            lines.row("note", String::new(), about);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use structcomp::{Csr, Graph};

    #[test]
    fn embeddings_that_are_left_out_are_named() {
        // 2000 nodes with 260 neighbours each, and 4000 features: hops take long.
        let edges: Vec<(u32, u32)> =
            (0..2000).flat_map(|node| (1..=130).map(move |by| (node, (node + by) % 2000))).collect();
        let graph = Graph::from_edges(2000, &edges).unwrap();
        let x = Features::Sparse(Csr::new(4000, vec![0; 2001], vec![], vec![]).unwrap());
        let controls = Controls::of_features(&graph, &x);
        let (probe, splits) = (Probe::named("logistic-cv", "").unwrap(), SplitSet::named("none", vec![]));
        let said = sampled(Some(&controls), &probe, &splits).unwrap();
        assert_eq!(
            said,
            "SSGC-16, GGCM, SlimG would take long on this graph and are left out unless --thorough is given"
        );
        assert_eq!(sampled(Some(&controls.thorough(true)), &probe, &splits), None);
    }
}
