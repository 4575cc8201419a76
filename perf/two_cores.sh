# shellcheck shell=bash
# Two ranks on two cores; sourced by the scripts that measure them. The script sets `build`, the build directory, `cores`,
# the cores of the ranks, and in gemm() also `round`, the folder of the round. Sets `mpirun`.

# shellcheck disable=SC2154  # the script sets `build`, `cores` and `round`
mpirun=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
# The same settings as in perf/parallel/run.sh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1

# Usage: require_programs PROGRAM... Ends the script if one of them, perf_gemm_rate, mpirun or taskset is missing.
require_programs() {
    local tool
    for tool in "$@" "$build/bin/perf_gemm_rate" "${mpirun:-mpirun}" taskset; do
        command -v "$tool" > /dev/null || { say "$tool was not found; build all targets with an MPI library"; exit 3; }
    done
}

# Runs a command on two ranks, each on its own core.
on_two_cores() {
    # shellcheck disable=SC2016  # the rank is known only in the shell that mpirun starts
    CORES="${cores[*]}" "$mpirun" -n 2 bash -c \
        'cores=($CORES); exec taskset -c "${cores[${OMPI_COMM_WORLD_RANK:-$PMI_RANK}]}" "$@"' pinned "$@"
}

# Measures the matmul rate of the first core alone, and of each core while the other one also computes.
# shellcheck disable=SC2154
gemm() {
    local rank
    local -a started=()
    taskset -c "${cores[0]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-alone.json"
    for rank in 0 1; do
        taskset -c "${cores[$rank]}" "$build/bin/perf_gemm_rate" 2 "$round/gemm-both-$rank.json" &
        started+=($!)
    done
    for rank in 0 1; do wait "${started[$rank]}"; done
}
