//! The Rust side of `benchmarks/train.py` and `benchmarks/whole.py`.
//!
//! - `prepare DATASET FOLDER` writes the graph, the features and the clusters of a dataset and the paper's settings to
//!   FOLDER. A synthetic dataset takes the settings of the published one that it stands in for.
//! - `run FOLDER` prints `ready`. For every line `MODEL DATASET WARM EPOCHS` it trains for WARM epochs that are not timed
//!   and EPOCHS that are, and prints the seconds per epoch, the seconds before the first, and the first and last loss.

#![allow(clippy::print_stdout)] // its output

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    io::BufRead,
    path::{Path, PathBuf},
    time::Instant,
};
use structcomp::sample::Inputs;
use structcomp::{
    Compressed, Dataset, Features, Partition, Partitioning, Preset, Seed, Trainer, Training, data,
};

/// The models of the paper's tables.
const MODELS: [&str; 4] = ["sce", "coles", "grace", "cca-ssg"];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["prepare", name, folder] => prepare(name, Path::new(folder)),
        ["run", folder] => run(Path::new(folder)),
        _ => Err("usage: bench_train prepare DATASET FOLDER | run FOLDER".into()),
    }
}

fn load(name: &str) -> Outcome<Dataset> {
    let folder = env::var("STRUCTCOMP_DATA").unwrap_or_else(|_| "../shared/data".into());
    Ok(data::load(name, folder.as_ref(), Seed(0), &data::Options::default())?)
}

fn part(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.part"))
}

fn preset(model: &str, name: &str) -> Outcome<Preset> {
    let published = name.replace("synthetic-", "ogbn-");
    Ok(Preset::paper(model, &published)?.ok_or("the paper has no settings for this")?)
}

fn prepare(name: &str, folder: &Path) -> Outcome<()> {
    let dataset = load(name)?;
    let graph = &dataset.graph;
    let mut settings: BTreeMap<&str, Training> = BTreeMap::new();
    for model in MODELS {
        settings.insert(model, preset(model, name)?.training);
    }
    fs::write(folder.join(format!("{name}.json")), serde_json::to_vec(&settings)?)?;
    let clusters = preset("sce", name)?.clusters;
    let config = Partitioning { clusters, ..Partitioning::default() };
    config.partition(graph, Seed(0))?.write(part(folder, name))?;

    let write = |what: &str, bytes: &[u8]| fs::write(folder.join(format!("{name}.{what}")), bytes);
    let mut offsets = vec![0u64];
    let mut targets: Vec<u32> = Vec::new();
    for node in 0..graph.nodes() as u32 {
        targets.extend(graph.neighbors(node));
        offsets.push(targets.len() as u64);
    }
    write("offsets", bytemuck::cast_slice(&offsets))?;
    write("targets", bytemuck::cast_slice(&targets))?;
    match dataset.features.as_ref().ok_or("the dataset has no features")? {
        Features::Dense(x) => write("values", bytemuck::cast_slice(x.values()))?,
        Features::Sparse(x) => {
            let (rows, columns, values) = x.parts();
            write("width", x.cols().to_string().as_bytes())?;
            write("rows", bytemuck::cast_slice(rows))?;
            write("columns", bytemuck::cast_slice(columns))?;
            write("values", bytemuck::cast_slice(values))?;
        }
    }
    Ok(())
}

fn run(folder: &Path) -> Outcome<()> {
    let mut loaded: BTreeMap<String, (Dataset, Partition)> = BTreeMap::new();
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let [model, name, warm, epochs] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err("expected MODEL DATASET WARM EPOCHS".into());
        };
        if !loaded.contains_key(name) {
            let dataset = load(name)?;
            let (partition, _) = Partition::read(part(folder, name), dataset.graph.nodes())?;
            loaded.insert(name.to_owned(), (dataset, partition));
        }
        let (dataset, partition) = &loaded[name];
        let training = preset(model, name)?.training;
        println!("{}", train(dataset, partition, &training, warm.parse()?, epochs.parse()?)?);
    }
    Ok(())
}

fn train(
    dataset: &Dataset,
    partition: &Partition,
    training: &Training,
    warm: usize,
    epochs: usize,
) -> Outcome<String> {
    let features = dataset.features.as_ref().ok_or("the dataset has no features")?;
    let compressed = Compressed::new(features, partition)?;
    let start = Instant::now();
    let mut trainer = Trainer::new(training, Inputs::Clusters(&compressed), &dataset.graph, Seed(0), None)?;
    let before = start.elapsed().as_secs_f64();
    for _ in 0..warm {
        trainer.step()?;
    }
    let start = Instant::now();
    for _ in 0..epochs {
        trainer.step()?;
    }
    let seconds = start.elapsed().as_secs_f64() / epochs as f64;
    let losses = trainer.losses();
    Ok(format!("{seconds} {before} {} {}", losses[0], losses[losses.len() - 1]))
}
