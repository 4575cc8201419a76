#!/usr/bin/env bash
# Two replicas of GPT-2 on two cores, and a corpus with few long rows. Compares --elastic length, which fits each
# step into a memory limit by itself, with --recompute full, which recomputes all blocks in all steps.
#
#   perf/memory/run.sh BUILD CORPUS.h5 OUTPUT.json [ROUNDS=7]
#
# `trireme prepare ROWS.jsonl --tokenizer gpt2:FOLDER --output CORPUS.h5` makes the corpus; its rows are cut at
# 4,096 tokens. Every round runs each case once, on the same rows; every second round runs them in the opposite
# order. Every round also measures the joint matmul rate of both cores and the rate of one alone. A round takes
# about four minutes. The result is INVALID if the ratio is below 0.85, or if there are fewer than 7 rounds.
# Environment variables:
#   CORES="0 1"           cores of the two ranks; not two hardware threads of one core
#   LIMIT=3GB             memory limit per rank of --elastic length
#   BATCH=8               samples per step
#   STEPS=4               measured steps after the first one; at least one must exceed the limit without recomputation
set -euo pipefail

build=${1:?BUILD is missing: the build directory, such as build/release}
corpus=${2:?CORPUS.h5 is missing: the corpus, which trireme prepare makes}
output=${3:?OUTPUT.json is missing: the file for the result}
rounds=${4:-7}
read -ra cores <<< "${CORES:-0 1}"
limit=${LIMIT:-3GB}
batch=${BATCH:-8}
steps=${STEPS:-4}
program=$build/bin/trireme
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=perf/provenance.sh
source "$here/../provenance.sh"
# shellcheck source=perf/two_cores.sh
source "$here/../two_cores.sh"
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT

say() { echo "memory: $*" >&2; }
require_programs "$program" "$build/bin/perf_memory_verdict"
[[ -f $corpus ]] || { say "$corpus was not found; make the corpus with trireme prepare"; exit 2; }

# Usage: train NAME OPTION... Keeps the run's steps.jsonl and summary.json.
train() {
    local name=$1
    shift
    on_two_cores "$program" train --corpus "$corpus" --model gpt2 --positions 4096 --max-length 4096 --long truncate \
        --dtype f32 --dropout 0 --data 2 --batch "$batch" --microbatches 8 --length balanced --validation-share 0 \
        --threads 1 --seed 1 --steps $((1 + steps)) --lr 1e-4 --quiet --run-dir "$records/run" "$@" \
        > "$records/log" 2>&1 || { cat "$records/log" >&2; exit 3; }
    mv "$records/run/steps.jsonl" "$round/$name.jsonl"
    mv "$records/run/summary.json" "$round/$name-summary.json"
    rm -rf "$records/run"
}

way() {
    say "round $(basename "$round") of $rounds: $1"
    case $1 in
        gemm) gemm ;;
        elastic) train elastic --elastic length --memory-limit "$limit" ;;
        full) train full --recompute full ;;
    esac
}

cat > "$records/settings.json" <<END
{"model": "gpt2", "positions": 4096, "dtype": "f32", "data": 2, "samples": $batch, "micro_batches": 8,
 "memory_limit": "$limit", "cores": "${cores[*]}", "measured_steps": $steps, "rounds": $rounds,
 "started": "$(date --utc +%FT%TZ)", "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg),
 $(provenance perf/memory/run.sh "$@")}
END
"$program" --version > "$records/version.txt"

ways=(elastic gemm full)
backwards=(full gemm elastic)
for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir "$round"
    order=("${ways[@]}")
    ((number % 2)) || order=("${backwards[@]}")
    for name in "${order[@]}"; do way "$name"; done
done
"$build/bin/perf_memory_verdict" "$records" "$rounds" "$output"
