//! Time and memory of training, on the whole graph and on clusters.

use super::{Experiment, PaperNumbers, TABLE};
use crate::draft::{BOTH, MODELS, SMALL, places};
use crate::model::Facts;
use crate::parts::{Figure, Parts, data_title, datasets, table::Table};
use crate::plot::{Dots, Mark, PALETTE, Row};
use crate::{Cell, Cost, Finished, Mode, Outcome, PublishedCost, Task};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "time-memory",
    title: "Time and memory of training",
    caption: "Training only, each cell in processes of its own, one at a time: the median time of an epoch after the \
              first, in the fastest of three processes, and in one more the peak memory beyond the loaded data. The \
              paper measured on a GPU, so that only ratios compare. On the whole graph our losses store no matrix of all \
              pairs either, apart from 128 MiB of GRACE's, so that the savings are smaller; benchmarks/run.sh whole \
              measures losses that do.",
    drafts: || {
        places(&MODELS, &SMALL, &BOTH).iter().map(|place| Ok(place.draft()?.task(Task::Cost))).collect()
    },
    paper: include_str!("time_memory.toml"),
    parts,
    alone: true,
    ..TABLE
};

const MARKS: [(&str, Mark); 2] =
    [("whole graph", Mark::Dot(PALETTE[5])), ("clusters", Mark::Dot(PALETTE[0]))];

/// A quantity of the cost.
struct Quantity {
    ours: fn(&Cost) -> Option<f64>,
    paper: fn(&PublishedCost) -> f64,
    text: fn(f64) -> String,
}

const TIME: Quantity = Quantity {
    ours: |cost| Some(cost.seconds_per_epoch),
    paper: |cost| cost.seconds,
    text: |seconds| format!("{seconds:.4}"),
};
const MEMORY: Quantity = Quantity {
    ours: |cost| cost.bytes.map(|bytes| bytes as f64 / 1e6),
    paper: |cost| cost.megabytes,
    text: |megabytes| format!("{megabytes:.1}"),
};

/// A model on a dataset: the whole graph, then clusters.
struct CostPair<'a> {
    dataset: &'a str,
    model: &'a str,
    ours: [Option<&'a Cost>; 2],
    paper: [Option<PublishedCost>; 2],
}

fn parts(experiment: &Experiment, cells: &[&Finished]) -> Parts {
    let pairs = pairs(cells);
    let head =
        ["model", "data", "whole graph", "clusters", "ratio", "paper's ratio", "partition (s)", "embed (s)"];
    let table = |caption: &str, quantity: &Quantity, columns: usize| Table {
        caption: caption.into(),
        head: head[..columns].to_vec(),
        rows: pairs.iter().map(|pair| pair.row(quantity, columns)).collect(),
        texts: 2,
    };
    let published = experiment.published().unwrap_or_default();
    let means = Table {
        caption: "Mean ratios over the models; the paper's as published".into(),
        head: vec!["data", "time", "paper's time", "memory", "paper's memory"],
        rows: datasets(cells).into_iter().map(|dataset| means(dataset, &pairs, &published)).collect(),
        texts: 1,
    };
    let figure = |name: &str, title: &str, axis: &str, quantity: &Quantity| {
        let rows = pairs.iter().map(|pair| Row {
            name: pair.names().join(", "),
            values: pair.ours.map(|cost| cost.and_then(quantity.ours)).to_vec(),
        });
        Figure::new(name, title, Dots { title, axis, marks: &MARKS, rows: rows.collect(), log: true }.draw())
    };
    let time = figure("time", "Time per epoch", "seconds, logarithmic", &TIME);
    let memory = figure("memory", "Memory of training", "MB beyond the loaded data, logarithmic", &MEMORY);
    let threads = pairs.iter().flat_map(|pair| pair.ours).flatten().map(|cost| cost.threads).max();
    Parts {
        tables: vec![
            means,
            table("Seconds per epoch", &TIME, 8),
            table("Peak memory in training beyond the loaded data (MB)", &MEMORY, 6),
        ],
        figures: [time, memory].into_iter().flatten().collect(),
        notes: threads.map(|threads| format!("Measured with {threads} threads.")).into_iter().collect(),
    }
}

fn pairs<'a>(cells: &[&'a Finished]) -> Vec<CostPair<'a>> {
    let mut pairs: Vec<CostPair> = Vec::new();
    for finished in cells {
        let Outcome::Cost(cost) = &finished.outcome else { continue };
        let Cell { model, dataset, mode, paper_cost, .. } = &finished.cell;
        let at = pairs.iter().position(|pair| (pair.model, pair.dataset) == (model, dataset));
        let at = at.unwrap_or_else(|| {
            pairs.push(CostPair { dataset, model, ours: [None; 2], paper: [None; 2] });
            pairs.len() - 1
        });
        let side = usize::from(*mode == Mode::Structcomp);
        (pairs[at].ours[side], pairs[at].paper[side]) = (Some(cost), *paper_cost);
    }
    pairs
}

/// Of a dataset, where all its pairs are complete.
fn means(dataset: &str, pairs: &[CostPair], published: &PaperNumbers) -> Vec<String> {
    let mean = |quantity: &Quantity| -> Option<f64> {
        let own = pairs.iter().filter(|pair| pair.dataset == dataset);
        let ratios: Option<Vec<f64>> = own.map(|pair| pair.ratio(quantity)).collect();
        ratios.map(|ratios| ratios.iter().sum::<f64>() / ratios.len() as f64)
    };
    let printed = published.numbers(&format!("savings/{dataset}"));
    let ratios = [mean(&TIME), printed.get(1).copied(), mean(&MEMORY), printed.first().copied()];
    let mut row = vec![data_title(dataset)];
    row.extend(ratios.map(|ratio| or_dash(ratio, |ratio| format!("{ratio:.1}"))));
    row
}

impl CostPair<'_> {
    fn names(&self) -> [String; 2] {
        [Facts::of(self.model).title, data_title(self.dataset)]
    }

    /// The whole graph relative to clusters.
    fn ratio(&self, quantity: &Quantity) -> Option<f64> {
        let [full, clusters] = self.ours.map(|cost| cost.and_then(quantity.ours));
        Some(full? / clusters?)
    }

    fn row(&self, quantity: &Quantity, columns: usize) -> Vec<String> {
        let ratio = |ratio: Option<f64>| or_dash(ratio, |ratio| format!("{ratio:.1}"));
        let [paper_full, paper_clusters] = self.paper.map(|cost| cost.map(|cost| (quantity.paper)(&cost)));
        let paper = paper_full.zip(paper_clusters).map(|(full, clusters)| full / clusters);
        let clusters = self.ours[1];
        let partition = clusters.and_then(|cost| cost.partition_seconds);
        let embed = clusters.or(self.ours[0]).map(|cost| cost.embed_seconds);
        let mut row = self.names().to_vec();
        row.extend(self.ours.map(|cost| or_dash(cost.and_then(quantity.ours), quantity.text)));
        row.extend([
            ratio(self.ratio(quantity)),
            ratio(paper),
            or_dash(partition, TIME.text),
            or_dash(embed, TIME.text),
        ]);
        row.truncate(columns);
        row
    }
}

fn or_dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".into(), text)
}
