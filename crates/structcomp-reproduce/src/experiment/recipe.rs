//! Our own recipe; the paper has none.

use super::{Experiment, TABLE};
use crate::draft::{CLUSTERS, Draft, HETEROPHILOUS, Place, SMALL, places};
use crate::parts::{Figure, Parts, accuracy, data_title, table::Table};
use crate::{Accuracies, Cell, Finished, Setup, Spread, Task};

/// The variation of the cells with the fair judge; those with the paper's have none.
const FAIR: &str = "logistic-cv";

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "recipe",
    title: "One recipe for all datasets",
    caption: "What `structcomp run` does without a model: a rule chooses the settings from the graph and the features, \
              without labels. There are two judges on the same splits: the paper's (C = 1, rows as they are) and the \
              default of `structcomp run` (\"cv\": C by cross-validation among the training nodes, rows centred and \
              scaled). The last three datasets use the ten splits of Geom-GCN.",
    drafts: || {
        let datasets = [&SMALL[..], &HETEROPHILOUS].concat();
        let places = places(&["recipe"], &datasets, &CLUSTERS);
        Ok(places.iter().flat_map(|place| ["", FAIR].map(|judge| draft(place, judge))).collect())
    },
    parts,
    ..TABLE
};

fn draft(place: &Place, judge: &str) -> Draft {
    let splits = match place.dataset {
        "cora" => "authors",
        other if HETEROPHILOUS.contains(&other) => "geom-gcn",
        _ => "random20",
    };
    let mut setup = Setup { splits: splits.into(), random_clusters: true, ..Setup::default() };
    if judge == FAIR {
        setup.probe = FAIR.into();
    }
    place.with(Task::Accuracy(setup), None).variation(judge)
}

fn parts(_: &Experiment, cells: &[&Finished]) -> Parts {
    let cells = accuracy::evaluated(cells);
    let of = |dataset: &str, judge: &str| {
        let same = |(cell, _): &&(&Cell, &Accuracies)| cell.dataset == dataset && cell.variation == judge;
        cells.iter().find(same).map(|(_, found)| *found)
    };
    let mut datasets: Vec<&str> = cells.iter().map(|(cell, _)| &cell.dataset[..]).collect();
    datasets.dedup();
    let rows = datasets.into_iter().map(|dataset| {
        let judges = ["", FAIR].map(|judge| columns(of(dataset, judge)));
        [data_title(dataset)].into_iter().chain(judges.into_iter().flatten()).collect()
    });
    let head = vec![
        "data",
        "C = 1: recipe",
        "X",
        "Â²X",
        "random clusters",
        "recipe − Â²X, per seed",
        "cv: recipe",
        "X",
        "Â²X",
        "random clusters",
        "recipe − Â²X, per seed",
    ];
    let table = Table { caption: String::new(), head, rows: rows.collect(), texts: 1 };
    let papers: Vec<_> = cells.iter().filter(|(cell, _)| cell.variation.is_empty()).copied().collect();
    Parts { tables: vec![table], figures: Vec::<Figure>::new(), notes: accuracy::notes(&papers) }
}

/// What one judge says.
fn columns(found: Option<&Accuracies>) -> [String; 5] {
    let Some(found) = found else { return [(); 5].map(|()| "–".into()) };
    let mean = |spread: &Spread| format!("{:.2}", spread.mean);
    let against = found.against_propagated.iter().map(|(by, p)| format!("{by:+.2} (p = {p:.0e})"));
    [
        found.ours.to_string(),
        mean(&found.features),
        mean(&found.propagated),
        found.random_clusters.as_ref().map_or_else(|| "–".into(), mean),
        against.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_judges_stand_side_by_side() {
        let found = |mean: f64| {
            let spread = Spread { mean, std: 1.0, seeds: vec![mean] };
            Accuracies {
                ours: spread.clone(),
                features: spread.clone(),
                propagated: spread,
                untrained: None,
                random_clusters: None,
                against_propagated: vec![(0.5, 0.01)],
                clusters: vec![3],
                epochs: vec![0],
                losses: vec![],
            }
        };
        let [paper, fair] = [columns(Some(&found(70.0))), columns(Some(&found(80.0)))];
        assert_eq!(
            (&paper[0][..], &fair[0][..], &fair[4][..]),
            ("70.00 ± 1.00", "80.00 ± 1.00", "+0.50 (p = 1e-2)")
        );
        let cells = EXPERIMENT.cells().unwrap();
        let probes: Vec<&str> =
            cells.iter().filter_map(|cell| Some(&cell.setup()?.probe[..])).take(2).collect();
        assert_eq!((probes, cells.len()), (vec!["logistic", FAIR], 16));
        assert_eq!(
            (&cells[0].dataset, cells[0].name()),
            (&cells[1].dataset, "cora/recipe/structcomp".into())
        );
    }
}
