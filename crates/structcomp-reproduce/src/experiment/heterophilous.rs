//! SP-GCL on heterophilous graphs.

use super::{Experiment, TABLE};
use crate::Mode;
use crate::draft::{BOTH, Draft, HETEROPHILOUS, Place, places};
use structcomp::nn::Initial;
use structcomp::{Result, Training};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "heterophilous",
    title: "Heterophilous graphs",
    caption: "The ten splits of Geom-GCN, with a softmax regression selected by validation accuracy. The paper does \
              not say how it compressed SP-GCL; here there are a tenth as many clusters as nodes.",
    drafts: || places(&["sp-gcl"], &HETEROPHILOUS, &BOTH).iter().map(draft).collect(),
    paper: include_str!("heterophilous.toml"),
    ..TABLE
};

/// Both modes are trained with our settings for clusters, on features scaled as in the repository.
fn draft(place: &Place) -> Result<Draft> {
    let mut draft = Place { mode: Mode::Structcomp, ..*place }.draft()?;
    let repository = Place { mode: Mode::Full, ..*place }.preset()?;
    if let Some(preset) = &mut draft.preset {
        preset.feature_norm = repository.feature_norm;
        let norm = repository.sources.get_key_value("feature-norm");
        preset.sources.extend(norm.map(|(name, source)| (name.clone(), *source)));
    }
    let full = place.mode == Mode::Full;
    let draft = Draft { mode: place.mode, ..draft }.set(|setup| {
        (setup.splits, setup.probe) = ("geom-gcn".into(), "softmax".into());
        (setup.feature_norm, setup.random_clusters) = (repository.feature_norm, !full);
        if full {
            // Running statistics of batch norm have seen too few epochs; on clusters they are always measured again.
            // Batch norm undoes whatever scale and bias the weights start with, so both start alike.
            let (renormalize, initial) = (Some(true), Some(Initial::Linear));
            setup.training =
                setup.training.take().map(|training| Training { renormalize, initial, ..training });
        }
    });
    Ok(draft)
}
