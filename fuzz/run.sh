#!/usr/bin/env bash
# Runs fuzz targets with AddressSanitizer and prints how many inputs each has read.
#
# Usage: fuzz/run.sh [SECONDS [TARGET...]]
#
# Every target runs for SECONDS (120), JOBS (2) at a time. SANITIZER=none is about twice as fast, and finds panics and
# wrong results, but no invalid reads. Needs Rust, a C++ compiler, and the corpus that fuzz/seeds.py starts. The sum over
# all calls is kept in fuzz/artifacts/count.
set -euo pipefail
cd "$(dirname "$0")"

export seconds=${1:-120}
shift || true
# Sanitizers and coverage are options of nightly compilers, which stable ones have, too, if asked.
export RUSTC_BOOTSTRAP=1
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
case ${SANITIZER:-address} in
    none) export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/plain ;;
    *) RUSTFLAGS="$RUSTFLAGS -Zsanitizer=${SANITIZER:-address}" ;;
esac
export RUSTFLAGS
cargo build --quiet --release --target "$host"
export binaries=${CARGO_TARGET_DIR:-target}/$host/release
targets=${*:-$(cd fuzz_targets && ls -- *.rs | sed 's/\.rs$//')}

fuzz() {
    mkdir -p "corpus/$1" "artifacts/$1"
    log=artifacts/$1/log
    "$binaries/$1" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="artifacts/$1/" "corpus/$1" >"$log" 2>&1 && outcome=clean || outcome="FOUND, see fuzz/$log"
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
    printf '%-22s %10s inputs  %s\n' "$1" "${runs:-0}" "$outcome"
    echo "$1 ${runs:-0} $seconds" >>artifacts/count
    # Keeps what reaches new code only.
    smaller=$(mktemp -d "corpus/.$1-XXXXXX")
    if "$binaries/$1" -merge=1 -rss_limit_mb=2048 "$smaller" "corpus/$1" >/dev/null 2>&1; then
        rm -rf "corpus/$1" && mv "$smaller" "corpus/$1"
    else
        rm -rf "$smaller"
    fi
    [ "$outcome" = clean ]
}
export -f fuzz
status=0
printf '%s\n' $targets | xargs -P "${JOBS:-2}" -I {} bash -c 'fuzz {}' || status=1
awk '{ runs += $2; seconds += $3 } END { printf "%d inputs in %d seconds of fuzzing, in all calls so far\n", runs, seconds }' artifacts/count
exit $status
