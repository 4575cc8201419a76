# shellcheck shell=bash
# What is particular to your site: fill in what it needs. What stays empty is as Slurm and the shell have it.
# The scripts beside this file read it inside of a job. Read it before sbatch, too: that is how Slurm learns the
# partition and the account, and how a job finds its way back to this folder.
#
#   source jobs/site.sh
#   sbatch --nodes 4 jobs/train.sbatch --corpus spark.h5 --model gpt2

site_partition=""  # such as gpu; Slurm's default where it is empty
site_account=""    # what is charged
site_modules=""    # such as "gcc/12 openmpi/4.1 hdf5/1.12": what the program was built with
# How ranks are started: pmix, pmix_v4, ... (srun --mpi=list shows them) or mpirun; where it is empty, pmix if srun
# has it, and mpirun if not.
# shellcheck disable=SC2034  # launch.sh reads it
site_mpi=""
# Seconds within which every node of a job starts a process, or the job gives its nodes back.
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
