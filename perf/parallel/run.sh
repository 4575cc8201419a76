#!/usr/bin/env bash
# Compares Trireme and PyTorch on two ranks on two cores: the cost of a second replica (weak scaling), and the
# waiting time of pipeline stages. Every round also measures the matmul rate of both cores together and of one
# alone.
#
#   [PYTHON=INTERPRETER] perf/parallel/run.sh BUILD OUTPUT.json [ROUNDS=7]
#
# PYTHON needs torch and transformers; PyTorch is skipped if it is unset. Fewer than 7 rounds give no valid
# result. Every round runs each contender once; every second round runs them in the opposite order. Environment
# variables:
#   TRIREME               the program; BUILD/bin/trireme if unset
#   CORES="0 1"           cores of the two ranks; not two hardware threads of one core
#   LAYERS=12             blocks of the model, which is otherwise GPT-2 (124M)
#   SAMPLES=4 LENGTH=64   weak scaling: samples per replica and step, tokens per sample
#   MICRO_SAMPLES=1       pipeline: samples of that length in each of the 8 micro-batches
#   FIRST_BLOCKS=8        blocks of the first stage, which also updates the token table; the last stage has the head
#   STEPS=2               measured steps of every start, after one warm-up step
set -euo pipefail

build=${1:?BUILD is missing: the build directory, such as build/release}
output=${2:?OUTPUT.json is missing: the file for the result}
rounds=${3:-7}
python=${PYTHON:-}
program=${TRIREME:-$build/bin/trireme}
read -ra cores <<< "${CORES:-0 1}"
layers=${LAYERS:-12}
samples=${SAMPLES:-4}
length=${LENGTH:-64}
micro_batches=8
micro_samples=${MICRO_SAMPLES:-1}
first_blocks=${FIRST_BLOCKS:-8}
steps=$((${STEPS:-2} + 1))
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=perf/provenance.sh
source "$here/../provenance.sh"
records=$(mktemp -d)
trap 'rm -rf "$records"' EXIT

# The mpirun of the MPI library that the program was built with.
mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
# By default Open MPI refuses root and binds ranks itself, and its single-copy mechanism needs a right that
# containers lack. (OMPI_MCA_: up to version 4, PRTE_: from 5.) MPICH reads none of these variables.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo}

say() { echo "parallel: $*" >&2; }

for tool in "$program" "$build/bin/perf_gemm_rate" "$build/bin/perf_parallel_verdict" "${mpirun:-mpirun}" taskset; do
    command -v "$tool" > /dev/null || { say "$tool was not found; build all targets with an MPI library"; exit 3; }
done
if [[ -z $python ]]; then
    say "PYTHON is not set, so PyTorch is not measured"
elif ! "$python" -c 'import torch, transformers'; then
    say "$python has no torch or no transformers, so PyTorch is not measured"
    python=
fi

# Starts a command on both cores at once, replacing @ by the rank.
on_both() {
    local rank
    local -a started=()
    for rank in 0 1; do
        taskset -c "${cores[$rank]}" "${@//@/$rank}" &
        started+=($!)
    done
    for rank in 0 1; do
        wait "${started[$rank]}" || { kill "${started[@]}" 2> /dev/null; exit 3; }
    done
}

# Usage: train NAME RANKS OPTION... Runs Trireme on one or two ranks and keeps its steps.jsonl.
train() {
    local name=$1 ranks=$2
    shift 2
    local -a command=("$program" train --corpus "$records/corpus.h5" --model gpt2 --layers "$layers"
        --vocabulary 50257 --dropout 0 --max-length "$length" --long truncate --length fixed --validation-share 0
        --threads 1 --steps "$steps" --lr 1e-4 --quiet --run-dir "$records/run" "$@")
    if [[ $ranks == 1 ]]; then
        taskset -c "${cores[0]}" "${command[@]}"
    else
        # shellcheck disable=SC2016  # the rank is known only in the shell that mpirun starts
        CORES="${cores[*]}" "$mpirun" -n 2 bash -c \
            'cores=($CORES); exec taskset -c "${cores[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}" "$@"' pinned "${command[@]}"
    fi > "$records/log" || { cat "$records/log" >&2; exit 3; }
    mv "$records/run/steps.jsonl" "$round/$name.jsonl"
    mv "$records/run/manifest.json" "$records/manifest.json"
    rm -rf "$records/run"
}

pytorch() {
    [[ -n $python ]] || return 0
    rm -f "$records/meeting"
    on_both "$python" "$here/pytorch_ranks.py" "$1" --rank @ --meeting "$records/meeting" --records "$round" \
        --layers "$layers" --samples "$samples" --length "$length" --steps "$steps" --first-blocks "$first_blocks" \
        --micro-batches "$micro_batches" --micro-samples "$micro_samples"
}

contender() {
    say "round $(basename "$round") of $rounds: $1"
    case $1 in
        gemm)
            taskset -c "${cores[0]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-alone.json"
            on_both "$build/bin/perf_gemm_rate" 2 "$round/gemm-both-@.json"
            ;;
        one) train trireme-one 1 --batch "$samples" ;;
        two) train trireme-two 2 --batch $((2 * samples)) --data 2 ;;
        pipeline)
            train trireme-pipeline 2 --batch $((micro_batches * micro_samples)) --tied off --pipe 2 \
                --partition "$((first_blocks + 1)),$((layers - first_blocks + 1))" --schedule 1f1b \
                --microbatches "$micro_batches"
            ;;
        pytorch-*) pytorch "${1#pytorch-}" ;;
    esac
}

contenders=(one gemm two pytorch-weak pipeline pytorch-pipeline)
backwards=(pytorch-pipeline pipeline pytorch-weak two gemm one)

cat > "$records/settings.json" <<END
{"model": "gpt2", "layers": $layers, "dtype": "f32", "dropout": 0, "threads_per_rank": 1, "cores": "${cores[*]}",
 "weak_scaling": {"samples_of_a_replica": $samples, "length": $length},
 "pipeline": {"stages": 2, "schedule": "1f1b", "micro_batches": $micro_batches, "micro_batch_samples": $micro_samples,
              "length": $length, "tied": false, "blocks": [$first_blocks, $((layers - first_blocks))]},
 "measured_steps": $((steps - 1)), "rounds": $rounds, "started": "$(date --utc +%FT%TZ)",
 "load_at_start": $(cut -d ' ' -f 1 /proc/loadavg),
 $(provenance perf/parallel/run.sh "$@")}
END
"$program" --version > "$records/version.txt"
"$program" prepare --synthetic csn --count 200 --quiet --output "$records/corpus.h5"

for number in $(seq "$rounds"); do
    round=$records/$number
    mkdir "$round"
    order=("${contenders[@]}")
    ((number % 2)) || order=("${backwards[@]}")
    for name in "${order[@]}"; do contender "$name"; done
done
"$build/bin/perf_parallel_verdict" "$records" "$rounds" "$output"
