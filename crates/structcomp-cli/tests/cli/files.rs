//! What becomes of files when something goes wrong.

use super::errors::files;
use super::*;

const RUN: &str = "run small --model sce --hidden 4 --clusters 30 --runs 2 --epochs 1 --out r";
const SET: [&str; 4] = ["embedding.npy", "report.html", "run.json", "weights.safetensors"];

/// A folder with a small graph and a run on it.
fn with_small() -> tempfile::TempDir {
    let folder = folder();
    line(folder.path(), SMALL);
    line(folder.path(), RUN);
    folder
}

#[test]
fn a_failed_run_changes_nothing_of_an_earlier_one() {
    let folder = with_small();
    let before = SET.map(|file| read(&folder.path().join("r"), file));
    // One node cannot teach a classifier anything, which is found out after training.
    write(folder.path(), "one.txt", "0\n");
    let args = format!("{RUN} --seed 5 --splits one.txt");
    let (code, said) = failure(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
    assert_eq!(code, 1);
    let kept = "wrote r/unfinished/embedding.npy, r/unfinished/weights.safetensors";
    assert!(said.contains(kept) && said.contains("same class"), "{said}");
    assert!(before == SET.map(|file| read(&folder.path().join("r"), file)));
    line(folder.path(), &format!("{RUN} --seed 5"));
    assert_eq!(files(&folder.path().join("r")), SET);
    assert!(before != SET.map(|file| read(&folder.path().join("r"), file)));
}

#[cfg(target_os = "linux")]
#[test]
fn the_report_has_the_checksums_of_its_files() {
    let folder = with_small();
    let report: Value = serde_json::from_slice(&read(folder.path(), "r/run.json")).unwrap();
    for file in ["embedding.npy", "report.html", "weights.safetensors"] {
        let said = Command::new("sha256sum").arg(folder.path().join("r").join(file)).output().unwrap();
        assert!(text(&said.stdout).starts_with(report["files"][file].as_str().unwrap()), "{file}");
    }
}

#[test]
fn what_cannot_be_written_is_found_out_before_any_work() {
    let folder = folder();
    for name in ["m.safetensors", "c.part", "z.npy", "r/run.json"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    for args in [
        "train none.txt --out m.safetensors",
        "partition none.txt --out c.part",
        "embed none.txt --untrained ssgc16 --out z.npy",
        "run none.txt --out r",
    ] {
        let (code, said) = failure(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
        assert!(code == 1 && said.contains("is a folder"), "{args}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_without_end_are_errors() {
    let folder = folder();
    let pipe = |name: &str| {
        assert!(Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap().success())
    };
    ["pipe", "m.checkpoint.safetensors"].into_iter().for_each(pipe);
    for args in [
        "info --config pipe",
        "info --config /dev/zero",
        "embed demo --weights pipe --out z.npy",
        "embed demo --weights /dev/zero --out z.npy",
        "train demo --model sce --epochs 1 --resume --out m.safetensors",
        "run demo --model sce --epochs 1 --splits /dev/zero",
        "partition edges.txt --node-weights pipe",
    ] {
        let (code, said) = failure(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
        assert!(code > 0 && said.contains("is a pipe or a device"), "{args}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn the_environment_may_be_bare() {
    let folder = folder();
    let run = |args: &[&str]| {
        let mut command = program(folder.path());
        command
            .env_remove("HOME")
            .env_remove("XDG_DATA_HOME")
            .env("STRUCTCOMP_DATA", "")
            .args(args)
            .output()
            .unwrap()
    };
    assert!(run(&["info", "edges.txt"]).status.success());
    let said = run(&["info", "cora"]);
    assert_eq!(said.status.code(), Some(1), "{}", text(&said.stderr));
}

#[test]
fn names_in_files_cannot_control_the_terminal() {
    let folder = folder();
    line(folder.path(), "convert edges.txt g");
    let about = text(&read(folder.path(), "g/dataset.json")).replace("\"edges\",", "\"\\u001b[2Jedges\",");
    assert!(about.contains("u001b"), "{about}");
    write(folder.path(), "g/dataset.json", &about);
    let said = line(folder.path(), "info g");
    assert!(said.contains("[2Jedges") && !said.contains('\x1b'), "{said}");
}

#[test]
fn json_is_no_list_of_edges() {
    let folder = folder();
    write(folder.path(), "x.json", "{\"a\": 1,\n\"b\": 2}\n");
    let (code, said) = failure(folder.path(), &["info", "x.json"]);
    assert!(code == 1 && said.contains("is JSON"), "{said}");
}
