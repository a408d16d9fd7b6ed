#!/bin/sh
# Builds structcomp, installs the other tools, and runs one benchmark: run.sh spmm | load | partition [WHICH] | train [WHICH] | whole [DATASET...] | pipeline | stand_in [DATASET...] | neighbors [SIZE...] | sweep OUT.svg
set -eu
cd "$(dirname "$0")/.."
name=${1:?usage: benchmarks/run.sh spmm|load|partition [small|products|scaling|streaming]|train [small|large]|whole [DATASET...]|pipeline|stand_in [DATASET...]|neighbors [SIZE...]|sweep OUT.svg}
shift

# A benchmark with a requirements file of its own has an environment of its own.
requirements=benchmarks/requirements.txt
venv=target/bench-venv
if [ -f "benchmarks/$name-requirements.txt" ]; then
    requirements=benchmarks/$name-requirements.txt
    venv=target/bench-venv-$name
fi
venv=${BENCH_VENV:-$venv}
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --requirement "$requirements"
fi

release=${CARGO_TARGET_DIR:-target}/release
if [ "$name" = pipeline ] || [ "$name" = stand_in ] || [ "$name" = sweep ]; then
    ours=$release/structcomp
    cargo build --quiet --release --package structcomp-cli
else
    example=bench_$name
    [ "$name" = whole ] && example=bench_train
    ours=$release/examples/$example
    cargo build --quiet --release --package structcomp --example "$example"
fi
exec "$venv/bin/python" "benchmarks/$name.py" "$ours" "$@"
