//! Error messages and exit codes.

use super::*;

/// Commands that must fail, in the folder that `broken` makes.
const FAILURES: &str = "
inform
rnu
fly
info coar
info cora
info none/here.txt
info none.txt
info edges.txt --splits random20
info edges.txt --labels y.csv --splits mine
info edges.txt --strict
info demo --memory 1K
info empty.csv
info unlike.bin
info empty-folder
info edges.txt --modle sce
info edges.txt --format matrix-market
info edges.txt --format odd
info edges.txt --edges edges.txt
info --threads 0
info --memory much
info --feature-norm odd
info --stand-in odd
info --stand-in-width 0
info --config none.toml
info --config unknown.toml
info --config list.toml
info --config odd.toml

datasets
datasets fetch
datasets fetch nothing
datasets verify
datasets verify nothing

generate
generate dmeo --out d
generate --out d --homophily 0.01
generate --out d --words 5 --gaussian 5

convert edges.txt
convert edges.txt out.xyz
convert edges.txt edges.txt
convert edges.txt ./edges.txt --part edges
convert edges.txt - --json
convert edges.txt x.npy --features none.csv
convert edges.txt x.npy --features inf.csv
convert edges.txt x.npy --hops 1
convert x.csv z.npy --part features --hops 1

partition edges.txt -k 5
partition edges.txt -k 0
partition edges.txt --method magic
partition edges.txt -k 2 --max-size 1
partition edges.txt -k 2 --imbalance -1
partition edges.txt -k 2 --imbalance 1 --max-size 2
partition edges.txt -k 2 --node-weights weights.txt
partition edges.txt -k 2 --node-weights none.txt
partition edges.txt -k 2 --method random --refine objective
partition edges.txt -k 2 --per-component
partition edges.txt -k 2 --out c.npy
partition edges.txt -k 2 --out c.json
partition edges.txt -k 2 --plot c.png
partition edges.txt -k 3 --method theirs.part

train
train demo --out m.npy
train demo --out edges.txt/m.safetensors
train demo --out m.safetensors --model magic
train demo --out m.safetensors --preset paper
train demo --out m.safetensors --modle sce
train demo --out m.safetensors --model garce
train demo --out m.safetensors --model sce --epochs 0
train cora --out m.safetensors --features x.csv
train demo --out m.safetensors --device rocm
train demo --out m.safetensors --device cuda
train demo --out m.safetensors --model dgi --device cuda
train demo --out m.safetensors --model sce --mode full --device cuda
train demo --out m.safetensors --model sce --device cpu --precision tf32
train demo --out m.safetensors --partitioner magic
train demo --out m.safetensors --partitioner edges.txt
train demo --out m.safetensors --clusters 1
train demo --out m.safetensors --clusters 9999
train demo --out m.safetensors --mode full --clusters 9
train demo --out m.safetensors --mode full --drop-edges 0.1,1
train demo --out m.safetensors --mode full --drop-edges 0.1,0.2,0.3
train demo --out m.safetensors --drop-edges 0.1
train demo --out m.safetensors --batch-clusters 5
train demo --out m.safetensors --model sce --mode cluster-gcn -k 9 --batch-clusters 0
train demo --out m.safetensors --model sce --mode cluster-gcn -k 9 --batch-clusters 10
train demo --out m.safetensors --model sce --mode full --sampler edge
train demo --out m.safetensors --model sce --mode graphsaint --clusters 9
train demo --out m.safetensors --model sce --mode graphsaint --sampler tree
train demo --out m.safetensors --model sce --mode graphsaint --walk-length 0
train demo --out m.safetensors --model sce --mode graphsaint --budget 0
train demo --out m.safetensors --model sce --mode graphsaint --budget 2709
train demo --out m.safetensors --model sce --mode graphsaint --sampler edge --budget 9999
train demo --out m.safetensors --model sce --mode graphsaint --batches 0
train demo --out m.safetensors --model sce --mode graphsaint --encoder ssgc
train demo --out m.safetensors --model sce --mode graphzoom --levels 0
train demo --out m.safetensors --mode graphzoom
train demo --out m.safetensors --hidden 0
train demo --out m.safetensors --layers 0
train demo --out m.safetensors --lr 0
train demo --out m.safetensors --lr 1e30 --model grace --hidden 8
train demo --out m.safetensors --dropout 1
train demo --out m.safetensors --patience 0
train demo --out m.safetensors --encoder odd
train demo --out m.safetensors --model grace --encoder gcn --hops 2
train demo --out m.safetensors --model grace --encoder ssgc --ssgc-alpha 2
train demo --out m.safetensors --model grace --tau 0
train demo --out m.safetensors --model cca-ssg --tau 0.5
train demo --out m.safetensors --model dgi --set reach=5
train demo --out m.safetensors --model ggd --set reach
train demo --out m.safetensors --model ggd --set mask=2
train demo --out m.safetensors --model ggd --set mask=a
train demo --out m.safetensors --resume
train demo --out model.safetensors --model sce --hidden 4 --seed 9 --resume
train demo --out damaged.safetensors --model sce --hidden 4 --resume

run --out edges.txt/results
run --out foreign
run --force
run --links 2
run cora --features x.csv
run --splits none
run --runs 1
run --links=1.5
run --links=many
run --checkpoint-every 2
run --resume
run --mode full --diagnostics
run --mode cluster-gcn --model sce --diagnostics
run --mode full --random-clusters

embed
embed demo --untrained ssgc --out z.npy
embed demo --untrained ssgc16 --weights none.safetensors --out z.npy
embed edges.txt --untrained ssgc16 --out z.npy
embed demo --weights none.safetensors --out z.npy
embed demo --weights foreign.safetensors --out z.npy
embed demo --weights half.safetensors --out z.npy
embed demo --weights model.checkpoint.safetensors --out z.npy
embed demo --weights model.safetensors --out z.txt
embed demo --weights model.safetensors --out edges.txt/z.npy
embed edges.txt --weights model.safetensors --out z.npy
embed edges.txt --features x.csv --weights model.safetensors --out z.npy
embed demo --weights stand-in.safetensors --out z.npy
embed edges.txt --no-weights --strict --weights stand-in.safetensors --out z.npy
embed theirs.csv --weights stand-in.safetensors --out z.npy
embed demo --weights model.safetensors --out z.npy --feature-norm row-l2

evaluate
evaluate edges.txt --embedding z.csv
evaluate edges.txt --labels y.csv --embedding none.npy
evaluate edges.txt --labels y.csv --embedding short.csv
evaluate edges.txt --labels y.csv --embedding few.csv
evaluate edges.txt --labels y.csv --embedding nan.csv
evaluate edges.txt --labels y.csv --embedding words.csv
evaluate edges.txt --labels one-class.csv --embedding z.csv
evaluate edges.txt --labels y.csv --embedding z.csv --splits none
evaluate edges.txt --labels y.csv --embedding z.csv --links
evaluate edges.txt --labels y.csv --embedding z.csv --probe svm
evaluate edges.txt --labels y.csv --embedding z.csv --runs 0

completions tcsh
man nothing

neighbors
neighbors z.csv
neighbors none.csv 1
neighbors z.csv 4
neighbors named.csv ripgerp
neighbors z.csv --all
neighbors z.csv 1 --all --out nn.csv
neighbors z.csv 1 --out nn.csv
neighbors z.csv --all --out nn.xlsx
neighbors z.csv --all --out edges.txt/nn.csv
neighbors z.csv 1 --ids y.csv
neighbors . 1
neighbors nan.csv 1
neighbors words.csv 1
neighbors z.csv 1 -k 0
neighbors z.csv 1 --metric cosinus
neighbors z.csv 1 --min-score nan
neighbors z.csv --all --out nn.csv --memory 1K
";

/// A folder with files that fit together, and some that do not.
fn broken() -> tempfile::TempDir {
    let folder = folder();
    for (name, text) in [
        ("unknown.toml", "sead = 1\n"),
        ("list.toml", "seed = [1]\n"),
        ("odd.toml", "seed = \n"),
        ("x.csv", "id,f\n1,1\n2,-1\n3,1\n9,-1\n"),
        ("inf.csv", "id,f\n1,1\n2,inf\n3,1\n9,-1\n"),
        ("y.csv", "id,label\n1,a\n2,a\n3,b\n9,b\n"),
        ("one-class.csv", "id,label\n1,a\n2,a\n3,a\n9,a\n"),
        ("z.csv", "id,0,1\n1,-3,1\n2,-2,1\n3,2,1\n9,3,1\n"),
        ("short.csv", "a\n1\n2\n"),
        ("few.csv", "id,0\n1,1\n2,0\n"),
        ("nan.csv", "id,0\n1,1\n2,nan\n3,2\n9,4\n"),
        ("named.csv", "id,0\nripgrep,1\nugrep,2\n"),
        ("words.csv", "id,word\n1,a\n2,b\n3,c\n9,d\n"),
        ("theirs.csv", "source,target\n1,2\n2,3\n3,4\n"),
        ("theirs.part", "0\n0\n1\n1\n"),
        ("weights.txt", "1\n1\n0\n1\n"),
        ("damaged.checkpoint.safetensors", "{}"),
        ("empty.csv", "\n"),
        ("unlike.bin", "\u{1}\u{2}\u{3}\n"),
        ("foreign/report.html", "mine"),
    ] {
        let place = folder.path().join(name);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        write(folder.path(), name, text);
    }
    std::fs::create_dir(folder.path().join("empty-folder")).unwrap();
    let small = "--model sce --epochs 1 --hidden 4 --out";
    line(folder.path(), &format!("train demo --checkpoint-every 1 {small} model.safetensors"));
    let stand_in = "--stand-in position --stand-in-width 3 -k 2";
    line(folder.path(), &format!("train edges.txt {stand_in} {small} stand-in.safetensors"));
    let model = read(folder.path(), "model.safetensors");
    std::fs::write(folder.path().join("half.safetensors"), &model[..model.len() / 2]).unwrap();
    let foreign = [&2u64.to_le_bytes()[..], b"{}"].concat();
    std::fs::write(folder.path().join("foreign.safetensors"), foreign).unwrap();
    folder
}

pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_failure_says_why_and_leaves_no_file() {
    let folder = broken();
    let before = files(folder.path());
    let place = folder.path().to_str().unwrap();
    let mut found = String::new();
    for command in FAILURES.lines().filter(|line| !line.is_empty()) {
        let (code, said) = failure(folder.path(), &command.split_whitespace().collect::<Vec<_>>());
        if code == 1 {
            assert!(said.starts_with("error: ") && said.lines().count() == 1, "{command}: {said}");
        }
        let said = said.replace(place, "FOLDER");
        found += &format!("$ structcomp {command}\n{}\nexit {code}\n\n", said.trim_end());
    }
    snapshot("errors", &found);
    assert_eq!(files(folder.path()), before);
}

#[test]
fn no_command_at_all_is_misuse() {
    let (code, said) = failure(folder().path(), &[]);
    assert_eq!(code, 2);
    assert!(said.contains("Usage: structcomp"), "{said}");
}

/// A file may not grow past a limit, as on a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_leaves_no_partial_file() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_structcomp");
    let run = "run --runs 2 --epochs 1 --hidden 64 --model sce --quiet --out results";
    let limited = format!("ulimit -f 100; exec '{program}' {run}");
    let output = Command::new("sh").args(["-c", &limited]).current_dir(folder.path()).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("embedding.npy"), "{said}");
    assert_eq!(files(&folder.path().join("results")), [""; 0]);
}

/// Nothing can be printed, but the exit code still tells.
#[cfg(target_os = "linux")]
#[test]
fn an_error_that_cannot_be_printed_is_still_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = program(folder().path()).args(["info", "none"]).stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}
