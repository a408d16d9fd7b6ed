#!/bin/sh
# Builds ours, prepares theirs, and runs one benchmark: run.sh spmm | load | partition [WHICH]
set -eu
cd "$(dirname "$0")/.."
name=${1:?usage: benchmarks/run.sh spmm|load|partition [small|products|scaling|streaming]}
shift

venv=${BENCH_VENV:-target/bench-venv}
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement benchmarks/requirements.txt
fi

cargo build --quiet --release --package structcomp --example "bench_$name"
exec "$venv/bin/python" "benchmarks/$name.py" "${CARGO_TARGET_DIR:-target}/release/examples/bench_$name" "$@"
