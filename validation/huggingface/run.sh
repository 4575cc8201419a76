#!/usr/bin/env bash
# Has Hugging Face's own library read what `convert` writes, if Python has it.
#
#   validation/huggingface/run.sh TRIREME
set -euo pipefail

python=${TRIREME_PYTHON:-python3}
if "$python" -c 'import h5py, safetensors, torch, transformers' 2> /dev/null; then
    exec "$python" "$(dirname "${BASH_SOURCE[0]}")/round_trip.py" "$1"
fi
echo "validation/huggingface skipped: $python does not have all of h5py, safetensors, torch and transformers" >&2
