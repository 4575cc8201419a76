#!/usr/bin/env bash
# Starts the program on all ranks of a Slurm job, one per task, and reports how it ended. train.sbatch,
# hetero.sbatch and interactive.sh call it.
#
#   jobs/launch.sh train OPTIONS...
#
# If they are not given, it adds --run-dir "$RUN_DIR" (runs/%j if unset) and --resume auto. In --run-dir, %j
# becomes the job's number. A batch job is requeued if the program stopped on request with a checkpoint (exit
# code 75), or if nodes do not answer. The exit codes are the program's.
set -euo pipefail

# shellcheck source=jobs/site.sh
source "$(dirname "${BASH_SOURCE[0]}")/site.sh"

say() { echo "launch: $*" >&2; }

kinds=${SLURM_HET_SIZE:-1}  # number of kinds of nodes; each is a component of the job
job=${SLURM_HET_JOB_ID:-${SLURM_JOB_ID:?"launch.sh runs only in a Slurm job; submit jobs/train.sbatch"}}

# Prints Slurm's variable NAME for a component; it is called NAME_HET_GROUP_1 if there are several components.
of_kind() { # component, name
    local name=$2
    if [ "$kinds" -gt 1 ]; then
        name+=_HET_GROUP_$1
    fi
    echo "${!name:-}"
}

# Prints the srun option that selects a component; srun accepts it only if there are several.
group() { # component
    if [ "$kinds" -gt 1 ]; then
        echo "--het-group=$1"
    fi
}

# Starts one process on each of `nodes` nodes, and fails if one of them does not answer in time.
knock() { # component, number of nodes, further srun options
    local kind=$1 nodes=$2
    shift 2
    # shellcheck disable=SC2046  # zero or one word
    timeout --kill-after=5 "$site_patience" srun $(group "$kind") --overlap --mpi=none --nodes="$nodes" --ntasks="$nodes" \
        --ntasks-per-node=1 --cpus-per-task=1 --kill-on-bad-exit=1 "$@" true
}

# Checks all nodes first: if one is lost, the ranks would wait for each other.
nodes_answer() {
    local kind
    for ((kind = 0; kind < kinds; ++kind)); do
        knock "$kind" "$(of_kind "$kind" SLURM_JOB_NUM_NODES)" || return 1
    done
}

# Requeues a job whose nodes do not answer, unless srun fails even on this node, which other nodes would not
# fix.
leave_silent_nodes() { # reason
    if [ -n "${SLURMD_NODENAME:-}" ] && ! knock 0 1 --nodelist="$SLURMD_NODENAME"; then
        say "$1: srun also fails on $SLURMD_NODENAME, the node of this script, so job $job is not requeued"
    else
        put_back "$1"
    fi
}

put_back() { # reason
    if [ "${ENVIRONMENT:-}" != BATCH ]; then
        say "$1"
    elif scontrol requeue "$job"; then
        say "$1; job $job is back in the queue"
    else
        say "$1; job $job cannot be put back into the queue; submit it again to resume"
    fi
}

# The program reads from SLURM_JOB_END_TIME when it must stop. Slurm sets the variable since version 23.02; in
# older versions squeue reports the time.
know_end() {
    local end
    end=$(squeue --noheader --jobs "$job" --format %e)
    if end=$(date --date "${end%%$'\n'*}" +%s 2>/dev/null); then
        export SLURM_JOB_END_TIME=$end
    fi
}

# --- the command line -------------------------------------------------------------------------------------------
# `words` holds the program's options, one per element, with a run directory for this job and --resume.
words=()
has_run_dir=no
has_resume=no
previous=""
for word in "$@"; do
    case $word in
        --run-dir | --run-dir=*) has_run_dir=yes ;;
        --resume | --resume=*) has_resume=yes ;;
    esac
    if [ "$previous" = --run-dir ] || [[ $word == --run-dir=* ]]; then
        word=${word//%j/$job}
    fi
    words+=("$word")
    previous=$word
done
if [ "$has_run_dir" = no ]; then
    run_dir=${RUN_DIR:-runs/%j}
    words+=(--run-dir "${run_dir//%j/$job}")
fi
if [ "$has_resume" = no ]; then
    words+=(--resume auto)
fi

# --- starting ---------------------------------------------------------------------------------------------------
# All components are one MPI world: srun reads them separated by colons.
by_srun() {
    local kind cores
    local -a line=(srun)
    for ((kind = 0; kind < kinds; ++kind)); do
        if [ "$kind" -gt 0 ]; then
            line+=(:)
        fi
        # shellcheck disable=SC2207  # zero or one word
        line+=($(group "$kind") --mpi="$mpi" --kill-on-bad-exit=1)
        cores=$(of_kind "$kind" SLURM_CPUS_PER_TASK)  # srun inherits it from the job only up to Slurm 21.08
        if [ -n "$cores" ]; then
            line+=(--cpus-per-task="$cores")
        fi
        line+=("$TRIREME_PROGRAM" "${words[@]}")
    done
    "${line[@]}"
}

# By default Open MPI binds each rank, with all its threads, to one core. (OMPI_MCA_: up to version 4, PRTE_:
# from 5.)
by_mpirun() {
    export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
    mpirun -n "${SLURM_NTASKS:?}" "$TRIREME_PROGRAM" "${words[@]}"
}

mpi=$site_mpi
if [ -z "$mpi" ]; then
    mpi=mpirun
    if srun --mpi=list 2>&1 | grep -w pmix >/dev/null; then
        mpi=pmix
    fi
fi

[ -n "${SLURM_JOB_END_TIME:-}" ] || know_end
if ! nodes_answer; then
    leave_silent_nodes "not all nodes of the job answer within $site_patience seconds"
    exit 3
fi
code=0
if [ "$mpi" = mpirun ]; then
    by_mpirun || code=$?
else
    by_srun || code=$?
fi
case $code in
    0 | 2 | 70) ;;
    75) put_back "the run stopped on request and can resume" ;;
    *) nodes_answer || leave_silent_nodes "the program ended with exit code $code, and not all nodes answer" ;;
esac
exit "$code"
