use crate::store::{self, SeedFiles, VERSION};
use crate::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use structcomp::{Model, Seed, Training};

/// A cell that no experiment has.
pub(crate) fn example() -> Cell {
    Cell {
        experiment: "noise".into(),
        dataset: "cora".into(),
        model: "grace".into(),
        mode: Mode::Structcomp,
        variation: "half of it".into(),
        task: Task::Accuracy(Setup::default()),
        settings: Vec::new(),
        paper: None,
        paper_cost: None,
    }
}

fn spread(mean: f64) -> Spread {
    Spread { mean, std: 1.0, seeds: vec![mean] }
}

fn finished(experiment: &str, at: usize, mean: f64) -> Finished {
    let found = Accuracies {
        ours: spread(mean),
        features: spread(58.0),
        propagated: spread(80.0),
        untrained: Some(spread(77.0)),
        random_clusters: None,
        against_propagated: vec![(mean - 80.0, 0.01)],
        clusters: vec![300],
        epochs: vec![10],
        losses: vec![(1.0, 0.5)],
    };
    let cell = Experiment::named(experiment).unwrap().cells().unwrap()[at].clone();
    let repeats = Repeats { seeds: 1, runs: 50, seed: 0 };
    Finished {
        key: cell.key(VERSION, &repeats, "data").unwrap(),
        cell,
        data_sha256: "data".into(),
        repeats,
        outcome: Outcome::Accuracy(Box::new(found)),
        core_seconds: 1.0,
        estimated_seconds: 1.0,
        version: VERSION.into(),
    }
}

/// A plan on the synthetic graph, which needs no files.
fn demo(out: &Path) -> Plan {
    let cell = |model: &str, mode| {
        let training = Training { hidden: 16, epochs: 2, ..Training::default() };
        let training = Training { model: Model::named(model).unwrap(), ..training };
        let task =
            Task::Accuracy(Setup { training: Some(training), random_clusters: true, ..Setup::default() });
        let (dataset, model, variation) = ("demo".into(), model.into(), String::new());
        Cell { dataset, model, mode, variation, task, ..example() }
    };
    let options = Reproduction { out: out.to_owned(), seeds: 1, runs: 2, ..Reproduction::default() };
    let cells = [cell("sce", Mode::Structcomp), cell("coles", Mode::Structcomp), cell("cca-ssg", Mode::Full)];
    options.plan_of(cells.to_vec()).unwrap()
}

#[test]
fn interrupted_runs_resume() {
    let folder = tempfile::tempdir().unwrap();
    let (stop, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let tally = demo(folder.path()).run(&stop, |event| {
        if let Event::Finished(finished) = event {
            seen.lock().unwrap().push(finished.cell.name());
            stop.store(true, Relaxed);
        }
    });
    let first = seen.into_inner().unwrap();
    assert!(tally.interrupted && tally.failed.is_empty() && !first.is_empty(), "{tally:?}");
    let plan = demo(folder.path());
    assert_eq!((plan.finished, plan.to_do()), (first.len(), 3 - first.len()));
    assert!(plan.expected_seconds() > 0.0 || plan.to_do() == 0);
    let tally = plan.run(&AtomicBool::new(false), |event| {
        if let Event::Started(cell) = event {
            assert!(!first.contains(&cell.name()));
        }
    });
    assert_eq!((tally.finished, tally.interrupted), (3 - first.len(), false));
    assert_eq!(demo(folder.path()).to_do(), 0);
    assert_eq!(std::fs::read_dir(folder.path().join("unfinished")).unwrap().count(), 0, "parts are cleared");
    let all = Finished::read_all(folder.path(), &mut Vec::new()).unwrap();
    assert_eq!(all.len(), 3);
    for finished in &all {
        let Outcome::Accuracy(found) = &finished.outcome else { panic!("{finished:?}") };
        assert!(found.ours.mean > 30.0 && found.propagated.mean > 30.0, "{found:?}");
        assert_eq!(found.random_clusters.is_some(), finished.cell.mode == Mode::Structcomp);
    }
    // A cell whose file is invalid or has another key is run again.
    let file = store::folder(folder.path()).join(all[0].cell.file());
    std::fs::write(&file, "{}").unwrap();
    assert_eq!(demo(folder.path()).to_do(), 1);
    Finished { key: "another".into(), ..all[0].clone() }.write(folder.path()).unwrap();
    assert_eq!(demo(folder.path()).to_do(), 1);
}

#[test]
fn missing_datasets_are_skipped_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |only: &str| {
        let (only, data_dir) = (Some(only.to_owned()), folder.path().to_owned());
        let (experiments, out) = (vec![Experiment::named("inductive").unwrap()], folder.path().join("out"));
        Reproduction { experiments, out, only, data_dir, ..Reproduction::default() }.plan()
    };
    let with_synthetic = plan("flickr/sce").unwrap();
    assert_eq!((with_synthetic.to_do(), with_synthetic.notes.len()), (1, 1), "{:?}", with_synthetic.notes);
    assert!(with_synthetic.notes[0].starts_with("skipped: dataset flickr is not in"));
    let error = plan("reddit/").err().unwrap().to_string();
    assert!(error.starts_with("nothing to run; skipped: dataset reddit is not in"), "{error}");
}

#[test]
fn a_markdown_file_keeps_its_sections_of_other_experiments() {
    let [first, second] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let path = first.path().join("docs/results.md");
    let write = |folder: &Path| {
        Report::read(folder).unwrap().write_markdown(&path).unwrap();
        std::fs::read_to_string(&path).unwrap()
    };
    finished("noise", 0, 78.5).write(first.path()).unwrap();
    let noise = write(first.path());
    finished("small", 0, 81.25).write(second.path()).unwrap();
    finished("deep", 0, 80.75).write(second.path()).unwrap();
    let all = write(second.path());
    let place = |what: &str| all.find(what).unwrap_or_else(|| panic!("{what} in {all}"));
    let order =
        ["## Accuracy on the small", "81.25", "## Ten percent", "78.50", "## A deep encoder", "80.75"];
    assert!(order.map(place).is_sorted(), "{all}");
    let of_noise = &noise[noise.find("\n## Ten percent").unwrap()..];
    assert!(all.contains(of_noise), "to the letter: {all}");
    finished("noise", 0, 79.5).write(first.path()).unwrap();
    assert_eq!(
        write(first.path()),
        all.replace(of_noise, &of_noise.replace("78.50", "79.50").replace("-0.80", "+0.20"))
    );
}

#[test]
fn reports_show_finished_cells() {
    let folder = tempfile::tempdir().unwrap();
    finished("small", 0, 81.0).write(folder.path()).unwrap();
    finished("small", 1, 70.0).write(folder.path()).unwrap();
    finished("compression", 3, 80.0).write(folder.path()).unwrap();
    let report = Report::read(folder.path()).unwrap();
    report.write(folder.path()).unwrap();
    let markdown = std::fs::read_to_string(folder.path().join("results.md")).unwrap();
    assert!(markdown.contains("| SCE | Cora | clusters | 81.6 ± 0.9 | 81.00 ± 1.00 | -0.60 |"), "{markdown}");
    assert!(markdown.contains("0 of 1 cells are within 1.5 points of the published number"), "{markdown}");
    assert!(markdown.contains("Further below: cora/sce/full -11.00"), "{markdown}");
    assert!(markdown.contains("38 of 40 cells have not been run."), "{markdown}");
    let gain = "on average over the datasets with the same seeds: SCE +11.00 (paper +0.60).";
    assert!(markdown.contains(gain), "{markdown}");
    assert!(markdown.contains("(figures/compression.svg)"), "{markdown}");
    assert!(markdown.contains("`structcomp reproduce small --seeds 1`"), "{markdown}");
    assert!(
        markdown.contains("| cora/sce/structcomp | clusters 300, epochs 50, learning-rate 0.001 |"),
        "{markdown}"
    );
    assert!(folder.path().join("figures/compression.svg").exists());
    let page = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.matches("<svg").count() == 3 && page.contains("prefers-color-scheme: dark"));
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("://"), "nothing from elsewhere");
    let text = report.text(&[Experiment::named("compression").unwrap()]);
    assert!(text.contains("80.00 at") && !text.contains("small graphs"), "{text}");
    assert_eq!(serde_json::from_str::<Vec<Finished>>(&report.json().unwrap()).unwrap().len(), 3);
}

#[test]
fn commands_give_the_repeats_of_each_mode() {
    let folder = tempfile::tempdir().unwrap();
    let clusters = finished("small", 0, 81.0);
    let repeats = Repeats { seeds: 3, ..clusters.repeats };
    let key = clusters.cell.key(VERSION, &repeats, "data").unwrap();
    Finished { repeats, key, ..clusters }.write(folder.path()).unwrap();
    finished("small", 1, 80.0).write(folder.path()).unwrap();
    let markdown = Report::read(folder.path()).unwrap().markdown("");
    let commands =
        "`structcomp reproduce small --mode structcomp`, `structcomp reproduce small --mode full --seeds 1`";
    assert!(markdown.contains(commands), "{markdown}");
    let protocol =
        "on clusters 3 training seeds, up to 50 splits each; on the whole graph one training seed, up to";
    assert!(markdown.contains(protocol), "{markdown}");
}

#[test]
fn invalid_cell_files_are_named_and_count_as_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, damaged] = [0, 1].map(|at| finished("small", at, 81.0));
    whole.write(folder.path()).unwrap();
    damaged.write(folder.path()).unwrap();
    std::fs::write(store::folder(folder.path()).join(damaged.cell.file()), b"\xff\xfe").unwrap();
    let mut unread = Vec::new();
    let read = Finished::read_all(folder.path(), &mut unread).unwrap();
    assert!(read.len() == 1 && read[0] == whole, "{read:?}");
    assert_eq!(unread.len(), 1);
    assert!(unread[0].contains("cora-sce-full.json is not a valid cell file"), "{unread:?}");
    std::fs::create_dir(store::folder(folder.path()).join("small/folder.json")).unwrap();
    unread.clear();
    assert_eq!(Finished::read_all(folder.path(), &mut unread).unwrap().len(), 1);
    assert!(unread.len() == 2 && unread[1].contains("folder.json is not a valid cell file"), "{unread:?}");
    let trend = Trend { on_clusters: Vec::new(), on_nodes: Vec::new() };
    let another = Finished { outcome: Outcome::LossTrend(trend), ..whole.clone() };
    assert!(whole.is_of(&whole.cell) && !another.is_of(&whole.cell));
}

#[cfg(unix)]
#[test]
fn a_cell_that_cannot_be_read_is_an_error_and_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    finished("small", 0, 81.0).write(folder.path()).unwrap();
    let cells = store::folder(folder.path());
    for place in ["small/endless.json", "endless"] {
        // A link to itself cannot be read, whoever asks.
        std::os::unix::fs::symlink(cells.join(place), cells.join(place)).unwrap();
        assert!(Finished::read_all(folder.path(), &mut Vec::new()).is_err(), "{place}");
        std::fs::remove_file(cells.join(place)).unwrap();
    }
    std::fs::write(cells.join("notes.txt"), "").unwrap();
    assert_eq!(Finished::read_all(folder.path(), &mut Vec::new()).unwrap().len(), 1);
}

#[test]
fn cells_with_other_settings_than_now_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let now = finished("small", 0, 81.0);
    let without_sources = Cell { settings: Vec::new(), paper: None, ..now.cell.clone() };
    Finished { cell: without_sources, ..now.clone() }.write(folder.path()).unwrap();
    Finished { key: "of other settings".into(), ..finished("small", 1, 70.0) }.write(folder.path()).unwrap();
    let kept = serde_json::from_str::<Vec<Finished>>(&Report::read(folder.path()).unwrap().json().unwrap());
    assert_eq!(kept.unwrap(), [now]);
}

#[test]
fn more_seeds_than_requested_are_enough() {
    let three = Finished { repeats: Repeats { seeds: 3, runs: 50, seed: 0 }, ..finished("small", 0, 81.0) };
    let three = Finished { key: three.cell.key(VERSION, &three.repeats, "data").unwrap(), ..three };
    let serves = |seeds, runs, seed| three.serves(&three.cell, &Repeats { seeds, runs, seed }, "data");
    assert!(serves(1, 50, 0) && serves(3, 50, 0) && serves(1, 20, 0));
    assert!(!serves(4, 50, 0) && !serves(1, 60, 0) && !serves(1, 50, 1));
    let more = |seeds, runs, seed| three.has_more_than(&Repeats { seeds, runs, seed });
    assert!(more(2, 60, 0) && more(4, 40, 0) && more(3, 50, 1) && !more(3, 50, 0) && !more(4, 50, 0));
    assert_eq!(three.repeats.to_string(), "3 seeds from 0 and 50 splits");
    assert!(!three.serves(&three.cell, &three.repeats, "other data"));
}

#[test]
fn filters_that_leave_nothing_are_errors() {
    let wanted = |only: &str| Reproduction { only: Some(only.into()), ..Reproduction::default() };
    let error = wanted("corra").plan().err().unwrap().to_string();
    assert!(error.contains("small has no cell with 'corra' in its name"), "{error}");
    let chosen = |reproduction: Reproduction| {
        reproduction.selected().unwrap().iter().map(Cell::name).collect::<Vec<_>>()
    };
    assert_eq!(chosen(wanted("cora/grace")), ["cora/grace/structcomp", "cora/grace/full"]);
    let full = Reproduction { mode: Some(Mode::Full), ..wanted("photo/sce") };
    assert_eq!(chosen(full), ["amazon-photo/sce/full"]);
    let none = Reproduction { seeds: 0, ..Reproduction::default() };
    assert!(none.plan().err().unwrap().to_string().contains("at least one seed"));
}

#[test]
fn finished_seeds_are_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let parts = SeedFiles::of(folder.path(), "a key");
    assert_eq!(parts.read::<Vec<u32>>(Seed(3)), None);
    parts.write(Seed(3), &vec![1, 2]).unwrap();
    assert_eq!(parts.read::<Vec<u32>>(Seed(3)), Some(vec![1, 2]));
    assert_eq!(parts.read::<Vec<u32>>(Seed(4)), None);
    parts.clear().unwrap();
    assert_eq!(parts.read::<Vec<u32>>(Seed(3)), None);
    parts.clear().unwrap();
}
