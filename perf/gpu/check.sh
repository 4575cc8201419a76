#!/usr/bin/env bash
# Tests and measures a GPU, in stages of under eight minutes each. The machine needs a driver, CUDA's cuBLASLt,
# Python and PyTorch.
#
#   perf/gpu/check.sh test|measure|peer [OUTPUT]
#
#   test      kernels against the reference, also under compute-sanitizer; then 1, 2 and 4 ranks that share the GPU
#   measure   copies, matmuls, attention; gpt2, gpt2-medium and llama-1b in bf16 at 1,024 tokens; gpt2 with a
#             memory limit: predicted beside measured memory, and how much of the offload is hidden; a profile
#   peer      the same models and attention in PyTorch
#
# Everything else is in perf/gpu/bundle, which perf/gpu/pack.sh makes; peer does not need it. Results are
# OUTPUT/STAGE.json, STAGE.log and table.md. OUTPUT is $OUT if not given, or perf/results/gpu-DEVICE if $OUT is
# unset. A part is skipped if OUTPUT or perf/results/gpu-DEVICE has a result of the same programs. Exit code 1
# means that a part failed; the other parts were run.
# Environment variables:
#   PYTHON=python3        interpreter with torch, for peer
#   LIMIT=460             seconds per stage; parts without time left are done by the next call
#   MODELS="gpt2 gpt2-medium llama-1b"
#   BATCH_GPT2=32 BATCH_GPT2_MEDIUM=16 BATCH_LLAMA_1B=8     samples per step
#   TRAIN_OPTIONS=        additional options of every training run
#   SCRATCH=/dev/shm      folder of run directories until they are read, if it has 20 GB free: llama-1b's checkpoint
#                         has 15 GB
set -euo pipefail

fail() { echo "check.sh: $*" >&2; exit 2; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stage=${1:-}
python=${PYTHON:-python3}
archive=$here/bundle/bundle.tar.xz
case $stage in
    test | measure | peer) ;;
    *) fail "'$stage' is not a stage; the stages are test, measure and peer" ;;
esac

PATH=$PATH:/usr/local/nvidia/bin:/usr/local/cuda/bin
if ! device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | sed -n 1p) || [[ -z $device ]]; then
    fail "this machine has no GPU: nvidia-smi is missing or finds none; run stage $stage on a machine with a GPU"
fi
command -v "$python" > /dev/null || fail "$python was not found; set PYTHON to a Python 3.9 or later"

short=$(sed 's/^NVIDIA //; s/[ -].*//' <<< "$device" | tr '[:upper:]' '[:lower:]')
kept=$here/../results/gpu-$short
output=${2:-${OUT:-$kept}}
mkdir -p "$output"
export LIMIT=${LIMIT:-460} MODELS=${MODELS:-gpt2 gpt2-medium llama-1b} SCRATCH=${SCRATCH:-/dev/shm}

bundle=none
if [[ $stage != peer ]]; then
    [[ -f $archive ]] || fail "$archive is missing; make it with perf/gpu/pack.sh on the machine where Trireme is built"
    unpacked=${TMPDIR:-/tmp}/trireme-$(cksum < "$archive" | tr ' ' '-')
    bundle=$unpacked/bundle
    if [[ ! -f $unpacked/whole ]]; then
        rm -rf "$unpacked"
        mkdir -p "$unpacked"
        "$python" -m tarfile -e "$archive" "$unpacked" > /dev/null 2>&1 || tar -C "$unpacked" -xf "$archive" ||
            fail "$archive cannot be unpacked: $python has no module lzma, and tar finds no xz"
        touch "$unpacked/whole"
    fi
    said=$(LD_LIBRARY_PATH=$bundle/lib "$bundle/bin/trireme" --version 2>&1) ||
        fail "the bundle does not start; run perf/gpu/pack.sh where the C library is not newer than here: ${said%%$'\n'*}"
fi
exec "$python" "$here/stage.py" "$stage" --device "$device" --bundle "$bundle" --output "$output" --kept "$kept"
