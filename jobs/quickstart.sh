#!/usr/bin/env bash
# From a fresh checkout to a falling loss: installs what is missing, builds, prepares the embedded sample, and
# trains gpt2-tiny on it with two MPI ranks, each holding a replica. Run it as often as you like, from anywhere:
# every run has its own directory under runs/quickstart.
#
#   jobs/quickstart.sh               400 steps
#   jobs/quickstart.sh --steps 50    more options go to `trireme train`, and win
#
# Environment variables:
#   BUILD=FOLDER    uses the program that is built there; nothing is installed and built
#   RUNS=FOLDER     where run directories go; runs if unset
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

# The mpirun of the MPI library that the program was built with: another one would start two jobs of one rank.
mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
if ! command -v "$mpirun" >/dev/null; then
    say "no mpirun was found beside the MPI library (CMake's MPIEXEC_EXECUTABLE is '$mpirun');" \
        "load the MPI module that brings one and run this again"
    exit 3
fi

# Open MPI refuses root, and more ranks than cores, unless told; it binds each rank to one core, threads and all;
# and its one-copy path needs a right that containers lack. (OMPI_MCA_: up to version 4, PRTE_: from 5.) MPICH
# reads none of these.
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
say "training on $ranks ranks, $threads thread(s) each; the records go to $run"
# What stands on the command line wins over what stands in a file.
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

# Not there with --dry-run, or when --run-dir sent the records elsewhere.
if [ -e "$run/steps.jsonl" ]; then
    "$program" report "$run"
fi
