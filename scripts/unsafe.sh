#!/usr/bin/env bash
# Runs the tests that reach unsafe code (kernels for each instruction set, mapped files, the allocator) and stops at an
# invalid read or write.
#
#     scripts/unsafe.sh valgrind    the test program as it is; valgrind has no AVX-512 and no tiles
#     scripts/unsafe.sh address     built with AddressSanitizer, on all instruction sets of this processor
set -euo pipefail
cd "$(dirname "$0")/.."

tests=(matrix:: memory:: graph::file data::npy data::folder neighbors:: nn:: compress::)
options=()
if [ "${1:-valgrind}" = address ]; then
    # An option of nightly compilers, which stable ones have, too, if asked.
    export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/address
    options=(--target "$(rustc -vV | sed -n 's/^host: //p')")
fi
binary=$(cargo test --quiet --no-run --workspace --lib "${options[@]}" --message-format json | python3 -c '
import json, sys
made = [json.loads(line) for line in sys.stdin if line.startswith("{")]
tests = [one for one in made if one.get("executable") and one["target"]["name"] == "structcomp"]
print(tests[0]["executable"])')
watch=()
[ "${1:-valgrind}" = address ] || watch=(valgrind --quiet --error-exitcode=9)
"${watch[@]}" "$binary" --test-threads 1 "${tests[@]}"
