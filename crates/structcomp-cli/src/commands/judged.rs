//! An accuracy as it is reported: with its splits, its classifier and how it compares.

use crate::terminal::Lines;
use anyhow::Result;
use serde::Serialize;
use structcomp::{Accuracy, Comparison, Probe, SplitSet};

#[derive(Serialize)]
pub(super) struct Judged {
    #[serde(flatten)]
    pub(super) accuracy: Accuracy,
    pub(super) splits: String,
    pub(super) classifier: String,
    /// Against the features alone, by a paired test; absent for a single split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) against_features: Option<Comparison>,
    /// Against two hops of the features without any training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) against_propagated: Option<Comparison>,
    /// Classes too small for the splits, as `[class, nodes]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) small_classes: Vec<(u32, usize)>,
}

impl Judged {
    /// `controls` are the accuracies of X and of Â²X on the same splits.
    pub(super) fn new(
        accuracy: Accuracy,
        splits: &SplitSet,
        probe: &Probe,
        controls: Option<(&Accuracy, &Accuracy)>,
    ) -> Result<Self> {
        let against = |control: &Accuracy| match accuracy.runs {
            0 | 1 => Ok(None),
            _ => Comparison::paired(&accuracy.per_split, &control.per_split).map(Some),
        };
        let (against_features, against_propagated) = match controls {
            Some((x, spread)) => (against(x)?, against(spread)?),
            None => (None, None),
        };
        Ok(Self {
            splits: splits.name.clone(),
            classifier: probe.to_string(),
            against_features,
            against_propagated,
            small_classes: splits.small_classes.clone(),
            accuracy,
        })
    }
}

pub(super) fn accuracy_row(lines: &mut Lines, label: &str, accuracy: &Accuracy, about: String) {
    lines.row(label, format!("{:.2} ± {:.2}", accuracy.mean, accuracy.std), about);
}

/// Whether the difference to `against` can be chance.
pub(super) fn verdict(lines: &mut Lines, against: &str, comparison: &Comparison) {
    let Comparison { difference, p_value } = comparison;
    let verdict = match difference {
        _ if *p_value >= 0.05 => "no clear difference",
        difference if *difference > 0.0 => "better",
        _ => "worse",
    };
    let chance = if *p_value < 0.001 { format!("p = {p_value:.1e}") } else { format!("p = {p_value:.3}") };
    lines.row(
        "verdict",
        format!("{difference:+.2}"),
        format!("against {against}: {verdict} (paired test, {chance})"),
    );
}
