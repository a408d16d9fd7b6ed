//! Training that is interrupted, and resumed.

use super::*;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const TRAIN: &str = "train demo --model grace --hidden 8 --clusters 60 --checkpoint-every 1 --json";

/// Starts a training that would take hours, and returns once its first checkpoint is there.
fn started(folder: &Path, name: &str) -> Child {
    let args = format!("{TRAIN} --out {name}.safetensors");
    endless(folder, &args, &format!("{name}.checkpoint.safetensors"))
}

fn endless(folder: &Path, args: &str, checkpoint: &str) -> Child {
    let args = format!("{args} --epochs 100000000");
    let mut command = program(folder);
    command.args(args.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let checkpoint = folder.join(checkpoint);
    let start = Instant::now();
    while !checkpoint.exists() {
        assert!(start.elapsed() < Duration::from_secs(120), "no checkpoint after two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// Resumes after `epochs` epochs for three more; the model is the same as of a training that was never interrupted.
fn resumes(folder: &Path, name: &str, epochs: u64) {
    let epochs = epochs + 3;
    let resumed = json(folder, &format!("{TRAIN} --epochs {epochs} --resume --out {name}.safetensors"));
    assert_eq!(resumed["train"]["epochs"], epochs);
    line(folder, &format!("{TRAIN} --epochs {epochs} --out whole.safetensors"));
    assert!(read(folder, &format!("{name}.safetensors")) == read(folder, "whole.safetensors"));
}

#[test]
fn a_killed_training_resumes_to_the_same_bytes() {
    let folder = folder();
    let mut child = started(folder.path(), "killed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path().join("killed.safetensors").exists());
    // With fewer epochs than are done there is nothing left to do, and the report counts them.
    let done = json(folder.path(), &format!("{TRAIN} --epochs 1 --resume --out killed.safetensors"));
    let epochs = done["train"]["epochs"].as_u64().unwrap();
    assert!(epochs >= 1);
    resumes(folder.path(), "killed", epochs);
}

/// Sends Ctrl-C; the report, and what is said on stderr.
#[cfg(unix)]
fn interrupted(child: Child) -> (Value, String) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["train"]["interrupted"], true);
    (report, String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_training_and_keeps_what_was_learnt() {
    let folder = folder();
    let (report, said) = interrupted(started(folder.path(), "stopped"));
    assert_eq!(said, "interrupted; wrote stopped.safetensors, stopped.checkpoint.safetensors\n");
    assert!(folder.path().join("stopped.safetensors").exists());
    resumes(folder.path(), "stopped", report["train"]["epochs"].as_u64().unwrap());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_and_the_report_says_so() {
    let folder = folder();
    let args = "run demo --model grace --hidden 8 --clusters 60 --runs 2 --checkpoint-every 1 --json --out r";
    let (_, said) = interrupted(endless(folder.path(), args, "r/checkpoint.safetensors"));
    let written =
        ["embedding.npy", "weights.safetensors", "run.json", "report.html", "checkpoint.safetensors"];
    assert_eq!(said, format!("interrupted; wrote {}\n", written.map(|file| format!("r/{file}")).join(", ")));
    assert!(written.iter().all(|file| folder.path().join("r").join(file).exists()));
    assert!(String::from_utf8(read(folder.path(), "r/report.html")).unwrap().contains(" (interrupted)"));
}
