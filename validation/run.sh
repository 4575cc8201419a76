#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: all of them as users run the program, then the unit tests
# and the rank tests on two ranks under the address and undefined-behaviour sanitizers.
#
#   validation/run.sh           everything
#   validation/run.sh --fast    without the sanitizers
#
# Tests of real corpora run where TRIREME_TEST_DATA names their folder, and skip with a line where it is not set.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=(release asan)
case "${1:-}" in
    "") ;;
    --fast) presets=(release) ;;
    *) echo "validation/run.sh: unknown option '$1'; it knows --fast" >&2; exit 2 ;;
esac

jobs/install.sh --validation
for preset in "${presets[@]}"; do
    echo "=== $preset: configure, build, test ===" >&2
    cmake --preset "$preset"
    cmake --build --preset "$preset" --parallel "$(nproc)"
    ctest --preset "$preset" --parallel "$(nproc)"
done

# Hugging Face's own library reads what `convert` writes, where it is installed.
python=${TRIREME_PYTHON:-python3}
if "$python" -c 'import h5py, safetensors, torch, transformers' 2>/dev/null; then
    "$python" validation/huggingface/round_trip.py build/release/bin/trireme
else
    echo "validation/huggingface skipped: $python has not all of h5py, safetensors, torch and transformers" >&2
fi
