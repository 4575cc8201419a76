#!/usr/bin/env bash
# Trains vit-tiny on images on two ranks on two cores: with --freeze schedule, also with a cache of the frozen outputs,
# and without it as two replicas and as two pipeline stages. Compares the seconds of all steps and plan changes.
#
#   IMAGES=FILE perf/freezing/run.sh BUILD OUTPUT.json [ROUNDS=7]
#
# IMAGES is a binary file of CIFAR-10, such as data_batch_1.bin. Every round runs each case once; every second
# round runs them in the opposite order. Every round also measures the joint matmul rate of both cores and the
# rate of one alone. The result is INVALID if the ratio is below 0.85, or if there are fewer than 7 rounds.
# Environment variables:
#   CORES="0 1"           cores of the two ranks; not two hardware threads of one core
#   ALPHA=0.3333333333    --freeze-alpha
#   EPOCHS=10             a period is an epoch
#   BATCH=32              samples of a step
#   LAYERS=12             blocks of the model, which is otherwise vit-tiny
#   RECORDS=FOLDER        keeps the records there; started again, the script repeats no case that has ended
set -euo pipefail

build=${1:?BUILD is missing: the build directory, such as build/release}
output=${2:?OUTPUT.json is missing: the file for the result}
rounds=${3:-7}
images=${IMAGES:?IMAGES is missing: a binary file of CIFAR-10}
read -ra cores <<< "${CORES:-0 1}"
alpha=${ALPHA:-0.3333333333}
epochs=${EPOCHS:-10}
batch=${BATCH:-32}
layers=${LAYERS:-12}
program=$build/bin/trireme
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=perf/provenance.sh
source "$here/../provenance.sh"
# shellcheck source=perf/two_cores.sh
source "$here/../two_cores.sh"
if [ -n "${RECORDS:-}" ]; then
    records=$RECORDS
    mkdir -p "$records"
else
    records=$(mktemp -d)
    trap 'rm -rf "$records"' EXIT
fi

say() { echo "freezing: $*" >&2; }
require_programs "$program" "$build/bin/perf_freezing_verdict"

# Usage: train NAME OPTION... Keeps the run's steps and decisions.
train() {
    local name=$1
    shift
    rm -rf "$records/run" # of a case that was interrupted
    on_two_cores "$program" train --corpus "$records/corpus.h5" --model vit-tiny --layers "$layers" --batch "$batch" \
        --validation-share 0 --threads 1 --epochs "$epochs" --quiet --run-dir "$records/run" "$@" \
        > "$records/log" || { cat "$records/log" >&2; exit 3; }
    mv "$records/run/steps.jsonl" "$round/$name.jsonl"
    touch "$records/run/decisions.jsonl"
    mv "$records/run/decisions.jsonl" "$round/$name-decisions.jsonl"
    rm -rf "$records/run"
}

way() {
    [ ! -e "$round/$1.done" ] || return 0
    say "round $(basename "$round") of $rounds: $1"
    case $1 in
        gemm) gemm ;;
        data) train data --data 2 ;;
        pipe) train pipe --pipe 2 --microbatches 8 ;;
        freeze) train freeze --data 2 --freeze schedule --freeze-alpha "$alpha" ;;
        cache) train cache --data 2 --freeze schedule --freeze-alpha "$alpha" --cache on ;;
    esac
    touch "$round/$1.done"
}

cat > "$records/settings.json" <<END
{"model": "vit-tiny", "layers": $layers, "dtype": "f32", "samples": $batch, "epochs": $epochs, "alpha": $alpha,
 "cores": "${cores[*]}", "rounds": $rounds, "started": "$(date --utc +%FT%TZ)",
 "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg), $(provenance perf/freezing/run.sh "$@")}
END
"$program" --version > "$records/version.txt"
"$program" prepare "$images" --quiet --output "$records/corpus.h5"

ways=(data gemm cache freeze pipe)
backwards=(pipe freeze cache gemm data)
for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir -p "$round"
    order=("${ways[@]}")
    ((number % 2)) || order=("${backwards[@]}")
    for name in "${order[@]}"; do way "$name"; done
done
"$build/bin/perf_freezing_verdict" "$records" "$rounds" "$output"
