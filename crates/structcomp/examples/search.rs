//! Settings tried on a part of the labels that is kept for choosing.
//!
//! `search DATASET KEY=VALUE,VALUE… …` trains with every combination and prints how well classes are
//! told from the embedding after each number of `epochs`. Keys are `model`, `clusters`, `feature-norm`,
//! `seed` and the fields of `Training`; a field of the model is written `model.lambda`.
//!
//! Choosing sees a fifth of each class, at least 50 nodes of it, always the same ones: 20 random nodes
//! a class to learn from, the others of that part to be judged on, 20 times. No other label is read.
//!
//! The environment variable `LENGTHS` judges other scales of the embedding beside its own, such as
//! `c1.97,r3`: see `lengthened`.

#![allow(clippy::print_stdout)] // how it answers

use rand::seq::SliceRandom;
use serde_json::{Value, json};
use std::collections::{BTreeMap, btree_map::Entry};
use std::error::Error;
use structcomp::data::{Options, open};
use structcomp::{
    Compressed, Dataset, Dense, FeatureNorm, Features, Inputs, Labels, Normalization, PAPER_TRAIN_PER_CLASS,
    Partition, Partitioning, Propagation, Seed, SplitSet, Training, classify,
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
    search.control()?;
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

    /// As it is, then with rows of some lengths.
    fn judged(&self, z: Dense) -> Result<String> {
        let mut text = format!(" {:.2}", self.judge(Features::Dense(z.clone()))?);
        let lengths = std::env::var("LENGTHS").unwrap_or_default();
        for length in lengths.split(',').filter(|length| !length.is_empty()) {
            text += &format!("  {length}:{:.2}", self.judge(lengthened(&z, length)?)?);
        }
        Ok(text)
    }

    fn control(&self) -> Result<()> {
        let x = self.dataset.features.as_ref().ok_or("the dataset has no features")?;
        let twice = Propagation::new(&self.dataset.graph, Normalization::Symmetric).power(x, 2)?;
        println!("Â²X{}", self.judged(twice.to_dense())?);
        Ok(())
    }

    fn run(&mut self, chosen: &BTreeMap<&str, &Value>) -> Result<()> {
        let mut training = json!({ "model": { "name": "sce" } });
        let (mut clusters, mut norm, mut seed) = (self.dataset.graph.nodes() / 10, FeatureNorm::None, 0);
        let mut stops = vec![50];
        for (&key, &value) in chosen {
            match key {
                "model" => training["model"]["name"] = value.clone(),
                "clusters" => clusters = value.as_u64().ok_or("clusters is no number")? as usize,
                "feature-norm" => norm = serde_json::from_value(value.clone())?,
                "seed" => seed = value.as_u64().ok_or("the seed is no number")?,
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
        let training: Training = serde_json::from_value(training)?;
        let graph = &self.dataset.graph;
        if let Entry::Vacant(place) = self.partitions.entry((clusters, seed)) {
            let config = Partitioning { clusters: Some(clusters), ..Partitioning::default() };
            place.insert(config.partition(graph, Seed(seed))?);
        }
        let x = self.dataset.features.clone().ok_or("the dataset has no features")?.normalized(norm);
        let compressed = Compressed::new(&x, &self.partitions[&(clusters, seed)])?;
        let described: Vec<String> = chosen
            .iter()
            .filter(|(key, _)| **key != "epochs")
            .map(|(key, value)| format!("{key}={}", value.to_string().trim_matches('"')))
            .collect();
        let mut line = String::new();
        // Each number of epochs by itself: some models plan by it, and batch norm is measured at the end.
        for epochs in stops {
            let training = Training { epochs, ..training.clone() };
            let trained = training.train(Inputs::Clusters(&compressed), graph, Seed(seed), |_| true);
            let trained = match trained {
                Ok(trained) => trained,
                Err(error) => {
                    println!("{}\t{error}", described.join(" "));
                    return Ok(());
                }
            };
            let last = |numbers: &[f64]| numbers.last().copied().unwrap_or(f64::NAN);
            let (loss, settled) = (last(&trained.losses), last(&trained.settled));
            let z = trained.encoder.embed(graph, &x)?;
            line += &format!("\n    {epochs}:{} ({loss:.3e}, settled {settled:.3})", self.judged(z)?);
        }
        println!("{}{line}", described.join(" "));
        Ok(())
    }
}

/// Rows as another scale has them: `r3` all of length 3, `c3` less their mean and of length 3 by the root
/// mean square, `cr3` less their mean and all of length 3.
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
    let (key, values) = arg.split_once('=').ok_or_else(|| format!("'{arg}' is no KEY=VALUE"))?;
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    Ok((key.to_owned(), values.split(',').map(value).collect()))
}
