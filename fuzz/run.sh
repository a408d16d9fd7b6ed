#!/usr/bin/env bash
# Runs every fuzz target, two at a time, and prints how many inputs each has read.
# Usage: fuzz/run.sh [SECONDS [TARGET...]]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-120}
shift || true
targets=${*:-$(cargo +nightly fuzz list)}
logs=$(mktemp -d)

cargo +nightly fuzz build

fuzz() {
    mkdir -p "fuzz/corpus/$1"
    # Reading a folder takes longer than a pickle; a slow input is one of ten seconds.
    cargo +nightly fuzz run "$1" -- -max_total_time="$2" -max_len=16384 -rss_limit_mb=2048 -timeout=10 \
        -print_final_stats=1 >"$3/$1" 2>&1 && outcome=clean || outcome="FOUND, see $3/$1 and fuzz/artifacts/$1"
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$3/$1")
    printf '%-16s %8s inputs  %s\n' "$1" "${runs:-?}" "$outcome"
    [ "$outcome" = clean ]
}
export -f fuzz
printf '%s\n' $targets | xargs -P 2 -I {} bash -c 'fuzz "$@"' _ {} "$seconds" "$logs"
