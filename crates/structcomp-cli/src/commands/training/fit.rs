//! Training with progress, checkpoints and an early end.

use super::TrainingFlags;
use crate::{signals, terminal};
use anyhow::{Result, anyhow, bail};
use indicatif::ProgressBar;
use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use structcomp::{Dataset, Error, Fitted, Hooks, Mode, Stage, StructComp};

impl TrainingFlags {
    /// Trains. Ctrl-C or another signal ends training after the epoch under way, and the program at any other time.
    pub(in crate::commands) fn fit(
        &self,
        model: &StructComp,
        dataset: &Dataset,
        checkpoint: Option<&Path>,
        spinner: &ProgressBar,
    ) -> Result<Fitted> {
        let resume = checkpoint.filter(|_| self.resume);
        if let Some(missing) = resume.filter(|path| !path.exists()) {
            bail!("there is no checkpoint {}; leave out --resume to start over", missing.display());
        }
        let (name, epochs) = (model.training.model.name(), model.training.epochs);
        // Only epochs can end early.
        let patient = name != "solved" && epochs > 0;
        let stop = signals::asked_to_stop();
        stop.store(true, Relaxed);
        let mut on_stage = |stage| {
            stop.store(!patient || stage != Stage::Train, Relaxed);
            terminal::stage(
                spinner,
                match stage {
                    Stage::Prepare => "preparing the features".to_owned(),
                    Stage::Partition if model.mode == Mode::Graphzoom => "coarsening the graph".to_owned(),
                    Stage::Partition => format!("partitioning with {}", model.partitioning.method),
                    Stage::Compress => "compressing the features".to_owned(),
                    Stage::Train if name == "solved" => "solving the model".to_owned(),
                    Stage::Train => format!("training {name}"),
                },
            );
        };
        let started = Cell::new(false);
        let mut on_epoch = |epoch: &structcomp::Epoch, trainer: &structcomp::Trainer<'_>| {
            started.set(true);
            let (number, loss) = (epoch.number, epoch.loss);
            spinner.set_message(format!("training {name}: epoch {number} of {epochs}, loss {loss:.4}"));
            terminal::counted().set(number as u64, epochs as u64);
            let stopped = stop.load(Relaxed);
            if let (Some(path), Some(every)) = (checkpoint, self.checkpoint_every)
                && (stopped || number % every as usize == 0)
            {
                trainer.save(path)?;
            }
            Ok(!stopped)
        };
        let hooks = Hooks {
            on_stage: Some(&mut on_stage),
            on_epoch: Some(&mut on_epoch),
            resume: resume.map(Path::to_owned),
            ..Hooks::default()
        };
        let fitted = model.fit_with(dataset, hooks);
        let too_late = stop.swap(true, Relaxed) && patient;
        let mut fitted = fitted.map_err(|error| explained(error, resume.filter(|_| !started.get())))?;
        // A signal after the last epoch is not forgotten.
        fitted.interrupted |= too_late;
        Ok(fitted)
    }
}

/// An error of training in the words of the command line.
fn explained(error: Error, resume: Option<&Path>) -> anyhow::Error {
    match &error {
        Error::Format { path, .. } | Error::Io { path, .. } if resume == Some(path) => {
            anyhow!(error).context("cannot resume (leave out --resume to start over)")
        }
        _ => error.into(),
    }
}
