//! Cells that measure training, in processes of their own: some for time, one for memory.

use crate::fit::with_trainer;
use crate::outcome::Cost;
use crate::source::{Data, Sources};
use crate::{Cell, Mode, Setup};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use structcomp::memory::peak_rss_bytes;
use structcomp::{Budget, Error, Partition, Result, Seed, Trainer, Training};

/// What a measuring process is told.
#[derive(Serialize, Deserialize)]
pub(crate) struct Request {
    dataset: String,
    mode: Mode,
    setup: Setup,
    seed: u64,
    data_dir: PathBuf,
    threads: usize,
    /// Whether it measures memory instead of time.
    memory: bool,
}

/// How many processes measure time, one after the other.
pub(crate) const PROCESSES: usize = 3;
/// About how many seconds each of them takes.
pub(crate) const SECONDS: f64 = 8.0;
/// Epochs of the process that measures memory.
pub(crate) const MEMORY_EPOCHS: usize = 2;

/// Measures with the command of the caller.
pub(crate) fn cost(command: &[OsString], mut request: Request) -> Result<Cost> {
    let [program, arguments @ ..] = command else {
        return Err(Error::Input(
            "measuring time and memory needs a command that runs in its own process".into(),
        ));
    };
    let mut ask = |memory: bool| -> Result<Cost> {
        request.memory = memory;
        let mut command = Command::new(program);
        command.args(arguments).arg(serde_json::to_string(&request).map_err(wrong)?);
        if memory {
            // glibc then returns freed arrays to the system, so that new ones count.
            command.env("MALLOC_MMAP_THRESHOLD_", "65536").env("MALLOC_TRIM_THRESHOLD_", "0");
        }
        let output = command.stdin(Stdio::null()).output().map_err(crate::io(program.as_ref()))?;
        if !output.status.success() {
            return Err(Error::Input(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout).map_err(wrong)
    };
    // Other programs may slow a process down; the fastest of a few shows what the work takes.
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
    Error::Input(format!("invalid request or answer while measuring training: {error}"))
}

/// Trains as the request says and returns the cost as JSON. A process does this once, for
/// [`Reproduction::measure_command`](crate::Reproduction::measure_command).
pub fn measure(request: &str) -> Result<String> {
    let request: Request = serde_json::from_str(request).map_err(wrong)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(request.threads).build();
    let pool = pool.map_err(|error| Error::Input(format!("cannot start threads: {error}")))?;
    serde_json::to_string(&pool.install(|| request.measure())?).map_err(wrong)
}

impl Request {
    pub(crate) fn new(cell: &Cell, setup: &Setup, data_dir: &Path, seed: Seed) -> Self {
        Self {
            dataset: cell.dataset.clone(),
            mode: cell.mode,
            setup: setup.clone(),
            seed: seed.0,
            data_dir: data_dir.to_owned(),
            threads: rayon::current_num_threads(),
            memory: false,
        }
    }

    fn measure(&self) -> Result<Cost> {
        let source = Sources::new(&self.data_dir, Budget::default()).get(&self.dataset)?;
        let (graph, x, seed) = (&source.dataset.graph, source.scaled_features(&self.setup)?, Seed(self.seed));
        let data = Data { graph, x: &x };
        let started = Instant::now();
        let partition = match self.mode {
            Mode::Structcomp => Some(self.setup.partitioning.partition(graph, seed)?),
            _ => None,
        };
        let partition_seconds = partition.is_some().then(|| started.elapsed().as_secs_f64());
        let cost = self.train(&data, partition.as_ref())?;
        Ok(Cost { partition_seconds, ..cost })
    }

    fn train(&self, data: &Data, partition: Option<&Partition>) -> Result<Cost> {
        let Some(training) = &self.setup.training else {
            return Err(Error::Input("measuring needs settings to train with".into()));
        };
        let before = reset_peak_rss();
        with_trainer(training, data, partition, Seed(self.seed), |trainer| {
            let times = if self.memory {
                epochs(trainer, MEMORY_EPOCHS, f64::INFINITY)?
            } else {
                // The first epoch allocates what all others use.
                trainer.step()?;
                epochs(trainer, timed(training), SECONDS)?
            };
            let bytes = before.and_then(|before| Some(peak_rss_bytes()?.saturating_sub(before)));
            let encoder = trainer.encoder()?;
            let started = Instant::now();
            encoder.embed(data.graph, data.x)?;
            Ok(Cost {
                epochs: times.len(),
                seconds_per_epoch: median(times),
                bytes,
                partition_seconds: None,
                embed_seconds: started.elapsed().as_secs_f64(),
                threads: rayon::current_num_threads(),
            })
        })
    }
}

/// How many epochs are timed at most.
pub(crate) fn timed(training: &Training) -> usize {
    training.epochs.clamp(3, 50)
}

/// The seconds of each epoch, until `most` epochs or `seconds` have passed; at least one.
fn epochs(trainer: &mut Trainer, most: usize, seconds: f64) -> Result<Vec<f64>> {
    let started = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || (times.len() < most && started.elapsed().as_secs_f64() < seconds) {
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

/// Restarts [`peak_rss_bytes`] from the present memory and returns that, where the system allows it (Linux).
fn reset_peak_rss() -> Option<u64> {
    fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_rss_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_is_measured() {
        for mode in [Mode::Structcomp, Mode::Full] {
            let training = Some(Training {
                model: structcomp::Model::named("sce").unwrap(),
                hidden: 64,
                ..Training::default()
            });
            let setup = Setup { training, ..Setup::default() };
            for memory in [true, false] {
                let (dataset, data_dir, setup) = ("demo".into(), PathBuf::new(), setup.clone());
                let request = Request { dataset, mode, setup, seed: 0, data_dir, threads: 2, memory };
                let answer = measure(&serde_json::to_string(&request).unwrap()).unwrap();
                let cost: Cost = serde_json::from_str(&answer).unwrap();
                assert!(cost.seconds_per_epoch > 0.0 && cost.embed_seconds > 0.0, "{answer}");
                assert_eq!((cost.epochs == MEMORY_EPOCHS, cost.threads), (memory, 2), "{answer}");
                assert_eq!(cost.partition_seconds.is_some(), mode == Mode::Structcomp);
            }
        }
        assert!(measure("{}").unwrap_err().to_string().contains("measuring training"));
    }
}
