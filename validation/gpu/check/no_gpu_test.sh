#!/usr/bin/env bash
# Tests perf/gpu/check.sh on a machine without a GPU, and its table, from the figures below.
set -euo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "check: $*" >&2; exit 1; }

# expect CODE PATTERN COMMAND...: checks that the command prints one line that matches, and ends with that exit
# code.
expect() {
    local code=$1 pattern=$2 said status=0
    shift 2
    said=$("$@" 2>&1) || status=$?
    [[ $status == "$code" ]] || fail "$* ended with $status instead of $code: $said"
    [[ $(wc -l <<< "$said") == 1 && $said =~ $pattern ]] || fail "$* printed: $said"
}

printf '#!/bin/sh\necho "No devices were found"\nexit 6\n' > "$work/nvidia-smi"
chmod +x "$work/nvidia-smi"
export PATH=$work:$PATH
for stage in test measure peer; do
    expect 2 "this machine has no GPU: .*; run stage $stage on a machine with a GPU" \
        "$home/perf/gpu/check.sh" "$stage" "$work/results"
done
[[ ! -e $work/results ]] || fail "there are results although nothing was measured"
expect 2 "'tset' is not a stage; the stages are test, measure and peer" "$home/perf/gpu/check.sh" tset

if command -v shellcheck > /dev/null; then
    shellcheck "$home"/perf/gpu/*.sh "$home"/validation/gpu/check/*.sh
else
    echo "shellcheck is missing, so the scripts are not checked"
fi

command -v python3 > /dev/null || { echo "python3 is missing, so the table is not tested"; exit 0; }
cat > "$work/measure.json" << 'END'
{"device": "NVIDIA H200", "programs": {"version": ["trireme"]}, "parts": {
  "rates": {"status": "done", "gemm": {"flops_per_s": 8e14}, "joined": [{"model": "gpt2", "joined": "bias's gradient",
    "plain_s": 1e-4, "joined_s": 1.1e-4, "apart_s": 1.2e-4}]},
  "attention": {"status": "done", "cases": [{"name": "128 of 4,096", "samples": 4, "length": 4096, "heads": 16,
    "head_size": 128, "forward": {"flops_per_s": 4.8e14, "share": 0.6},
    "backward": {"flops_per_s": 2e14, "share": 0.25}}]},
  "train gpt2": {"status": "done", "batch": 32, "length": 1024, "tokens_per_s": 480000.0, "mfu": 0.5,
    "model_flops_per_s": {"limit": 8e14}},
  "train llama-1b": {"status": "failed", "why": "the GPU has no 20 MB more"},
  "memory": {"status": "failed", "model": "gpt2", "limit_bytes": 12e9, "offloaded_bytes": 5e8, "kept_step_s": 0.08,
    "offloading_step_s": 0.081, "hidden": 0.95,
    "kept": {"predicted_bytes": 12.5e9, "growth_bytes": 12.5e9, "growth_to_predicted": 1.0},
    "fitted": {"predicted_bytes": 12e9, "growth_bytes": 12.12e9, "growth_to_predicted": 1.01}}}}
END
cat > "$work/peer.json" << 'END'
{"device": "NVIDIA H200", "programs": {"version": ["torch"]}, "parts": {
  "rates": {"status": "done", "cases": [{"name": "128 of 4,096", "flash": {
    "forward": {"flops_per_s": 4e14}, "backward": {"flops_per_s": 4e14}}}]},
  "train gpt2, bf16 between blocks": {"status": "done", "compiled": true, "batch": 32, "length": 1024,
    "tokens_per_s": 400000.0, "peak_bytes": 2e10},
  "train gpt2": {"status": "done", "compiled": true, "batch": 32, "length": 1024, "tokens_per_s": 300000.0},
  "train gpt2, not compiled": {"status": "done", "compiled": false, "batch": 32, "length": 1024,
    "tokens_per_s": 900000.0}}}
END
python3 "$home/perf/gpu/table.py" "$work" > "$work/said"
cmp "$work/said" "$work/table.md" || fail "table.md differs from the printed table"
has() { grep -qF "$1" "$work/table.md" || fail "the table has no '$1': $(cat "$work/table.md")"; }
has "| gpt2 | Trireme, 32 x 1,024 | 480,000 | 1.20 x (required 1 x: yes, goal 1.15 x: yes) | 50.0 % |"
has "| 50.0 % | 50.0 % (goal 50 %: yes) |"
has "| gpt2 | PyTorch, compiled, 32 x 1,024 | 300,000 | 0.75 x | - | 31.2 % |"
has "| gpt2 | PyTorch, compiled, bf16 between blocks, 32 x 1,024 | 400,000 | 1.00 x | - | 41.7 % | 20.0 / - |"
has "| llama-1b | Trireme | the GPU has no 20 MB more |"
has "| forward | 480 | 60.0 % (goal 55 %: yes) | 400 | 1.20 x (required 0.8 x: yes) |"
has "| gpt2 | bias's gradient | 100.0 us | 110.0 us | 120.0 us |"
has "| backward | 200 | 25.0 % (goal 45 %: **no**) | 400 | 0.50 x (required 0.8 x: **no**) |"
has "| gpt2 | no limit | - | 12.50 | 12.50 | 1.000 (required 0.95 to 1: yes) | 0.080 | - | - |"
has "| gpt2 | offload | 12.00 | 12.00 | 12.12 | 1.010 (required 0.95 to 1: **no**) | 0.081 | 0.50 | 95 % |"

# Steps with offload take 0.25 s longer than without; their copies take 0.25 s to the host and 0.25 s back.
(cd "$home/perf/gpu" && python3 -B - << 'END') || fail "the hidden fraction of the copies is wrong"
import memory_part
kept = [{"seconds": 1.0}] * 12
fitted = [{"seconds": 1.25, "offloaded_bytes": 100 if step % 4 == 3 else 0} for step in range(12)]
rates = {"from_the_gpu": {"bytes_per_s": 400}, "to_the_gpu": {"bytes_per_s": 400}}
found = memory_part.hidden_copies(kept, fitted, rates)
assert (found["offloading_steps"], found["copy_s"], found["hidden"]) == (1, 0.5, 0.5), found
END
