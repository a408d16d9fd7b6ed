//! Accuracy after random edges were added.

use super::{Experiment, TABLE};
use crate::draft::{BOTH, CITATIONS, MODELS, places};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "noise",
    title: "Ten percent random edges added",
    caption: "Random edges, a tenth of the number of edges, are added before partitioning, training and inference. \
              Settings are those without noise.",
    drafts: || {
        let noisy = |draft: crate::draft::Draft| draft.set(|setup| setup.noise = 0.1);
        places(&MODELS, &CITATIONS, &BOTH).iter().map(|place| place.draft().map(noisy)).collect()
    },
    paper: include_str!("noise.toml"),
    ..TABLE
};
