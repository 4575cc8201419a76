#!/usr/bin/env bash
# Runs jobs/quickstart.sh for twenty steps with the program of a build folder, and checks the README's promises:
# the records, the figures of merit, and memory growth within 5 % or 8 MB of the prediction. (The prediction
# counts what the program allocates. The growth counts resident pages, including those of MPI.)
#
#   validation/promises/quickstart_test.sh BUILD SCRATCH
set -euo pipefail

build=$(realpath "$1")
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# With this setting, glibc returns large blocks to the system when they are freed. Otherwise it keeps them, most
# of them packing buffers of oneDNN, and the growth differs between processors by more than is checked here.
export MALLOC_MMAP_THRESHOLD_=131072
BUILD=$build RUNS=$scratch "$here/../../jobs/quickstart.sh" --steps 20 2>&1 | tee "$scratch/output"

fail() { echo "quickstart_test: $*" >&2; exit 1; }
run=$(find "$scratch/quickstart" -name steps.jsonl -printf '%h\n')
[[ $(wc -l <<< "$run") == 1 ]] || fail "$scratch/quickstart must have exactly one run directory, but has: $run"
steps=$(grep -c '"grad_norm"' "$run/steps.jsonl") || true
[[ $steps == 20 ]] || fail "$run/steps.jsonl has $steps steps, not 20"
[[ -s $run/report.html ]] || fail "there is no $run/report.html"
for words in "Figures of merit" "tokens/s" "memory " "written to $run"; do
    grep -qF -- "$words" "$scratch/output" || fail "the output lacks: $words"
done
bytes() { sed -nE "/\"memory_bytes\"/,/\}/s/.*\"$1\": ([0-9]+).*/\1/p" "$run/summary.json"; }
predicted=$(bytes predicted) grown=$(bytes growth)
[[ $predicted -gt 0 && $grown -gt 0 ]] || fail "$run/summary.json has no memory_bytes"
allowed=$((predicted / 20 > 8000000 ? predicted / 20 : 8000000))
((grown >= predicted - allowed && grown <= predicted + allowed)) ||
    fail "memory grew by $grown bytes per rank, which is not within $allowed bytes of the $predicted predicted"
rm -rf "$scratch"
