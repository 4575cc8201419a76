#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: all of them as users run the program, then the unit tests,
# the GPU's kernels, emulated, and the rank tests on two ranks under the address and undefined-behaviour sanitizers.
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

# What fails beside other tests is run once more, alone: MPI and Slurm have limits of time of their own, which a busy
# machine does not always keep. Both runs are in the output.
run_tests() { # preset
    ctest --preset "$1" --parallel "$(nproc)" && return
    echo "=== $1: what failed above, alone ===" >&2
    ctest --preset "$1" --rerun-failed
}

if [ -z "${TRIREME_TEST_DATA:-}" ]; then
    echo "validation: TRIREME_TEST_DATA names no folder, so tests of real corpora skip" >&2
fi
jobs/install.sh --validation
for preset in "${presets[@]}"; do
    echo "=== $preset: configure, build, test ===" >&2
    cmake --preset "$preset"
    cmake --build --preset "$preset" --parallel "$(nproc)"
    run_tests "$preset"
done

# Hugging Face's own library reads what `convert` writes, where it is installed.
python=${TRIREME_PYTHON:-python3}
if "$python" -c 'import h5py, safetensors, torch, transformers' 2>/dev/null; then
    "$python" validation/huggingface/round_trip.py build/release/bin/trireme
else
    echo "validation/huggingface skipped: $python has not all of h5py, safetensors, torch and transformers" >&2
fi
