//! Accuracy with an encoder of sixteen hops.

use super::{Experiment, TABLE};
use crate::Setup;
use crate::draft::{BOTH, CITATIONS, MODELS, places};
use structcomp::{EncoderKind, Training};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "deep",
    title: "A deep encoder: SSGC with 16 hops",
    caption: "The layers see αX + (1 − α)/K Σ Âᵏ X with α = 0.05 and K = 16; the paper does not give α and K. Other \
              settings are those of the small graphs.",
    drafts: || {
        places(&MODELS, &CITATIONS, &BOTH).iter().map(|place| Ok(place.draft()?.set(deepen))).collect()
    },
    paper: include_str!("deep.toml"),
    ..TABLE
};

fn deepen(setup: &mut Setup) {
    let (encoder, hops, ssgc_alpha) = (Some(EncoderKind::Ssgc), Some(16), Some(0.05));
    setup.training = setup.training.take().map(|training| Training { encoder, hops, ssgc_alpha, ..training });
}
