//! Time and memory, full graph against clusters.

use super::{data_name, model_name};
use crate::reproduce::document::{Figure, Table};
use crate::reproduce::figures::{Dots, Mark, Row};
use crate::reproduce::{Cell, Cost, Finished, Mode, Outcome, PublishedCost};
use crate::svg::PALETTE;

const MARKS: [(&str, Mark); 2] =
    [("whole graph", Mark::Dot(PALETTE[5])), ("clusters", Mark::Dot(PALETTE[0]))];

/// A model on a dataset both ways.
struct Pair<'a> {
    dataset: &'a str,
    name: [String; 2],
    full: Option<&'a Cost>,
    small: Option<&'a Cost>,
    paper: Option<(PublishedCost, PublishedCost)>,
}

pub(super) fn parts(cells: &[&Finished]) -> (Vec<Table>, Vec<Figure>, Vec<String>) {
    let pairs = pairs(cells);
    let seconds = Table {
        caption: "Seconds an epoch".into(),
        head: vec![
            "model",
            "data",
            "whole graph",
            "clusters",
            "ratio",
            "paper's ratio",
            "partition, s",
            "embed, s",
        ],
        rows: pairs
            .iter()
            .map(|pair| pair.row(&|cost| Some(cost.seconds_per_epoch), &time, &|c| c.seconds, true))
            .collect(),
        texts: 2,
    };
    let memory = Table {
        caption: "The most memory in training, above the loaded data".into(),
        head: vec!["model", "data", "whole graph", "clusters", "ratio", "paper's ratio"],
        rows: pairs
            .iter()
            .map(|pair| {
                pair.row(&|cost| cost.bytes.map(|bytes| bytes as f64), &megabytes, &|c| c.megabytes, false)
            })
            .collect(),
        texts: 2,
    };
    let mut datasets: Vec<&str> = Vec::new();
    pairs.iter().map(|pair| pair.dataset).for_each(|name| {
        if !datasets.contains(&name) {
            datasets.push(name);
        }
    });
    let means = Table {
        caption: "Ratios in the mean over the models; the paper's as it prints them".into(),
        head: vec!["data", "time", "paper's time", "memory", "paper's memory"],
        rows: datasets.iter().map(|dataset| means(dataset, &pairs)).collect(),
        texts: 1,
    };
    let figure = |name: &str, title: &str, axis: &str, of: &dyn Fn(&Cost) -> Option<f64>| {
        let rows = pairs.iter().map(|pair| Row {
            name: pair.name.join(", "),
            values: vec![pair.full.and_then(of), pair.small.and_then(of)],
        });
        let svg = Dots { title, axis, marks: &MARKS, rows: rows.collect(), log: true }.draw()?;
        Some(Figure { name: name.into(), about: title.into(), svg })
    };
    let figures = [
        figure("time", "Time of an epoch", "seconds, logarithmic scale", &|cost| {
            Some(cost.seconds_per_epoch)
        }),
        figure("memory", "Memory of training", "MB above the loaded data, logarithmic scale", &|cost| {
            cost.bytes.map(|bytes| bytes as f64 / 1e6)
        }),
    ];
    let threads = pairs.iter().filter_map(|pair| pair.small.or(pair.full)).map(|cost| cost.threads).max();
    let notes = threads.map(|threads| format!("Measured with {threads} threads.")).into_iter().collect();
    (vec![means, seconds, memory], figures.into_iter().flatten().collect(), notes)
}

/// Of a dataset, where all its pairs have both sides.
fn means(dataset: &str, pairs: &[Pair]) -> Vec<String> {
    let own = || pairs.iter().filter(|pair| pair.dataset == dataset);
    let mean = |of: &dyn Fn(&Pair) -> Option<f64>| -> String {
        let ratios: Option<Vec<f64>> = own().map(of).collect();
        ratios
            .map_or("–".into(), |ratios| format!("{:.1}", ratios.iter().sum::<f64>() / ratios.len() as f64))
    };
    let seconds = |cost: &Cost| Some(cost.seconds_per_epoch);
    let bytes = |cost: &Cost| cost.bytes.map(|bytes| bytes as f64);
    let printed = crate::reproduce::paper::savings(dataset);
    let [paper_memory, paper_time] = printed.map_or(["–".into(), "–".into()], |(memory, time)| {
        [memory, time].map(|ratio| format!("{ratio:.1}"))
    });
    vec![
        data_name(dataset),
        mean(&|pair| pair.ratio(&seconds)),
        paper_time,
        mean(&|pair| pair.ratio(&bytes)),
        paper_memory,
    ]
}

fn pairs<'a>(cells: &[&'a Finished]) -> Vec<Pair<'a>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for finished in cells {
        let Outcome::Cost(cost) = &finished.outcome else { continue };
        let Cell { model, dataset, mode, .. } = &finished.cell;
        let name = [model_name(model), data_name(dataset)];
        let at = pairs.iter().position(|pair| pair.name == name).unwrap_or_else(|| {
            let printed = |mode| crate::reproduce::paper::cost(model, dataset, mode);
            let paper = printed(Mode::Full).zip(printed(Mode::Structcomp));
            pairs.push(Pair { dataset, name, full: None, small: None, paper });
            pairs.len() - 1
        });
        match mode {
            Mode::Full => pairs[at].full = Some(cost),
            Mode::Structcomp => pairs[at].small = Some(cost),
        }
    }
    pairs
}

impl Pair<'_> {
    /// The whole graph over clusters.
    fn ratio(&self, of: &dyn Fn(&Cost) -> Option<f64>) -> Option<f64> {
        Some(self.full.and_then(of)? / self.small.and_then(of)?)
    }

    /// The same in the paper.
    fn printed(&self, of: &dyn Fn(&PublishedCost) -> f64) -> Option<f64> {
        self.paper.as_ref().map(|(full, small)| of(full) / of(small))
    }

    fn row(
        &self,
        of: &dyn Fn(&Cost) -> Option<f64>,
        text: &dyn Fn(f64) -> String,
        printed: &dyn Fn(&PublishedCost) -> f64,
        with_stages: bool,
    ) -> Vec<String> {
        let none = || "–".to_owned();
        let (full, small) = (self.full.and_then(of), self.small.and_then(of));
        let [ratio, paper] =
            [self.ratio(of), self.printed(printed)].map(|ratio| ratio.map(|ratio| format!("{ratio:.1}")));
        let mut row = self.name.to_vec();
        row.extend([full.map(text), small.map(text), ratio, paper].map(|cell| cell.unwrap_or_else(none)));
        if with_stages {
            let partition = self.small.and_then(|cost| cost.partition_seconds).map(time);
            let embed = self.small.or(self.full).map(|cost| time(cost.embed_seconds));
            row.extend([partition, embed].map(|cell| cell.unwrap_or_else(none)));
        }
        row
    }
}

fn time(seconds: f64) -> String {
    format!("{seconds:.4}")
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
