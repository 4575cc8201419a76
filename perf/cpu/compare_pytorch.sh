#!/usr/bin/env bash
# Measures one f32 training step of GPT-2 (124M) or Llama (160M) on one core, by Trireme and by PyTorch. The
# two programs alternate on the same core, so that both meet the same conditions. Prints both medians of every
# round and the ratio of the medians over the rounds.
#
#   perf/cpu/compare_pytorch.sh BUILD_DIR PYTHON [ROUNDS [RESULT_DIR [gpt2|llama-160m]]]
#
# PYTHON is an interpreter with torch and transformers (pip install torch transformers).
set -euo pipefail

build=${1:?BUILD_DIR is missing: the build directory, such as build/release}
python=${2:?PYTHON is missing: a Python with torch and transformers}
rounds=${3:-3}
results=${4:-$(mktemp -d)}
model=${5:-gpt2}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
core=$(($(nproc) - 1))
mkdir -p "$results"

for length in 64 512; do
    for round in $(seq "$rounds"); do
        taskset -c "$core" "$build/bin/perf_cpu_step" "$model" 4 "$length" 3 1 "$results/trireme-4x$length-$round.json" |
            grep -E '^(step|memory)'
        taskset -c "$core" "$python" "$here/pytorch_step.py" "$model" 4 "$length" 3 "$results/pytorch-4x$length-$round.json"
    done
done

"$python" - "$results" <<'END'
import glob, json, statistics, sys

def load(kind, length):
    return [json.load(open(f)) for f in sorted(glob.glob(f"{sys.argv[1]}/{kind}-4x{length}-*.json"))]

for length in (64, 512):
    ours, theirs = load("trireme", length), load("pytorch", length)
    t = statistics.median(r["step_seconds"] for r in ours)
    p = statistics.median(r["step_seconds"] for r in theirs)
    share = statistics.median(r["share_of_floor"] for r in ours)
    memory = statistics.median(r["grown_bytes"] / r["predicted_bytes"] for r in ours)
    print(f"4 x {length} tokens: Trireme {1e3 * t:.0f} ms per step, PyTorch {theirs[0]['torch']} {1e3 * p:.0f} ms; "
          f"Trireme is {p / t:.2f} x as fast; its floors sum to {100 * share:.0f} % of its step; "
          f"its memory growth is {memory:.3f} of the prediction")
END
