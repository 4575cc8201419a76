#!/usr/bin/env bash
# Measures the loss of accuracy when a rank skips input channels of its matmuls. Models train on real data with
# two tensor ranks. One of them skips half of its channels from the first policy check on, because a recorded
# decision says so. No rank is slow and nothing is timed, so other work on the machine does no harm.
#
#   TRIREME_TEST_DATA=FOLDER perf/accuracy/run.sh BUILD RUNS RESULTS [MODEL/WAY ...]
#
# Each run has a folder RUNS/MODEL/WAY-SEED. A run that is complete, or that has a line in RESULTS/runs.csv, is
# not repeated, so the script can be stopped and started again. RESULTS receives runs.csv, one line per run, and
# table.md, the mean and spread over seeds. Models:
#   gpt2, gpt2-longer     gpt2-tiny on Shakespeare, 500 and 800 steps
#   mnist, cifar          small ViTs on handwritten digits and on small photographs
#   gpt2-124m, vit-tiny   the models of these names on the same data, the first for 100 steps, the second with four
#                         heads; only on request: a run takes about five minutes of one core
# Ways: dense, priority and random. The last two also exist with policy checks every 50 steps instead of 10
# (-long), or with --resize-fill average (-average).
# Environment variables:
#   SEEDS="1 2 3"         seeds of the weights, the order of samples and the random channels
#   PART=0.5              fraction of channels that rank 1 skips
#   CLUSTER=FILE.json     runs both ranks in one process, under SimGrid: the losses are bitwise equal, and no rank
#                         waits for a core, so scripts with other ways can run in parallel
set -euo pipefail

build=$(realpath "${1:?BUILD is missing: the build directory, such as build/release}")
runs=$(mkdir -p "${2:?RUNS is missing: a folder for the run directories}" && realpath "$2")
results=$(mkdir -p "${3:?RESULTS is missing: a folder for the results}" && realpath "$3")
shift 3
chosen=("$@")
[[ ${#chosen[@]} -gt 0 ]] || chosen=({gpt2,mnist,gpt2-longer,cifar}/{dense,priority,random}
                                     gpt2-longer/{priority,random}-{average,long})
read -ra seeds <<< "${SEEDS:-1 2 3}"
part=${PART:-0.5}
cluster=${CLUSTER:+$(realpath "$CLUSTER")}
program=$build/bin/trireme
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data=$(realpath "${TRIREME_TEST_DATA:?set it to the folder with images and text}")

mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
# The same settings as in perf/parallel/run.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none

say() { echo "accuracy: $*" >&2; }

corpus_of() { echo "$runs/${1%-longer}.h5"; }

corpus() {
    local output
    output=$(corpus_of "$1")
    [[ ! -e $output ]] || return 0
    case $1 in
        gpt2-124m) set -- "$data/text/tinyshakespeare_input.txt" --tokenizer "gpt2:$data/gpt2_bpe" ;;
        gpt2*) set -- "$data/text/tinyshakespeare_input.txt" --tokenizer train:1024 ;;
        mnist) set -- "$data"/images/t10k-{images-idx3,labels-idx1}-ubyte.gz ;;
        cifar | vit-tiny) set -- "$data"/images/cifar10_{train_2000,test_500}.bin ;;
        *) say "there is no model $1; the models are gpt2, gpt2-longer, mnist, cifar, gpt2-124m and vit-tiny"; exit 2 ;;
    esac
    "$program" prepare "$@" --quiet --output "$output"
}

options() {
    local text='--model gpt2-tiny --batch 16 --length pack --lr 2e-3 --warmup-steps 50 --validation-share 0.05'
    local images='--model vit-tiny --batch 32 --weight-decay 0.05 --validation-share 0.2 --heads 4'
    case $1 in
        gpt2) echo "$text" --steps 500 ;;
        gpt2-longer) echo "$text" --steps 800 ;;
        gpt2-124m)
            echo --model gpt2 --max-length 256 --batch 8 --length pack --lr 6e-4 --warmup-steps 20 \
                --validation-share 0.05 --steps 100
            ;;
        mnist)
            echo "$images" --channels 1 --image-size 28 --layers 4 --width 96 --mlp-width 384 --steps 500 --lr 2e-3 \
                --warmup-steps 50
            ;;
        cifar) echo "$images" --layers 6 --width 128 --mlp-width 512 --steps 400 --lr 1e-3 --warmup-steps 40 ;;
        vit-tiny) echo "$images" --steps 400 --lr 1e-3 --warmup-steps 40 ;;
    esac
}

# Prints the decision after the first policy check, by which rank 1 skips a fraction of its channels. A block
# counts as two layers, in addition to an embedding, a final norm and a head.
decision() {
    local layers
    case $1 in
        cifar) layers=15 ;;
        gpt2-124m | vit-tiny) layers=27 ;;
        *) layers=11 ;;
    esac
    echo "{\"step\": $2, \"left_out\": [0, $part], \"layout\": {\"layers\": $layers, \"stages\": [" \
        "{\"layers\": [0, $layers], \"replicas\": [{\"ranks\": [0, 1]}]}]}}"
}

# Usage: way_options MODEL WAY. Prints the options of a way.
way_options() {
    local every=10
    [[ $2 != *-long ]] || every=50
    local file=$runs/$1/look-$every.jsonl
    decision "$1" "$every" > "$file"
    echo --straggler resize --resize-limit "$part" --look-every "$every" --decisions "$file"
    case $2 in
        priority | priority-*) echo --resize-select priority ;;
        random | random-*) echo --resize-select random ;;
        *) say "there is no way $2; the ways are dense, priority[-long|-average] and random[-long|-average]"; exit 2 ;;
    esac
    [[ $2 != *-average ]] || echo --resize-fill average
}

launch() {
    if [[ -n $cluster ]]; then
        "$program" simulate --cluster "$cluster" --ranks 2 "$@"
    else
        "$mpirun" -n 2 "$program" train "$@"
    fi
}

train() {
    local model=$1 way=$2 seed=$3 folder=$runs/$1/$2-$3
    if [[ -e $folder/summary.json ]] || grep -qs "^$model,$way,$seed," "$results/runs.csv"; then
        say "$model, $way, seed $seed: already done"
        return
    fi
    say "$model, $way, seed $seed"
    rm -rf "$folder"
    mkdir -p "$runs/$model"
    local -a of_model of_way=()
    local words
    words=$(options "$model")
    read -ra of_model <<< "$words"
    if [[ $way != dense ]]; then
        words=$(way_options "$model" "$way")
        read -rd '' -a of_way <<< "$words" || true
    fi
    launch --corpus "$(corpus_of "$model")" "${of_model[@]}" "${of_way[@]}" --tensor 2 --threads 1 --seed "$seed" \
        --quiet --run-dir "$folder" > "$folder.log" || { cat "$folder.log" >&2; exit 3; }
    rm -rf "$folder/checkpoints"
}

for seed in "${seeds[@]}"; do
    for one in "${chosen[@]}"; do
        corpus "${one%/*}"
        train "${one%/*}" "${one#*/}" "$seed"
    done
done
python3 "$here/table.py" "$runs" "$results"
