#!/usr/bin/env bash
# Two tensor ranks on two cores, one of which is slowed down. Compares the step time without countermeasures,
# the step time with shares proportional to speed, and the step time of two healthy ranks.
#
#   perf/stragglers/run.sh BUILD OUTPUT.json [ROUNDS=7]
#
# Every round runs each case once; every second round runs them in the opposite order. Every round also measures
# the joint matmul rate of both cores and the rate of one alone. The result is INVALID if the ratio is below
# 0.85, or if there are fewer than 7 rounds. Environment variables:
#   CORES="0 1"           cores of the two ranks; not two hardware threads of one core
#   FACTOR=3              slowdown factor of the slow rank's kernels
#   LAYERS=4              blocks of the model, which is otherwise GPT-2
#   STEPS=7               measured steps after the plan change
set -euo pipefail

build=${1:?BUILD is missing: the build directory, such as build/release}
output=${2:?OUTPUT.json is missing: the file for the result}
rounds=${3:-7}
read -ra cores <<< "${CORES:-0 1}"
factor=${FACTOR:-3}
layers=${LAYERS:-4}
steps=${STEPS:-7}
before=8  # steps until the slow rank is detected and the plan has changed
program=$build/bin/trireme
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=perf/provenance.sh
source "$here/../provenance.sh"
# shellcheck source=perf/two_cores.sh
source "$here/../two_cores.sh"
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT

say() { echo "stragglers: $*" >&2; }
require_programs "$program" "$build/bin/perf_stragglers_verdict"

# Usage: train NAME OPTION... Keeps the run's steps.jsonl.
train() {
    local name=$1
    shift
    on_two_cores "$program" train --corpus "$records/corpus.h5" --model gpt2 --layers "$layers" --vocabulary 50257 --dropout 0 \
        --tensor 2 --batch 4 --max-length 64 --long truncate --length fixed --validation-share 0 --threads 1 \
        --steps $((before + steps)) --lr 1e-4 --quiet --run-dir "$records/run" "$@" \
        > "$records/log" || { cat "$records/log" >&2; exit 3; }
    mv "$records/run/steps.jsonl" "$round/$name.jsonl"
    [[ ! -e $records/run/decisions.jsonl ]] || mv "$records/run/decisions.jsonl" "$round/$name-decisions.jsonl"
    rm -rf "$records/run"
}

way() {
    say "round $(basename "$round") of $rounds: $1"
    case $1 in
        gemm) gemm ;;
        healthy) train healthy ;;
        off) train off --slow "rank=1,factor=$factor" ;;
        uneven) train uneven --slow "rank=1,factor=$factor" --straggler uneven --look-every 4 --horizon 1000 ;;
    esac
}

cat > "$records/settings.json" <<END
{"model": "gpt2", "layers": $layers, "dtype": "f32", "tensor": 2, "samples": 4, "length": 64, "factor": $factor,
 "cores": "${cores[*]}", "measured_steps": $steps, "steps_before": $before, "rounds": $rounds,
 "started": "$(date --utc +%FT%TZ)", "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg),
 $(provenance perf/stragglers/run.sh "$@")}
END
"$program" --version > "$records/version.txt"
"$program" prepare --synthetic csn --count 200 --quiet --output "$records/corpus.h5"

ways=(healthy gemm off uneven)
backwards=(uneven off gemm healthy)
for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir "$round"
    order=("${ways[@]}")
    ((number % 2)) || order=("${backwards[@]}")
    for name in "${order[@]}"; do way "$name"; done
done
"$build/bin/perf_stragglers_verdict" "$records" "$rounds" "$output"
