//! Cells that measure training, each in processes of its own: some by the clock, one for its memory.

use super::judge::scaled;
use super::outcome::Cost;
use super::source::{Source, Sources};
use super::{Cell, Mode, Repeats, Setup};
use crate::memory::{forget_peak_rss, rss_bytes};
use crate::{Budget, Compressed, Error, Inputs, Result, Seed, Trainer, Training, peak_rss_bytes};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a process of its own is told.
#[derive(Serialize, Deserialize)]
struct Request {
    dataset: String,
    mode: Mode,
    setup: Setup,
    seed: u64,
    data_dir: PathBuf,
    /// Whether it looks at memory, and else at the clock.
    memory: bool,
}

/// How many processes measure by the clock, one after the other.
pub(super) const PROCESSES: usize = 3;
/// About how long each of them does so, in seconds.
pub(super) const CLOCK: f64 = 8.0;
/// Epochs of the one that looks at memory.
pub(super) const LOOKED_AT: usize = 2;

/// Measures a cell with `program`, the command line of this library.
pub(super) fn cost(
    program: &Path,
    cell: &Cell,
    setup: &Setup,
    data_dir: &Path,
    repeats: &Repeats,
) -> Result<Cost> {
    let ask = |memory: bool| -> Result<Cost> {
        let request = Request {
            dataset: cell.dataset.clone(),
            mode: cell.mode,
            setup: setup.clone(),
            seed: repeats.seed,
            data_dir: data_dir.to_owned(),
            memory,
        };
        let request = serde_json::to_string(&request).map_err(wrong)?;
        let mut command = Command::new(program);
        command
            .args(["measure-training", "--threads"])
            .arg(rayon::current_num_threads().to_string())
            .arg(request);
        if memory {
            // So that glibc hands every larger array back when it is freed, and new ones count.
            command.env("MALLOC_MMAP_THRESHOLD_", "65536").env("MALLOC_TRIM_THRESHOLD_", "0");
        }
        let output = command.stdin(Stdio::null()).output().map_err(Error::io(program))?;
        if !output.status.success() {
            return Err(Error::Input(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(wrong)
    };
    // Others may be at work on the machine for a while: the fastest of a few processes says what the work takes.
    let mut fastest = ask(false)?;
    for _ in 1..PROCESSES {
        let again = ask(false)?;
        if again.seconds_per_epoch < fastest.seconds_per_epoch {
            fastest = again;
        }
    }
    Ok(Cost { bytes: ask(true)?.bytes, ..fastest })
}

fn wrong(error: serde_json::Error) -> Error {
    Error::Input(format!("measuring training: {error}"))
}

/// Trains as `request` says and tells what it cost, as JSON: for a process of its own.
#[doc(hidden)]
pub fn measure(request: &str) -> Result<String> {
    let request: Request = serde_json::from_str(request).map_err(wrong)?;
    let source = Sources::new(&request.data_dir, Budget::default()).get(&request.dataset)?;
    serde_json::to_string(&request.measure(&source)?).map_err(wrong)
}

impl Request {
    fn measure(&self, source: &Source) -> Result<Cost> {
        let (graph, seed) = (&source.dataset.graph, Seed(self.seed));
        let x = scaled(source.features()?, &self.setup);
        let Some(training) = &self.setup.training else {
            return Err(Error::Input("there are no settings to train by".into()));
        };
        let started = Instant::now();
        let partition = match self.mode {
            Mode::Structcomp => Some(self.setup.partitioning.partition(graph, seed)?),
            Mode::Full => None,
        };
        let partition_seconds = partition.is_some().then(|| started.elapsed().as_secs_f64());
        let before = rss_bytes().filter(|_| forget_peak_rss());
        let compressed = partition.as_ref().map(|partition| Compressed::new(&x, partition)).transpose()?;
        let inputs = compressed.as_ref().map_or(Inputs::Nodes(&x), Inputs::Clusters);
        let mut trainer = Trainer::new(training, inputs, graph, seed, None)?;
        let times = if self.memory {
            epochs(&mut trainer, LOOKED_AT, 0.0)?
        } else {
            self.timed(training, &mut trainer)?
        };
        let bytes = before.and_then(|before| Some(peak_rss_bytes()?.saturating_sub(before)));
        let encoder = trainer.encoder();
        let started = Instant::now();
        encoder.embed(graph, &x)?;
        Ok(Cost {
            seconds_per_epoch: median(times.clone()),
            bytes,
            epochs: times.len(),
            partition_seconds,
            embed_seconds: started.elapsed().as_secs_f64(),
            threads: rayon::current_num_threads(),
        })
    }

    fn timed(&self, training: &Training, trainer: &mut Trainer) -> Result<Vec<f64>> {
        // The first epoch makes room for what all others use.
        trainer.step()?;
        epochs(trainer, timed(training), CLOCK)
    }
}

/// How many epochs are timed at most.
pub(super) fn timed(training: &Training) -> usize {
    training.epochs.clamp(3, 50)
}

/// The seconds of each epoch: so many, or fewer where they take longer than that, but one at least.
fn epochs(trainer: &mut Trainer, most: usize, seconds: f64) -> Result<Vec<f64>> {
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < most
        && (times.is_empty() || seconds == 0.0 || started.elapsed().as_secs_f64() < seconds)
    {
        let epoch = Instant::now();
        trainer.step()?;
        times.push(epoch.elapsed().as_secs_f64());
    }
    Ok(times)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_is_measured() {
        for mode in [Mode::Structcomp, Mode::Full] {
            let setup =
                Setup { training: Some(Training { hidden: 64, ..Training::default() }), ..Setup::default() };
            for memory in [true, false] {
                let (dataset, data_dir, setup) = ("demo".into(), PathBuf::new(), setup.clone());
                let request = Request { dataset, mode, setup, seed: 0, data_dir, memory };
                let answer = measure(&serde_json::to_string(&request).unwrap()).unwrap();
                let cost: Cost = serde_json::from_str(&answer).unwrap();
                assert!(cost.seconds_per_epoch > 0.0 && cost.embed_seconds > 0.0, "{answer}");
                assert_eq!(cost.epochs == 2, memory, "{answer}");
                assert_eq!(cost.partition_seconds.is_some(), mode == Mode::Structcomp);
            }
        }
        assert!(measure("{}").unwrap_err().to_string().contains("measuring training"));
    }
}
