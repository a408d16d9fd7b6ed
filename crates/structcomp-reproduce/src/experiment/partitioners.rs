//! Accuracy on clusters by other methods.

use super::{Experiment, TABLE};
use crate::draft::{CITATIONS, CLUSTERS, Draft, places};
use structcomp::Result;
use structcomp::partition::METHODS;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "partitioners",
    title: "Other partitioners",
    caption: "The coarsening methods of the paper, METIS, and our multilevel method, which all other tables use. The \
              paper's number next to multilevel is that of METIS.",
    drafts,
    paper: include_str!("partitioners.toml"),
    ..TABLE
};

fn drafts() -> Result<Vec<Draft>> {
    let mut drafts = Vec::new();
    for method in ["variation-neighborhoods", "algebraic-jc", "affinity-gs", "metis", "multilevel"] {
        // A build may leave METIS out.
        if METHODS.iter().all(|known| known.name != method) {
            continue;
        }
        for place in places(&["sce", "coles"], &CITATIONS, &CLUSTERS) {
            let draft = place.draft()?.set(|setup| setup.partitioning.method = method.to_owned());
            drafts.push(draft.variation(method));
        }
    }
    Ok(drafts)
}
