//! The accuracy of an embedding next to that of its controls.

use crate::terminal::Lines;
use anyhow::Result;
use serde::Serialize;
use structcomp::evaluate::{Accuracy, ByControl, Comparison, Verdict};
use structcomp::{Controls, Features, Labels, Probe, Seed, SplitSet};

/// By the same probe on the same splits.
#[derive(Serialize)]
pub(super) struct Judgement {
    pub(super) accuracy: AccuracyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) untrained: Option<ByControl<Accuracy>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verdict: Option<Verdict>,
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
        let accuracy = probe.classify(embedding, labels, splits, seed)?;
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
        };
        Ok(Self { accuracy, untrained, verdict })
    }

    /// A line for the embedding, for every control and for the verdict.
    pub(super) fn rows(&self, lines: &mut Lines) {
        let AccuracyReport { accuracy, splits, .. } = &self.accuracy;
        let mut row = |label: &str, Accuracy { mean, std, .. }: &Accuracy, about: &str| {
            lines.row(label, format!("{mean:.2} ± {std:.2}"), about.to_owned());
        };
        let count = if accuracy.runs == 1 { "1 split".into() } else { format!("{} splits", accuracy.runs) };
        row("accuracy", accuracy, &format!("test accuracy (%), {count} ({splits})"));
        for (control, accuracy) in self.untrained.iter().flat_map(ByControl::iter) {
            row(&format!("  {}", control.label), accuracy, control.about);
        }
        if let Some(verdict) = &self.verdict {
            lines.row("verdict", format!("{:+.2}", verdict.comparison.difference), verdict.to_string());
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
