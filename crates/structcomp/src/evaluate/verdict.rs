//! Whether an embedding is better than everything that needs no training.

use super::{Accuracy, ByControl, Comparison, Control};
use crate::Result;
use serde::{Serialize, Serializer};
use std::fmt;

/// What counts as chance.
const LEVEL: f64 = 0.05;

/// An embedding against the best of the controls without training, on the same splits.
///
/// It is *better* if a one-sided paired t-test says so against every control; p is the largest of these p-values. Such
/// a test stays valid although the best control is picked after looking: it claims no more than what holds against
/// each. It is *worse* if the test says so against some control after multiplying the p-value with the number of
/// controls (Bonferroni). Otherwise there is no clear difference, and p is the smaller of the two.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The control with the highest mean accuracy.
    pub against: &'static Control,
    /// The mean accuracy of the embedding minus that of the control.
    pub difference: f64,
    /// The p-value of this verdict.
    pub p: f64,
    /// Whether the embedding is better; none if the difference may be chance.
    pub better: Option<bool>,
    /// The mean accuracies of the embedding and of the control.
    pub means: [f64; 2],
    /// The number of controls.
    pub controls: usize,
}

impl Verdict {
    /// None for a single split, or without controls.
    pub(super) fn of(embedding: &Accuracy, controls: &ByControl<Accuracy>) -> Result<Option<Self>> {
        let Some((against, best)) = controls.best().filter(|_| embedding.runs > 1) else { return Ok(None) };
        let (mut all_below, mut some_above, mut count) = (0.0f64, 1.0f64, 0);
        for (_, accuracy) in controls.untrained() {
            let comparison = Comparison::paired(&embedding.per_split, &accuracy.per_split)?;
            all_below = all_below.max(comparison.p_greater());
            some_above = some_above.min(comparison.p_less());
            count += 1;
        }
        let worse = (some_above * count as f64).min(1.0);
        let (better, p) = match () {
            () if all_below < LEVEL => (Some(true), all_below),
            () if worse < LEVEL => (Some(false), worse),
            () => (None, all_below.min(worse)),
        };
        let difference = Comparison::paired(&embedding.per_split, &best.per_split)?.difference;
        Ok(Some(Self { against, difference, p, better, means: [embedding.mean, best.mean], controls: count }))
    }

    /// "better than", "worse than" or "no clear difference from".
    fn word(&self) -> &'static str {
        match self.better {
            Some(true) => "better than",
            Some(false) => "worse than",
            None => "no clear difference from",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([own, other], count) = (self.means, self.controls);
        write!(f, "{} the best of {count} embeddings without training: ", self.word())?;
        write!(
            f,
            "{own:.1} % against {other:.1} % for {}, {:+.1} points ",
            self.against.label, self.difference
        )?;
        match self.p {
            p if p < 0.001 => write!(f, "(p = {p:.1e})"),
            p => write!(f, "(p = {p:.3})"),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            against: &'static str,
            difference: f64,
            p: f64,
            better: Option<bool>,
        }
        let Self { against, difference, p, better, .. } = *self;
        Fields { against: against.name, difference, p, better }.serialize(serializer)
    }
}
