//! Models other than the paper's four.

use super::{Experiment, TABLE};
use crate::draft::{BOTH, CITATIONS, Place, places};

const MODELS: [&str; 7] = ["blockgcl", "sp-gcl", "contrast-reg", "ggd", "dgi", "mvgrl", "bgrl"];

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "recent",
    title: "Other models",
    caption: "Models that the paper trains on the whole graph only, and three older ones. It leaves training them on \
              clusters as future work.",
    drafts: || places(&MODELS, &CITATIONS, &BOTH).iter().map(Place::draft).collect(),
    paper: include_str!("recent.toml"),
    ..TABLE
};
