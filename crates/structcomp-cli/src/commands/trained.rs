//! What a training was, as `run` and `train` report it.

use crate::terminal::{Lines, grouped};
use anyhow::Result;
use serde::Serialize;
use structcomp::pipeline::Solution;
use structcomp::{Compute, Dataset, Device, Fitted, Mode, Precision, Quality, Saint, StructComp, Zoom};

/// What ran where.
#[derive(Serialize)]
pub(super) struct DeviceReport {
    /// What was asked for.
    asked: Device,
    precision: Precision,
    /// Absent where nothing was trained or embedded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) train: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) embed: Option<String>,
}

impl DeviceReport {
    pub(super) fn of(fitted: &Fitted, embed: Option<String>) -> Self {
        let Compute { device, precision } = fitted.settings.compute;
        Self { asked: device, precision, train: fitted.device.clone(), embed }
    }

    /// A line, if anything ran elsewhere than on the CPU.
    pub(super) fn rows(&self, lines: &mut Lines) {
        let stages = [("train", &self.train), ("embed", &self.embed)];
        let on_gpu = |(stage, device): &(&str, &Option<String>)| {
            device.as_ref().filter(|device| *device != "cpu").map(|device| format!("{stage} on {device}"))
        };
        let parts: Vec<String> = stages.iter().filter_map(on_gpu).collect();
        if !parts.is_empty() {
            lines.row("device", String::new(), parts.join(", "));
        }
    }
}

/// The clusters in numbers.
#[derive(Serialize)]
pub(super) struct ClusterReport {
    pub(super) method: String,
    /// How many were asked for; METIS and files may leave some empty.
    pub(super) requested: usize,
    #[serde(flatten)]
    pub(super) quality: Quality,
}

/// The epochs in numbers.
#[derive(Serialize)]
pub(super) struct EpochReport {
    mode: Mode,
    /// Settings of the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_clusters: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saint: Option<Saint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zoom: Option<Zoom>,
    pub(super) epochs: usize,
    loss_first: Option<f64>,
    loss_last: Option<f64>,
    /// How a model was solved that is not trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    solution: Option<Solution>,
    pub(super) seconds_per_epoch: f64,
    /// Why training ended, and after which epoch; absent if nothing was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    /// Whether a signal ended training before it was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

#[derive(Serialize)]
struct Stopped {
    reason: &'static str,
    epoch: usize,
}

impl Stopped {
    fn of(fitted: &Fitted) -> Option<Self> {
        let (epoch, asked) = (fitted.losses.len(), fitted.settings.training.epochs);
        let reason = match fitted.interrupted {
            true => "interrupted",
            false if epoch < asked => "patience",
            false => "epochs",
        };
        fitted.solution.is_none().then_some(Self { reason, epoch })
    }
}

impl ClusterReport {
    /// None after training without any.
    pub(super) fn of(fitted: &Fitted, dataset: &Dataset) -> Result<Option<Self>> {
        let Some(partition) = &fitted.partition else { return Ok(None) };
        Ok(Some(Self {
            method: match fitted.settings.mode {
                Mode::Graphzoom => "graphzoom".to_owned(),
                _ => fitted.settings.partitioning.method.clone(),
            },
            requested: fitted.clusters_requested.unwrap_or(partition.clusters()),
            quality: Quality::of(&dataset.graph, partition, dataset.labels.as_ref())?,
        }))
    }
}

impl EpochReport {
    pub(super) fn of(fitted: &Fitted) -> Self {
        let losses = &fitted.losses;
        let StructComp { mode, batch_clusters, saint, zoom, .. } = fitted.settings;
        Self {
            mode,
            batch_clusters,
            saint: (mode == Mode::Graphsaint).then_some(saint),
            zoom: (mode == Mode::Graphzoom).then_some(zoom),
            epochs: losses.len(),
            loss_first: losses.first().copied(),
            loss_last: losses.last().copied(),
            solution: fitted.solution.clone(),
            seconds_per_epoch: fitted.seconds.train / losses.len().max(1) as f64,
            stopped: Stopped::of(fitted),
            interrupted: fitted.interrupted,
        }
    }

    /// Lines on the clusters and the epochs.
    pub(super) fn rows(&self, lines: &mut Lines, clusters: Option<&ClusterReport>) {
        match clusters {
            Some(ClusterReport { method, quality, .. }) => {
                let about = format!("by {method}, {:.1} % of edges cut", 100.0 * quality.cut_share);
                lines.row("clusters", grouped(quality.clusters), about);
            }
            None => lines.row("clusters", "none".into(), format!("trained on {}", self.mode.title())),
        }
        if let Some(Solution { weights, .. }) = &self.solution {
            let parts = weights.iter().filter(|(_, weight)| *weight >= 0.005);
            let parts: Vec<String> =
                parts.map(|(name, weight)| format!("{name} {:.0} %", 100.0 * weight)).collect();
            lines.row("parts", grouped(parts.len()), parts.join(", "));
            return;
        }
        let Self { loss_first, loss_last, seconds_per_epoch, .. } = self;
        let interrupted = if self.interrupted { "; interrupted" } else { "" };
        let each = 1e3 * seconds_per_epoch;
        let losses = match (loss_first, loss_last) {
            (Some(first), Some(last)) => {
                format!("loss {first:.4} to {last:.4}, {each:.1} ms per epoch{interrupted}")
            }
            _ => format!("no epoch was run{interrupted}"),
        };
        lines.row("epochs", grouped(self.epochs), losses);
    }
}
