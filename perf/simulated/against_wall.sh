#!/usr/bin/env bash
# Compares simulated with measured steps. Two ranks of this machine train as a pipeline, as replicas and as
# tensor ranks. The same program is then simulated on a cluster of two such devices, whose kernel and link times
# were measured a minute before.
#
#   perf/simulated/against_wall.sh BUILD OUTPUT.json [ROUNDS=7]
#
# Every round profiles each model on both cores at once, including the link between them. It measures each
# layout by wall clock, every second round in the opposite order, and then simulates the layouts without
# arithmetic. The speed of such a machine drifts. Therefore the joint matmul rate of both cores is measured
# before and after each profile and each measured run, so that a run can be compared with a profile of another
# minute. Every round also measures it against the rate of one core alone. The result is INVALID if that ratio
# is below 0.85, if there are fewer than 7 rounds, or if a layout differs by more than a tenth from the
# calibrated wall time.
# Environment variables:
#   MODELS="gpt2-tiny gpt2"
#   CORES="0 1"           cores of the two ranks; not two hardware threads of one core
#   STEPS=4               measured steps of every run, after one warm-up step
#   LAUNCHER, PROGRAM     mpirun and trireme; those of BUILD if unset
set -euo pipefail

build=${1:?BUILD is missing: the build directory, such as build/release}
output=${2:?OUTPUT.json is missing: the file for the result}
rounds=${3:-7}
read -ra models <<< "${MODELS:-gpt2-tiny gpt2}"
read -ra cores <<< "${CORES:-0 1}"
steps=$((${STEPS:-4} + 1))
program=${PROGRAM:-$build/bin/trireme}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=perf/provenance.sh
source "$here/../provenance.sh"
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT

launcher=${LAUNCHER:-$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")}
# The same settings as in perf/parallel/run.sh, except that ranks may copy by CMA where the system allows it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1 CORES="${cores[*]}"

say() { echo "against wall: $*" >&2; }
for tool in "$program" "$build/bin/trireme-sim" "$build/bin/perf_gemm_rate" "$build/bin/perf_against_wall" smpirun \
    "${launcher:-mpirun}" taskset; do
    command -v "$tool" > /dev/null || { say "$tool was not found; build all targets with an MPI library and SimGrid"; exit 3; }
done

# Runs a command and shows its output if it fails.
quietly() { "$@" > "$records/log" 2>&1 || { cat "$records/log" >&2; exit 3; }; }

# Runs a command on both cores, as two ranks of a job.
on_both() {
    # shellcheck disable=SC2016  # the rank is known only in the shell that mpirun starts
    quietly "$launcher" -n 2 bash -c \
        'cores=($CORES); exec taskset -c "${cores[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}" "$@"' pinned "$@"
}

# Usage: of_model MODEL. Sets `sizes`, the options of the model, and `samples`, the samples per micro-batch.
of_model() {
    sizes=(--model "$1" --long truncate --dropout 0 --threads 1)
    if [[ $1 == gpt2 ]]; then
        samples=1 sizes+=(--max-length 64 --vocabulary 50257)
    else
        samples=4 sizes+=(--max-length 256)
    fi
}

# Usage: options_of LAYOUT, after of_model. Sets `options`, which the measured and the simulated run share.
options_of() {
    local -i micro_batches=8
    [[ $1 != data ]] || micro_batches=4
    options=("${sizes[@]}" --corpus "$records/corpus.h5" --length fixed --validation-share 0 --steps "$steps"
        --lr 1e-4 --batch "$((8 * samples))" --microbatches "$micro_batches" "--$1" 2 --quiet --run-dir "$records/run")
}

keep() {
    mv "$records/run/steps.jsonl" "$round/$1.jsonl"
    rm -rf "$records/run"
}

by_the_wall() {
    say "round $(basename "$round") of $rounds: $1, --$2 2, by wall clock"
    of_model "$1"
    options_of "$2"
    on_both "$program" train "${options[@]}"
    keep "$1-$2-wall"
}

simulated() {
    of_model "$1"
    options_of "$2"
    quietly "$program" simulate --ranks 2 --cluster "$round/$1-cluster.json" --profile "$round/$1-profile.json" \
        --math off "${options[@]}"
    keep "$1-$2-simulated"
}

# Usage: both_multiply NAME. Measures the matmul rate of both cores at the same time.
both_multiply() {
    local -a both=()
    local rank
    for rank in 0 1; do
        taskset -c "${cores[$rank]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-$1-$rank.json" &
        both+=($!)
    done
    wait "${both[@]}"
}

measure_machine() {
    say "round $(basename "$round") of $rounds: $1, profile of both cores"
    of_model "$1"
    on_both "$program" profile "${sizes[@]}" --batch "$samples" --repeat 4 --quiet --output "$round/$1-profile.json"
    "$build/bin/perf_against_wall" cluster "$round/$1-profile.json" "$round/$1-cluster.json"
}

# Usage: of_round MODEL. Measures the matmul rate between any two of the other measurements.
of_round() {
    local -a order=("${layouts[@]}")
    ((number % 2)) || mapfile -t order < <(printf '%s\n' "${layouts[@]}" | tac)
    both_multiply "$1-before-profile"
    measure_machine "$1"
    local last=$1-after-profile layout
    both_multiply "$last"
    for layout in "${order[@]}"; do
        for rank in 0 1; do cp "$round/gemm-$last-$rank.json" "$round/gemm-$1-before-$layout-$rank.json"; done
        by_the_wall "$1" "$layout"
        last=$1-after-$layout
        both_multiply "$last"
    done
    for layout in "${layouts[@]}"; do simulated "$1" "$layout"; done
}

layouts=(pipe data tensor)

cat > "$records/settings.json" <<END
{"models": [$(printf '"%s", ' "${models[@]}" | sed 's/, $//')], "layouts": ["pipe", "data", "tensor"], "ranks": 2,
 "dtype": "f32", "micro_batch": {"gpt2": "1 x 64 tokens", "others": "4 x 256 tokens"}, "micro_batches": 8,
 "threads_per_rank": 1, "cores": "$CORES",
 "measured_steps": $((steps - 1)), "rounds": $rounds, "started": "$(date --utc +%FT%TZ)",
 "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg),
 $(provenance perf/simulated/against_wall.sh "$@")}
END
"$program" --version > "$records/version.txt"
"$program" prepare --synthetic csn --count 200 --quiet --output "$records/corpus.h5"

for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir "$round"
    taskset -c "${cores[0]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-alone.json"
    for model in "${models[@]}"; do of_round "$model"; done
done
"$build/bin/perf_against_wall" judge "$records" "$rounds" "$output"
