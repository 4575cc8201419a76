#!/usr/bin/env bash
# Measures the cost of a plan change for each value of --move. GPT-2 on two ranks changes from a pipeline of two
# stages to two replicas and back, with the same decisions for all values.
#
#   perf/moves/run.sh BUILD OUTPUT.json [ROUNDS=3]
#
# Every round runs each value once; every second round runs them in the opposite order. Environment variables:
#   CORES="0 1"           cores of the two ranks; not two hardware threads of one core
#   LAYERS=12             blocks of the model, which is otherwise GPT-2 (124M)
#   SAMPLES=4 LENGTH=64   samples per step, tokens per sample
#   CHANGES=6 PERIOD=4    number of plan changes, steps between two of them
#   RUNS=DIR              folder for runs and their checkpoints, with enough space; /tmp if unset
set -euo pipefail

build=${1:?BUILD is missing: the build directory, such as build/release}
output=${2:?OUTPUT.json is missing: the file for the result}
rounds=${3:-3}
program=$build/bin/trireme
layers=${LAYERS:-12}
samples=${SAMPLES:-4}
length=${LENGTH:-64}
changes=${CHANGES:-6}
period=${PERIOD:-4}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=perf/provenance.sh
source "$here/../provenance.sh"
records=$(mktemp -d "${RUNS:-/tmp}/moves.XXXXXX")
trap 'rm -rf "$records"' EXIT

mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
# The same settings as in perf/parallel/run.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1 CORES=${CORES:-0 1}

say() { echo "moves: $*" >&2; }

# Alternates between the two plans every PERIOD steps.
halves=$((2 * layers + 3))
pipeline="{\"layers\": $halves, \"stages\": [{\"layers\": [0, $((halves * 2 / 3))], \"replicas\": [{\"ranks\": [0]}]},
    {\"layers\": [$((halves * 2 / 3)), $halves], \"replicas\": [{\"ranks\": [1]}]}]}"
replicas="{\"layers\": $halves, \"stages\": [{\"layers\": [0, $halves], \"replicas\": [{\"ranks\": [0]}, {\"ranks\": [1]}]}]}"
echo "$pipeline" > "$records/pipeline.json"
for change in $(seq "$changes"); do
    to=$replicas
    ((change % 2)) || to=$(tr -d '\n' <<< "$pipeline")
    echo "{\"step\": $((change * period)), \"layout\": $to}"
done > "$records/decisions.jsonl"

# Usage: train WAY. Keeps steps.jsonl and decisions.jsonl.
train() {
    local run=$records/run
    local -a keep=()
    [[ $1 != restart ]] || keep=(--keep 1)
    say "round $(basename "$round") of $rounds: $1"
    # shellcheck disable=SC2016  # the rank is known only in the shell that mpirun starts
    "$mpirun" -n 2 bash -c \
        'cores=($CORES); exec taskset -c "${cores[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}" "$@"' pinned \
        "$program" train --corpus "$records/corpus.h5" --model gpt2 --layers "$layers" --vocabulary 50257 --tied off \
        --dropout 0 --max-length "$length" --long truncate --length fixed --validation-share 0 --threads 1 \
        --batch "$samples" --microbatches "$samples" --layout "$records/pipeline.json" --lr 1e-4 \
        --steps $(((changes + 1) * period)) --decisions "$records/decisions.jsonl" --move "$1" "${keep[@]}" --quiet \
        --run-dir "$run" > "$records/log" || { cat "$records/log" >&2; exit 3; }
    mkdir -p "$round/$1"
    mv "$run/steps.jsonl" "$run/decisions.jsonl" "$round/$1"
    mv "$run/manifest.json" "$records/manifest.json"
    rm -rf "$run"
}

cat > "$records/settings.json" <<END
{"model": "gpt2", "layers": $layers, "tied": false, "dtype": "f32", "ranks": 2, "threads_per_rank": 1,
 "cores": "$CORES", "samples": $samples, "length": $length, "changes": $changes, "steps_between": $period,
 "rounds": $rounds, "started": "$(date --utc +%FT%TZ)", "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg),
 $(provenance perf/moves/run.sh "$@")}
END
"$program" prepare --synthetic csn --count 200 --quiet --output "$records/corpus.h5"

ways=(stop overlap twins restart)
backwards=(restart twins overlap stop)
for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir "$round"
    order=("${ways[@]}")
    ((number % 2)) || order=("${backwards[@]}")
    for way in "${order[@]}"; do train "$way"; done
done
"$build/bin/perf_moves_verdict" "$records" "$rounds" "$output"
