#!/bin/sh
# Builds ours, prepares theirs, and runs one benchmark: run.sh spmm | load | partition [WHICH] | train [WHICH] | pipeline
set -eu
cd "$(dirname "$0")/.."
name=${1:?usage: benchmarks/run.sh spmm|load|partition [small|products|scaling|streaming]|train [small|large]|pipeline}
shift

venv=${BENCH_VENV:-target/bench-venv}
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement benchmarks/requirements.txt
fi

release=${CARGO_TARGET_DIR:-target}/release
if [ "$name" = pipeline ]; then
    ours=$release/structcomp
    cargo build --quiet --release --package structcomp-cli
else
    ours=$release/examples/bench_$name
    cargo build --quiet --release --package structcomp --example "bench_$name"
fi
exec "$venv/bin/python" "benchmarks/$name.py" "$ours" "$@"
