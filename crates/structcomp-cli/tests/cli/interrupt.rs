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
    wait_for(|| checkpoint.exists());
    child
}

fn wait_for(happens: impl Fn() -> bool) {
    let start = Instant::now();
    while !happens() {
        assert!(start.elapsed() < Duration::from_secs(120), "still waiting after two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
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

/// Sends a signal to a process in training; the report, and what is said on stderr.
#[cfg(unix)]
fn interrupted(child: Child, signal: &str, code: i32) -> (Value, String) {
    send(&child, signal);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["train"]["interrupted"], true);
    (report, String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_training_and_keeps_what_was_learnt_beside_the_old_model() {
    let folder = folder();
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let child = started(folder.path(), "stopped");
        write(folder.path(), "stopped.safetensors", "the old model");
        let (report, said) = interrupted(child, signal, code);
        assert_eq!(
            said,
            "interrupted; wrote stopped.unfinished.safetensors, stopped.checkpoint.safetensors\n"
        );
        assert_eq!(text(&read(folder.path(), "stopped.safetensors")), "the old model");
        assert!(folder.path().join("stopped.unfinished.safetensors").exists());
        resumes(folder.path(), "stopped", report["train"]["epochs"].as_u64().unwrap());
        std::fs::remove_file(folder.path().join("stopped.checkpoint.safetensors")).unwrap();
    }
}

const RUN: &str =
    "run small --model grace --hidden 8 --clusters 30 --runs 2 --checkpoint-every 1 --json --out r";

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_without_a_report() {
    let folder = folder();
    line(folder.path(), SMALL);
    let (_, said) = interrupted(endless(folder.path(), RUN, "r/checkpoint.safetensors"), "-INT", 130);
    let written = ["unfinished/embedding.npy", "unfinished/weights.safetensors", "checkpoint.safetensors"];
    assert_eq!(said, format!("interrupted; wrote {}\n", written.map(|file| format!("r/{file}")).join(", ")));
    assert_eq!(super::errors::files(&folder.path().join("r")), ["checkpoint.safetensors", "unfinished"]);
}

#[cfg(unix)]
#[test]
fn a_folder_takes_one_run_at_a_time() {
    let folder = folder();
    line(folder.path(), SMALL);
    let mut child = endless(folder.path(), RUN, "r/checkpoint.safetensors");
    let (code, said) = failure(folder.path(), &RUN.split(' ').collect::<Vec<_>>());
    assert!(code == 1 && said.contains("r: is in use by another run"), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
    line(folder.path(), &format!("{RUN} --epochs 1"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_the_parent_ignores_is_ignored() {
    let folder = folder();
    line(folder.path(), SMALL);
    let run = format!("trap '' HUP; exec '{}' {RUN} --epochs 100000000", env!("CARGO_BIN_EXE_structcomp"));
    let mut child = Command::new("sh").args(["-c", &run]).current_dir(folder.path()).spawn().unwrap();
    wait_for(|| folder.path().join("r/checkpoint.safetensors").exists());
    send(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Temporary files in a folder.
#[cfg(unix)]
fn litter(folder: &Path) -> usize {
    super::errors::files(folder).iter().filter(|name| name.starts_with(".structcomp-")).count()
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_temporary_files_and_what_a_kill_leaves_is_swept() {
    let folder = folder();
    for (signal, code, left) in
        [("-INT", Some(130), 0), ("-TERM", Some(143), 0), ("-HUP", Some(129), 0), ("-KILL", None, 1)]
    {
        let args = "generate demo --nodes 2000000 --edges 20000000 --out g";
        let child = program(folder.path()).args(args.split(' ')).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| litter(folder.path()) == 1);
        send(&child, signal);
        assert_eq!(child.wait_with_output().unwrap().status.code(), code);
        assert_eq!(litter(folder.path()), left, "{signal}");
    }
    line(folder.path(), "generate demo --nodes 300 --edges 900 --out g");
    assert_eq!(super::errors::files(folder.path()), ["edges.txt", "g"]);
}
