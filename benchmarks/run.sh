#!/bin/sh
# Builds structcomp, installs the other tools, and runs one benchmark: run.sh spmm | load | partition [WHICH] | train [WHICH] | whole [DATASET...] | pipeline
set -eu
cd "$(dirname "$0")/.."
name=${1:?usage: benchmarks/run.sh spmm|load|partition [small|products|scaling|streaming]|train [small|large]|whole [DATASET...]|pipeline}
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
    example=bench_$name
    [ "$name" = whole ] && example=bench_train
    ours=$release/examples/$example
    cargo build --quiet --release --package structcomp --example "$example"
fi
exec "$venv/bin/python" "benchmarks/$name.py" "$ours" "$@"
