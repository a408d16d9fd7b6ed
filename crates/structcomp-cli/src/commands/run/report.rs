//! What a run found, as JSON and as text.

use super::Findings;
use super::origin::{command_line, utc};
use crate::commands::judgement::Judgement;
use crate::commands::trained::{ClusterReport, DeviceReport, EpochReport};
use crate::terminal::{Lines, grouped};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;
use structcomp::data::DataSummary;
use structcomp::evaluate::{ByControl, Diagnostics, HeldOut, LinkScore};
use structcomp::memory::peak_rss_bytes;
use structcomp::pipeline::Seconds;
use structcomp::{Controls, Dataset, Features, Fitted, Training};

#[derive(Serialize)]
pub(super) struct RunReport {
    pub(super) data: DataSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<ClusterReport>,
    pub(super) model: Training,
    pub(super) train: EpochReport,
    pub(super) device: DeviceReport,
    #[serde(flatten)]
    pub(super) judgement: Option<Judgement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) links: Option<LinkReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diagnostics: Option<Diagnostics>,
    pub(super) seconds: RunSeconds,
    pub(super) peak_rss_bytes: Option<u64>,
    pub(super) seed: u64,
    pub(super) threads: usize,
    pub(super) version: &'static str,
    /// The command that was given, and when.
    pub(super) command: String,
    pub(super) date: String,
    /// SHA-256 of the files beside the report, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<BTreeMap<String, String>>,
    /// Not known before the report itself is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) written: Vec<PathBuf>,
}

/// How well held-out edges are told from non-edges.
#[derive(Serialize)]
pub(super) struct LinkReport {
    pub(super) held_out: usize,
    #[serde(flatten)]
    pub(super) score: LinkScore,
    pub(super) untrained: ByControl<LinkScore>,
}

#[derive(Serialize)]
pub(super) struct RunSeconds {
    pub(super) load: f64,
    #[serde(flatten)]
    pub(super) stages: Seconds,
    pub(super) embed: f64,
    pub(super) evaluate: f64,
    /// Absent without a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) map: Option<f64>,
    pub(super) total: f64,
}

impl LinkReport {
    pub(super) fn of(held_out: &HeldOut, embedding: &Features, x: &Features) -> Result<Self> {
        Ok(Self {
            held_out: held_out.positive.len(),
            score: held_out.judge(embedding)?,
            untrained: Controls::of_features(&held_out.graph, x).links(held_out)?,
        })
    }
}

impl RunSeconds {
    /// All but the total.
    pub(super) fn stages(&self) -> Vec<(&'static str, f64)> {
        let Seconds { prepare, partition, compress, train } = self.stages;
        let mut stages = vec![
            ("load", self.load),
            ("prepare", prepare),
            ("partition", partition),
            ("compress", compress),
            ("train", train),
            ("embed", self.embed),
            ("evaluate", self.evaluate),
        ];
        stages.extend(self.map.map(|map| ("map", map)));
        stages
    }
}

impl RunReport {
    pub(super) fn new(
        fitted: &Fitted,
        dataset: &Dataset,
        findings: Findings,
        seconds: RunSeconds,
    ) -> Result<Self> {
        let Findings { judgement, links, diagnostics } = findings;
        Ok(Self {
            data: dataset.summary()?.data,
            partition: ClusterReport::of(fitted, dataset)?,
            model: fitted.settings.training.clone(),
            train: EpochReport::of(fitted),
            device: DeviceReport::of(fitted, Some(fitted.embeds_on(dataset)?)),
            judgement,
            links,
            diagnostics,
            seconds,
            peak_rss_bytes: peak_rss_bytes(),
            seed: fitted.settings.seed.0,
            threads: rayon::current_num_threads(),
            version: env!("CARGO_PKG_VERSION"),
            command: command_line(std::env::args_os()),
            date: utc(SystemTime::now()),
            files: None,
            written: vec![],
        })
    }

    pub(super) fn text(&self) -> String {
        let mut lines = Lines::default();
        lines.data_title(&self.data, self.model.model.name());
        lines.remarks(&self.data);
        self.train.rows(&mut lines, self.partition.as_ref());
        self.device.rows(&mut lines);
        self.judgement.iter().for_each(|judgement| judgement.rows(&mut lines));
        if let Some(LinkReport { held_out, score, untrained }) = &self.links {
            let mut row = |label: &str, LinkScore { auc, average_precision }: &LinkScore, about: String| {
                let about = format!("AUC, average precision {average_precision:.4}{about}");
                lines.row(label, format!("{auc:.4}"), about);
            };
            row("links", score, format!(", {} held-out edges", grouped(*held_out)));
            for (control, score) in untrained.iter() {
                row(&format!("  {}", control.label), score, String::new());
            }
        }
        for (name, value, about) in self.diagnostics.iter().flat_map(Diagnostics::rows) {
            lines.row(name, value, about);
        }
        lines.seconds(self.seconds.total, &self.seconds.stages());
        lines.memory(self.peak_rss_bytes);
        for file in &self.written {
            lines.row("written", String::new(), file.display().to_string());
        }
        lines.text
    }
}
