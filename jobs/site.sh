# shellcheck shell=bash
# Settings of your site: fill in what it needs. Empty settings keep the defaults of Slurm and the shell. The
# scripts in this folder source this file inside a job. Source it before sbatch, too, so that Slurm learns the
# partition and the account, and the job finds this folder:
#
#   source jobs/site.sh
#   sbatch --nodes 4 jobs/train.sbatch --corpus spark.h5 --model gpt2

site_partition=""  # such as gpu; Slurm's default if empty
site_account=""    # the account that is charged
site_modules=""    # modules that the program was built with, such as "gcc/12 openmpi/4.1 hdf5/1.12"
# Launcher of the ranks: pmix, pmix_v4, ... (srun --mpi=list shows them) or mpirun. If empty: pmix if srun
# supports it, otherwise mpirun.
# shellcheck disable=SC2034  # launch.sh reads it
site_mpi=""
# Seconds within which every node of a job must start a process; otherwise the job releases its nodes.
# shellcheck disable=SC2034  # launch.sh reads it
site_patience=60

# --- nothing to fill in below ---------------------------------------------------------------------------------
TRIREME_HOME=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export TRIREME_HOME
export TRIREME_PROGRAM=${TRIREME_PROGRAM:-$TRIREME_HOME/build/release/bin/trireme}

if [ -z "${SLURM_JOB_ID:-}" ]; then
    if [ -n "$site_partition" ]; then
        export SBATCH_PARTITION=$site_partition SALLOC_PARTITION=$site_partition SLURM_PARTITION=$site_partition
    fi
    if [ -n "$site_account" ]; then
        export SBATCH_ACCOUNT=$site_account SALLOC_ACCOUNT=$site_account SLURM_ACCOUNT=$site_account
    fi
fi

if [ -n "$site_modules" ]; then
    # shellcheck disable=SC2086  # several words
    module load $site_modules
fi
