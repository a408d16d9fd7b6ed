//! A few cells of the paper's main table, on the real data.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a test fails by panicking and says what it skipped

mod published;

use std::sync::atomic::AtomicBool;
use structcomp::reproduce::{Experiment, Finished, Mode, Outcome, Report, Reproduction};

#[test]
fn linear_models_reach_the_papers_accuracy_on_cora_and_beat_every_control() {
    let Some(data_dir) = published::folder() else { return };
    let out = tempfile::tempdir().unwrap();
    let reproduction = |only: &str| Reproduction {
        experiments: vec![Experiment::Small],
        out: out.path().to_owned(),
        data_dir: data_dir.clone(),
        seeds: 1,
        runs: 20,
        only: Some(only.into()),
        mode: Some(Mode::Structcomp),
        ..Reproduction::default()
    };
    for model in ["cora/sce", "cora/coles"] {
        let plan = reproduction(model).plan().unwrap();
        assert_eq!((plan.to_do(), plan.finished), (1, 0));
        let tally = plan.run(&AtomicBool::new(false), |_| {});
        assert_eq!((tally.finished, tally.failed), (1, vec![]));
        assert_eq!(reproduction(model).plan().unwrap().to_do(), 0);
    }
    let report = Report::read(out.path()).unwrap();
    let cells: Vec<Finished> = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(cells.len(), 2);
    for finished in cells {
        let Outcome::Accuracy(judged) = &finished.outcome else { panic!("{finished:?}") };
        let ours = judged.ours.mean;
        assert!(ours > finished.cell.paper.unwrap().mean - 1.5, "{}: {ours}", finished.cell.name());
        let random = judged.random_clusters.as_ref().unwrap().mean;
        for control in [judged.features.mean, judged.propagated.mean, judged.untrained.mean, random] {
            assert!(ours > control, "{}: {ours} and {control}", finished.cell.name());
        }
    }
    report.write(out.path()).unwrap();
    let markdown = std::fs::read_to_string(out.path().join("results.md")).unwrap();
    assert!(markdown.contains("2 of 2 cells are within 1.5 points"), "{markdown}");
}
