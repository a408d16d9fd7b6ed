//! The paper's main table.

use super::{Experiment, TABLE};
use crate::draft::{BOTH, MODELS, Place, SMALL, places};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "small",
    title: "Accuracy on the small graphs",
    caption: "A logistic regression (C = 1) is trained on 20 random nodes per class and tested on all others; Cora uses \
              the authors' splits. Â²X is two hops of the features without training, untrained the same encoder with \
              its initial weights, and random clusters the same training on as many random clusters.",
    drafts: || places(&MODELS, &SMALL, &BOTH).iter().map(Place::draft).collect(),
    paper: include_str!("small.toml"),
    ..TABLE
};
