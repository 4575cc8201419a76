#!/usr/bin/env bash
# Simulated steps beside those of the wall: two ranks of this machine, as a pipeline, as replicas and as tensor ranks,
# and the same program on a cluster of two such devices, whose kernels and link take what was measured a minute before.
#
#   perf/simulated/against_wall.sh BUILD OUTPUT.json [ROUNDS=7]
#
# Every round profiles each model on both cores at once, with the link between them, and takes each layout by the wall
# and simulated, every second round in the opposite order. What two cores multiply together is measured in every round,
# beside what one does alone: below 0.85 the result is INVALID, and with fewer than 7 rounds. From the environment, too:
#   MODELS="gpt2-tiny gpt2"
#   CORES="0 1"           of the two ranks; no two threads of one core
#   STEPS=4               measured, of every run; one more warms up
#   LAUNCHER, PROGRAM     mpirun and trireme; those of BUILD if not given
set -euo pipefail

build=${1:?the build directory, such as build/release}
output=${2:?the file for the result}
rounds=${3:-7}
read -ra models <<< "${MODELS:-gpt2-tiny gpt2}"
read -ra cores <<< "${CORES:-0 1}"
steps=$((${STEPS:-4} + 1))
program=${PROGRAM:-$build/bin/trireme}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT

launcher=${LAUNCHER:-$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")}
# As in perf/parallel/run.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1 CORES="${cores[*]}"

say() { echo "against wall: $*" >&2; }
for tool in "$program" "$build/bin/trireme-sim" "$build/bin/perf_gemm_rate" "$build/bin/perf_against_wall" smpirun \
    "${launcher:-mpirun}" taskset; do
    command -v "$tool" > /dev/null || { say "there is no $tool; build all targets, with an MPI library and SimGrid"; exit 3; }
done

# Runs a command and shows what it said if it fails.
quietly() { "$@" > "$records/log" 2>&1 || { cat "$records/log" >&2; exit 3; }; }

# A command on both cores, as two ranks of a job.
on_both() {
    # shellcheck disable=SC2016  # the rank is known where mpirun starts the shell
    quietly "$launcher" -n 2 bash -c \
        'cores=($CORES); exec taskset -c "${cores[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}" "$@"' pinned "$@"
}

# Sizes of a model, of whose samples one makes a micro-batch: of_model MODEL; sets `sizes`.
of_model() {
    sizes=(--model "$1" --max-length 64 --long truncate --dropout 0 --threads 1)
    [[ $1 != gpt2 ]] || sizes+=(--vocabulary 50257)
}

# The same options for both: options_of LAYOUT, behind of_model; sets `options`.
options_of() {
    local -i micro_batches=8
    [[ $1 != data ]] || micro_batches=4
    options=("${sizes[@]}" --corpus "$records/corpus.h5" --length fixed --validation-share 0 --steps "$steps"
        --lr 1e-4 --batch 8 --microbatches "$micro_batches" "--$1" 2 --quiet --run-dir "$records/run")
}

keep() {
    mv "$records/run/steps.jsonl" "$round/$1.jsonl"
    rm -rf "$records/run"
}

contender() {
    local -a what
    IFS=: read -ra what <<< "$1"
    say "round $(basename "$round") of $rounds: $1"
    of_model "${what[0]}"
    options_of "${what[1]}"
    if [[ ${what[2]} == wall ]]; then
        on_both "$program" train "${options[@]}"
    else
        quietly "$program" simulate --ranks 2 --cluster "$round/${what[0]}-cluster.json" \
            --profile "$round/${what[0]}-profile.json" "${options[@]}"
    fi
    keep "${what[0]}-${what[1]}-${what[2]}"
}

calibrate() {
    local -a both=()
    local rank
    taskset -c "${cores[0]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-alone.json"
    for rank in 0 1; do
        taskset -c "${cores[$rank]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-both-$rank.json" &
        both+=($!)
    done
    wait "${both[@]}"
}

measure_machine() {
    say "round $(basename "$round") of $rounds: the machine with $1"
    of_model "$1"
    on_both "$program" profile "${sizes[@]}" --batch 1 --quiet --output "$round/$1-profile.json"
    "$build/bin/perf_against_wall" cluster "$round/$1-profile.json" "$round/$1-cluster.json"
}

contenders=()
for model in "${models[@]}"; do
    for layout in pipe data tensor; do contenders+=("$model:$layout:wall" "$model:$layout:simulated"); done
done

cat > "$records/settings.json" <<END
{"models": [$(printf '"%s", ' "${models[@]}" | sed 's/, $//')], "layouts": ["pipe", "data", "tensor"], "ranks": 2,
 "dtype": "f32", "length": 64, "samples": 8, "micro_batch_samples": 1, "threads_per_rank": 1, "cores": "$CORES",
 "measured_steps": $((steps - 1)), "rounds": $rounds, "started": "$(date --utc +%FT%TZ)",
 "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg),
 "commit": "$(git -C "$here" describe --always --dirty 2> /dev/null || echo unknown)"}
END
"$program" --version > "$records/version.txt"
"$program" prepare --synthetic csn --count 200 --quiet --output "$records/corpus.h5"

for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir "$round"
    calibrate
    for model in "${models[@]}"; do measure_machine "$model"; done
    order=("${contenders[@]}")
    ((number % 2)) || mapfile -t order < <(printf '%s\n' "${contenders[@]}" | tac)
    for each in "${order[@]}"; do contender "$each"; done
done
"$build/bin/perf_against_wall" judge "$records" "$rounds" "$output"
