//! Searches settings by their accuracy on labels that are set aside for that.
//!
//! `search DATASET KEY=VALUE,VALUE… …` trains with every combination and prints the test accuracy after each number
//! of `epochs`, such as `epochs=20+50`. Keys are `model`, `clusters`, `feature-norm`, `seed` and the fields of
//! `Training`; a field of the model is written `model.lambda`.
//!
//! Only the labels of a fifth of each class, at least 50 nodes and always the same ones, are used: 20 random splits of
//! them, with 20 training nodes per class and the others for testing.
//!
//! The environment variable `LENGTHS` also evaluates the embedding at other scales, such as `c1.97,r3`: see
//! `lengthened`.

#![allow(clippy::print_stdout)] // its output

use rand::seq::SliceRandom;
use serde_json::{Value, json};
use std::collections::{BTreeMap, btree_map::Entry};
use std::error::Error;
use structcomp::data::{Options, PAPER_TRAIN_PER_CLASS, open};
use structcomp::evaluate::classify;
use structcomp::{
    Controls, Dataset, Dense, Features, Hooks, Labels, Partition, Seed, SplitSet, StructComp, Training,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: search DATASET KEY=VALUE,VALUE…")?;
    let keys: Vec<(String, Vec<Value>)> = args.map(|arg| values(&arg)).collect::<Result<_>>()?;
    let dataset = open(&path, &Options::default())?;
    let labels = part_for_choosing(dataset.labels.as_ref().ok_or("the dataset has no labels")?)?;
    let splits = SplitSet::random(&labels, PAPER_TRAIN_PER_CLASS, 20, Seed(1));
    let mut search = Search { dataset, labels, splits, partitions: BTreeMap::new() };
    search.controls()?;
    let combinations: usize = keys.iter().map(|(_, values)| values.len()).product();
    for mut number in 0..combinations {
        let mut chosen = BTreeMap::new();
        for (key, values) in &keys {
            chosen.insert(key.as_str(), &values[number % values.len()]);
            number /= values.len();
        }
        search.run(&chosen)?;
    }
    Ok(())
}

struct Search {
    dataset: Dataset,
    labels: Labels,
    splits: SplitSet,
    partitions: BTreeMap<(usize, u64), Partition>,
}

impl Search {
    fn judge(&self, x: Features) -> Result<f64> {
        Ok(classify(&x, &self.labels, &self.splits, 1.0)?.mean)
    }

    /// The accuracy of the embedding, and at other scales.
    fn judged(&self, z: Dense) -> Result<String> {
        let mut text = format!(" {:.2}", self.judge(Features::Dense(z.clone()))?);
        let lengths = std::env::var("LENGTHS").unwrap_or_default();
        for length in lengths.split(',').filter(|length| !length.is_empty()) {
            text += &format!("  {length}:{:.2}", self.judge(lengthened(&z, length)?)?);
        }
        Ok(text)
    }

    fn controls(&self) -> Result<()> {
        let x = self.dataset.features.as_ref().ok_or("the dataset has no features")?;
        let rows = Controls::of_features(&self.dataset.graph, x).each(|x| Ok(x.to_dense()))?;
        for (control, rows) in rows.iter() {
            println!("{}{}", control.label, self.judged(rows.clone())?);
        }
        Ok(())
    }

    fn run(&mut self, chosen: &BTreeMap<&str, &Value>) -> Result<()> {
        let (settings, stops) = self.settings(chosen)?;
        let clusters = settings.partitioning.clusters_of(self.dataset.graph.nodes());
        if let Entry::Vacant(place) = self.partitions.entry((clusters, settings.seed.0)) {
            place.insert(settings.partitioning.partition(&self.dataset.graph, settings.seed)?);
        }
        let described: Vec<String> = chosen
            .iter()
            .filter(|(key, _)| **key != "epochs")
            .map(|(key, value)| format!("{key}={}", value.to_string().trim_matches('"')))
            .collect();
        println!("{}", described.join(" "));
        // Each number of epochs by itself: some models plan by it, and batch norm is measured at the end.
        for epochs in stops {
            let training = Training { epochs, ..settings.training.clone() };
            let partition = Some(self.partitions[&(clusters, settings.seed.0)].clone());
            let hooks = Hooks { partition, ..Hooks::default() };
            match (StructComp { training, ..settings.clone() }.fit_with(&self.dataset, hooks)) {
                Ok(fitted) => {
                    let last = |numbers: &[f64]| numbers.last().copied().unwrap_or(f64::NAN);
                    let loss = last(&fitted.losses);
                    let judged = self.judged(fitted.embed(&self.dataset)?)?;
                    println!("    {epochs}:{judged} (loss {loss:.3e})");
                }
                Err(error) => println!("    {epochs}: {error}"),
            }
        }
        Ok(())
    }

    /// The settings of a combination, and its numbers of epochs.
    fn settings(&self, chosen: &BTreeMap<&str, &Value>) -> Result<(StructComp, Vec<usize>)> {
        let mut settings = StructComp::default();
        let mut training = json!({ "model": { "name": "sce" } });
        let mut stops = vec![50];
        for (&key, &value) in chosen {
            match key {
                "model" => training["model"]["name"] = value.clone(),
                "clusters" => settings.partitioning.clusters = serde_json::from_value(value.clone())?,
                "feature-norm" => settings.prepare.feature_norm = serde_json::from_value(value.clone())?,
                "seed" => settings.seed = Seed(value.as_u64().ok_or("the seed is not a number")?),
                "epochs" => {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    stops = text.split('+').map(str::parse).collect::<std::result::Result<_, _>>()?;
                }
                _ => match key.strip_prefix("model.") {
                    Some(field) => training["model"][field] = value.clone(),
                    None => training[key] = value.clone(),
                },
            }
        }
        settings.training = serde_json::from_value(training)?;
        Ok((settings, stops))
    }
}

/// Rows at another scale: `r3` makes all rows of length 3; `c3` subtracts the mean row, and makes the root mean square
/// of the lengths 3; `cr3` subtracts the mean row and makes all rows of length 3.
fn lengthened(x: &Dense, how: &str) -> Result<Features> {
    let (centred, each) = (how.contains('c'), how.contains('r'));
    let length: f64 = how.trim_start_matches(['c', 'r']).parse()?;
    let (rows, cols) = (x.rows(), x.cols());
    let mut values = x.values().to_vec();
    if centred {
        let mut mean = vec![0f64; cols];
        for row in values.chunks(cols) {
            mean.iter_mut().zip(row).for_each(|(mean, &value)| *mean += value as f64 / rows as f64);
        }
        for row in values.chunks_mut(cols) {
            row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= *mean as f32);
        }
    }
    let square = |row: &[f32]| row.iter().map(|&value| (value as f64).powi(2)).sum::<f64>();
    let all = (square(&values) / rows as f64).sqrt();
    for row in values.chunks_mut(cols) {
        let scale = (length / if each { square(row).sqrt().max(1e-9) } else { all }) as f32;
        row.iter_mut().for_each(|value| *value *= scale);
    }
    Ok(Features::Dense(Dense::new(rows, cols, values)?))
}

/// The labels of a fifth of each class, at least 50 nodes of it.
fn part_for_choosing(labels: &Labels) -> Result<Labels> {
    let mut nodes: Vec<u32> = (0..labels.nodes() as u32).collect();
    nodes.shuffle(&mut Seed(0).stream("choosing"));
    let mut left: Vec<usize> = labels.sizes().iter().map(|&size| (size / 5).max(50)).collect();
    let mut class = vec![None; nodes.len()];
    for node in nodes {
        if let Some(of) = labels.of(node).filter(|&of| left[of as usize] > 0) {
            left[of as usize] -= 1;
            class[node as usize] = Some(of);
        }
    }
    Ok(Labels::new(class)?)
}

fn values(arg: &str) -> Result<(String, Vec<Value>)> {
    let (key, values) = arg.split_once('=').ok_or_else(|| format!("'{arg}' is not KEY=VALUE"))?;
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    Ok((key.to_owned(), values.split(',').map(value).collect()))
}
