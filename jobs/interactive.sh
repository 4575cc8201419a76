#!/usr/bin/env bash
# Allocates nodes and trains on them interactively. salloc's options come first, then --, then those of `trireme
# train`:
#
#   jobs/interactive.sh --nodes 2 --ntasks-per-node 4 -- --corpus spark.h5 --model gpt2-tiny --steps 20
set -euo pipefail

# shellcheck source=jobs/site.sh
source "$(dirname "${BASH_SOURCE[0]}")/site.sh"

resources=()
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
    resources+=("$1")
    shift
done
if [ "$#" -eq 0 ]; then
    echo "jobs/interactive.sh: write -- between the options of salloc and the options of trireme train" >&2
    exit 2
fi
shift
exec salloc --job-name=trireme --signal=USR1@300 "${resources[@]}" "$TRIREME_HOME/jobs/launch.sh" train "$@"
