//! The presets by value, so that an edit of one file cannot change others unnoticed.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use serde::Deserialize;
use structcomp::{FeatureNorm, Model, Preset, Training};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Expected {
    kind: String,
    dataset: String,
    clusters: Option<usize>,
    feature_norm: FeatureNorm,
    training: Training,
}

const DATASETS: [&str; 14] = [
    "cora",
    "citeseer",
    "pubmed",
    "amazon-photo",
    "amazon-computers",
    "ogbn-arxiv",
    "ogbn-products",
    "ogbn-papers100M",
    "chameleon",
    "squirrel",
    "actor",
    "flickr",
    "reddit",
    "mine",
];

#[test]
fn presets_are_as_recorded() {
    let expected: Vec<Expected> = serde_json::from_str(include_str!("presets.json")).unwrap();
    let mut found = 0;
    for model in Model::TRAINED {
        for dataset in DATASETS {
            let presets = [
                ("paper", Preset::paper(model, dataset)),
                ("ours", Preset::ours(model, dataset)),
                ("full", Preset::full(model, dataset)),
            ];
            for (kind, preset) in presets {
                let same = |row: &&Expected| {
                    (&row.kind[..], &row.dataset[..], row.training.model.name()) == (kind, dataset, model)
                };
                let (preset, row) = (preset.unwrap(), expected.iter().find(same));
                assert_eq!(preset.is_some(), row.is_some(), "{kind} {model} {dataset}");
                let (Some(preset), Some(row)) = (preset, row) else { continue };
                let (got, want) = (preset.training, row.training.clone());
                assert_eq!(got, want, "{kind} {model} {dataset}");
                assert_eq!((preset.clusters, preset.feature_norm), (row.clusters, row.feature_norm));
                found += 1;
            }
        }
    }
    assert_eq!(found, expected.len());
}
