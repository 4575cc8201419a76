#!/usr/bin/env bash
# Trains one small model of each kind on real data and keeps its curves: a ViT on images, a BERT that finds
# answers, a Llama on text. Each takes at most ten minutes on two cores.
#
#   TRIREME_TEST_DATA=FOLDER perf/learning/run.sh PROGRAM RESULTS [vit|bert|llama ...]
#
# RESULTS/NAME receives config.ini, manifest.json, steps.jsonl, summary.json and evaluation-*.json; `trireme
# report` draws them. A NAME with a summary is skipped, so the script can be stopped and started again.
set -euo pipefail

program=$(realpath "${1:?PROGRAM is missing: the trireme program}")
results=$(mkdir -p "${2:?RESULTS is missing: a folder for the results}" && realpath "$2")
shift 2
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=(vit bert llama)
data=$(realpath "${TRIREME_TEST_DATA:?set it to the folder with images, squad and text}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

corpora() {
    case $1 in
        vit)
            "$program" prepare "$data/images/cifar10_train_2000.bin" --quiet --output corpus.h5
            "$program" prepare "$data/images/cifar10_test_500.bin" --quiet --output unseen.h5
            ;;
        bert)
            "$program" prepare "$data/squad/xquad.en.json" --tokenizer train:2048 --quiet --output corpus.h5
            ;;
        llama)
            "$program" prepare "$data/text/tinyshakespeare_input.txt" --tokenizer train:1024 --quiet --output corpus.h5
            ;;
    esac
}

options() {
    case $1 in
        vit)
            echo --model vit-tiny --steps 400 --batch 32 --lr 5e-4 --warmup-steps 40 --weight-decay 0.05 \
                --label-smoothing 0.1 --dropout 0.1 --validation-share 0.05 --eval-every 50
            ;;
        bert)
            echo --model bert-tiny --steps 1800 --batch 16 --lr 1e-3 --warmup-steps 100 --length pack \
                --max-length 384 --weight-decay 0.01 --validation-share 0.05 --eval-every 200
            ;;
        llama)
            echo --model llama-tiny --steps 1200 --batch 16 --lr 2e-3 --warmup-steps 100 --length pack \
                --validation-share 0.05 --eval-every 100
            ;;
    esac
}

evaluate() {
    "$program" evaluate --resume run --corpus "$2" --rows "$3" --validation-share 0.05 --output "evaluation-$1.json"
}

evaluations() {
    evaluate validation corpus.h5 validation
    evaluate everything corpus.h5 all
    if [[ $1 == vit ]]; then evaluate unseen unseen.h5 all; fi
}

keep() {
    mkdir -p "$1"
    cp run/{config.ini,manifest.json,steps.jsonl,summary.json} evaluation-*.json "$1/"
}

for name in "${names[@]}"; do
    if [[ -e $results/$name/summary.json ]]; then
        echo "$name: already done; see $results/$name"
        continue
    fi
    rm -rf run corpus.h5 unseen.h5 evaluation-*.json
    corpora "$name"
    read -ra chosen <<< "$(options "$name")"
    "$program" train --corpus corpus.h5 --run-dir run --log-every 50 "${chosen[@]}"
    evaluations "$name"
    keep "$results/$name"
done
