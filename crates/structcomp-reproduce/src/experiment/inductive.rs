//! Test nodes that training has not seen.

use super::{Experiment, TABLE};
use crate::Mode;
use crate::draft::{BOTH, Draft, MODELS, Place, SMALL, places};
use crate::generated::FLICKR;
use structcomp::{Result, Training};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "inductive",
    title: "Test nodes unseen in training",
    caption: "Half of the nodes are hidden from partitioning and training, and are the test nodes; the classifier is \
              trained on 20 of the other nodes per class. The paper did this on Flickr and Reddit. Where the data \
              folder has them in GraphSAINT's layout they are run too, with their own splits and a three-layer MLP. \
              The other datasets are the small graphs, and a synthetic graph of Flickr's size.",
    drafts,
    paper: include_str!("inductive.toml"),
    optional: &["flickr", "reddit"],
    ..TABLE
};

/// The paper's datasets: clusters, derived from the memory that it publishes, and the fraction of nodes not for
/// training.
const LARGE: [(&str, usize, f64); 2] = [("flickr", 2_000, 0.5), ("reddit", 15_343, 0.34)];

fn drafts() -> Result<Vec<Draft>> {
    let published = EXPERIMENT.published()?;
    let mut drafts = Vec::new();
    for model in MODELS {
        for place in places(&[model], &SMALL, &BOTH) {
            drafts.push(place.draft()?.set(|setup| {
                // Half of the nodes, so half of the clusters.
                setup.partitioning.clusters = setup.partitioning.clusters.map(|clusters| clusters / 2);
                (setup.unseen, setup.splits) = (0.5, "random20".into());
            }));
        }
        drafts.push(large(Place { model, dataset: FLICKR, mode: Mode::Structcomp }, 2_000, 0.5)?);
        for (dataset, clusters, unseen) in LARGE {
            for place in places(&[model], &[dataset], &BOTH) {
                // On the whole graph, what the paper could train there.
                if !published.numbers(&format!("{dataset}/{model}/{}", place.mode.name())).is_empty() {
                    drafts.push(large(place, clusters, unseen)?.set(|setup| {
                        (setup.splits, setup.probe) = ("roles".into(), "mlp".into());
                    }));
                }
            }
        }
    }
    Ok(drafts)
}

/// Nothing is documented for Flickr and Reddit: settings as on Photo, and 20 epochs.
fn large(place: Place, clusters: usize, unseen: f64) -> Result<Draft> {
    let draft = Place { dataset: "amazon-photo", ..place }.draft()?.set(|setup| {
        setup.training = setup.training.take().map(|training| Training { epochs: 20, ..training });
        setup.partitioning.clusters = setup.partitioning.clusters.map(|_| clusters);
        setup.unseen = unseen;
    });
    Ok(Draft { dataset: place.dataset.to_owned(), preset: None, ..draft })
}
