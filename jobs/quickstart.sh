#!/usr/bin/env bash
# Trains a first model from a fresh checkout: installs missing packages, builds, prepares the embedded sample,
# and trains gpt2-tiny on it with two data-parallel MPI ranks. It can be run repeatedly and from any folder:
# each run has its own directory under runs/quickstart.
#
#   jobs/quickstart.sh               400 steps
#   jobs/quickstart.sh --steps 50    more options are passed to `trireme train` and override the defaults
#
# Environment variables:
#   BUILD=FOLDER    uses the program in this build folder; installs and builds nothing
#   RUNS=FOLDER     folder of the run directories; runs if unset
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { echo "quickstart: $*" >&2; }

ranks=2
build=${BUILD:-build/release}
program=$build/bin/trireme
folder=${RUNS:-runs}/quickstart
cores=$(nproc)
threads=$((cores > ranks ? cores / ranks : 1))

if [ -z "${BUILD:-}" ]; then
    jobs/install.sh
    say "building $program on $cores cores"
    cmake --preset release
    cmake --build --preset release --target trireme
fi

mkdir -p "$folder"
corpus=$folder/sample.h5
rm -f "$corpus"
say "preparing the embedded sample"
"$program" prepare --synthetic csn --count 700 --seed 1 --tokenizer train:1024 --output "$corpus"

# The mpirun of the MPI library that the program was built with. Another one would start two jobs of one rank.
mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
if ! command -v "$mpirun" >/dev/null; then
    say "no mpirun was found beside the MPI library (CMake's MPIEXEC_EXECUTABLE is '$mpirun');" \
        "load the MPI module that provides mpirun and run jobs/quickstart.sh again"
    exit 3
fi

# By default Open MPI refuses root and more ranks than cores, and binds each rank, with all its threads, to one
# core. Its single-copy mechanism needs a right that containers lack. (OMPI_MCA_: up to version 4, PRTE_: from
# 5.) MPICH reads none of these variables.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=$threads

run=$folder/$(date +%Y-%m-%d-%H%M%S)
if [ -e "$run" ]; then
    run+=-$$
fi
say "training on $ranks ranks, threads per rank: $threads; the records go to $run"
# Options on the command line override those in the file.
cat > "$folder/quickstart.ini" <<END
model = gpt2-tiny
corpus = $corpus
data = $ranks
steps = 400
batch = 16
length = pack
lr = 2e-3
warmup-steps = 20
log-every = 10
threads = $threads
run-dir = $run
END
"$mpirun" -n "$ranks" "$program" train --config "$folder/quickstart.ini" "$@"

# The file is absent after --dry-run, or if --run-dir names another folder.
if [ -e "$run/steps.jsonl" ]; then
    "$program" report "$run"
fi
