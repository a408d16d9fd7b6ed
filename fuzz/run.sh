#!/usr/bin/env bash
# Runs every fuzz target, two at a time, and prints the number of inputs each has read.
# Usage: fuzz/run.sh [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."

export seconds=${1:-120}
shift || true
targets=${*:-$(cargo +nightly fuzz list)}
cargo +nightly fuzz build
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
export binaries=${CARGO_TARGET_DIR:-fuzz/target}/$host/release

# The binary instead of `cargo fuzz run`, which would rebuild whenever a source file changes.
fuzz() {
    mkdir -p "fuzz/corpus/$1" "fuzz/artifacts/$1"
    log=fuzz/artifacts/$1/log
    "$binaries/$1" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="fuzz/artifacts/$1/" "fuzz/corpus/$1" >"$log" 2>&1 && outcome=clean || outcome="FOUND, see $log"
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
    printf '%-16s %8s inputs  %s\n' "$1" "${runs:-?}" "$outcome"
    [ "$outcome" = clean ]
}
export -f fuzz
printf '%s\n' $targets | xargs -P 2 -I {} bash -c 'fuzz {}'
