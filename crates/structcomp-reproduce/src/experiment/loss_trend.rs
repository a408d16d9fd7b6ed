//! The loss of the whole graph while training on clusters: L(A, X; U) next to L(A, X; W).

use super::{Experiment, TABLE};
use crate::draft::{CITATIONS, CLUSTERS, Draft, MODELS, Place, places};
use crate::fit::{Halt, with_trainer};
use crate::model::Facts;
use crate::parts::{Figure, Parts, data_title, datasets, table::Table};
use crate::plot::{Line, PALETTE, Panel, Panels};
use crate::source::Data;
use crate::{Finished, Outcome, Repeats, Setup, Task, Trend};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use structcomp::nn::Initial;
use structcomp::{Error, Preset, Result, Seed, Training};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "loss-trend",
    title: "The loss of the whole graph, trained on clusters",
    caption: "U is trained on clusters and W on the whole graph, from the same weights. Both are inserted into the loss \
              of the whole graph in every epoch, with the same negatives and the same views.",
    drafts: || places(&MODELS, &CITATIONS[..2], &CLUSTERS).iter().map(draft).collect(),
    parts,
    ..TABLE
};

/// Our settings for clusters, with the views of the whole graph. Both trainings start from the same weights.
fn draft(place: &Place) -> Result<Draft> {
    let mut draft = place.draft()?.task(Task::LossTrend);
    let full = Preset::full(place.model, place.dataset)?;
    if let (Some(preset), Some(full)) = (&mut draft.preset, &full) {
        preset.training.augment = full.training.augment;
        let views =
            full.sources.iter().filter(|(name, _)| matches!(&name[..], "drop-edges" | "mask-features"));
        preset.sources.extend(views.map(|(name, source)| (name.clone(), *source)));
    }
    let augment = full.map(|full| full.training.augment).unwrap_or_default();
    Ok(draft.set(|setup| {
        setup.random_clusters = false;
        let initial = Some(Initial::Linear);
        setup.training = setup.training.take().map(|training| Training { augment, initial, ..training });
    }))
}

/// Trains both, and inserts both into the loss of the whole graph.
pub(crate) fn trend(setup: &Setup, data: &Data, repeats: &Repeats, stop: &AtomicBool) -> Result<Trend, Halt> {
    let seed = Seed(repeats.seed);
    let Some(training) = &setup.training else {
        return Err(Error::Input("a loss trend needs settings to train with".into()).into());
    };
    let partition = setup.partitioning.partition(data.graph, seed)?;
    with_trainer(training, data, Some(&partition), seed, |small| {
        with_trainer(training, data, None, seed, |whole| {
            let mut trend = Trend { on_clusters: Vec::new(), on_nodes: Vec::new() };
            for _ in 0..training.epochs {
                if stop.load(Relaxed) {
                    return Err(Halt::Interrupted);
                }
                trend.on_clusters.push(whole.loss_with(small.parameters()?)?);
                trend.on_nodes.push(whole.step()?.loss);
                small.step()?;
            }
            Ok(trend)
        })
    })
}

fn parts(_: &Experiment, cells: &[&Finished]) -> Parts {
    let (mut rows, mut figures) = (Vec::new(), Vec::new());
    for dataset in datasets(cells) {
        let mut panels = Vec::new();
        for finished in cells.iter().filter(|finished| finished.cell.dataset == dataset) {
            let Outcome::LossTrend(trend) = &finished.outcome else { continue };
            let model = Facts::of(&finished.cell.model).title;
            rows.push(row(dataset, &model, trend));
            panels.push(panel(model, trend));
        }
        let title = format!("Loss on {}", data_title(dataset));
        let figure = Panels { title: &title, x: "epoch", y: "loss of the whole graph", log_x: false, panels };
        figures.extend(Figure::new(&format!("loss-{dataset}"), &title, figure.draw()));
    }
    let head = vec!["data", "model", "epochs", "first", "last of U", "last of W", "largest distance"];
    let caption = "The largest distance is that of |L(A, X; U) − L(A, X; W)| over the epochs, in percent of the decrease of \
                   W's loss.";
    Parts {
        tables: vec![Table { caption: caption.into(), head, rows, texts: 2 }],
        figures,
        notes: Vec::new(),
    }
}

fn row(dataset: &str, model: &str, trend: &Trend) -> Vec<String> {
    let Trend { on_clusters, on_nodes } = trend;
    let number = |loss: Option<&f64>| loss.map_or_else(|| "–".into(), |loss| short(*loss));
    let decrease = on_nodes.first().zip(on_nodes.last()).map_or(0.0, |(first, last)| (first - last).abs());
    let distance = on_clusters.iter().zip(on_nodes).map(|(u, w)| (u - w).abs()).fold(0.0, f64::max);
    vec![
        data_title(dataset),
        model.to_owned(),
        on_nodes.len().to_string(),
        number(on_nodes.first()),
        number(on_clusters.last()),
        number(on_nodes.last()),
        if decrease > 0.0 { format!("{:.0} %", 100.0 * distance / decrease) } else { "–".into() },
    ]
}

fn panel(title: String, trend: &Trend) -> Panel {
    let line = |name: &str, color, losses: &[f64], dashed| Line {
        name: name.into(),
        color,
        points: (1..).map(f64::from).zip(losses.iter().copied()).collect(),
        band: Vec::new(),
        dashed,
    };
    let whole = line("L(A, X; W), trained on the whole graph", PALETTE[5], &trend.on_nodes, false);
    let clusters = line("L(A, X; U), trained on clusters", PALETTE[0], &trend.on_clusters, true);
    Panel { title, lines: vec![whole, clusters] }
}

fn short(loss: f64) -> String {
    match loss.abs() {
        size if size > 0.0 && !(1e-3..1e5).contains(&size) => format!("{loss:.3e}"),
        _ => format!("{loss:.4}"),
    }
}
