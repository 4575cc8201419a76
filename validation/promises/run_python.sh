#!/usr/bin/env bash
# Runs a Python script, or skips with a message and exit code 77 if Python or a package that it imports is
# missing.
#
#   validation/promises/run_python.sh SCRIPT.py PROGRAM
#
# TRIREME_TEST_PYTHON names the interpreter; python3 if unset.
set -euo pipefail

script=$1 program=$2
python=${TRIREME_TEST_PYTHON:-python3}
command -v "$python" > /dev/null || { echo "skipped: there is no $python"; exit 77; }
packages=$(sed -nE 's/^(import|from) (h5py|numpy|safetensors|torch|transformers).*/\2/p' "$script" | sort -u)
for package in $packages; do
    "$python" -c "import $package" 2> /dev/null ||
        { echo "skipped: $python has no $package, which $(basename "$script") needs: pip install ${packages//$'\n'/ }"; exit 77; }
done
exec "$python" "$script" "$program"
