#!/usr/bin/env bash
# Eight ranks on four nodes have the same losses however they are started.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

run=("${small_run[@]}" --steps 4 --pipe 4 --data 2)

say "under srun itself"
run_undisturbed bare "${run[@]}"
expect_same_losses bare bare 4

say "the doctor finds the ranks of all nodes, and nothing that fails"
srun --mpi=pmix --nodes 4 --ntasks-per-node 2 "$TRIREME" doctor > doctor.txt || fail "$(cat doctor.txt)"
grep -q "started by srun, through PMIx" doctor.txt || fail "doctor does not report srun and PMIx: $(cat doctor.txt)"
grep -q "ranks  *8 on 4 hosts: n1 has 0,1; n2 has 2,3" doctor.txt || fail "doctor does not report the ranks of n1 and n2: $(cat doctor.txt)"

say "train.sbatch, for an ordinary user, in a folder with blanks named after the job"
chmod 755 "$users/corpus.h5"
mkdir -m 777 "of another"
other_user=(setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/run/node)
job=$("${other_user[@]}" env RUN_DIR="of another/run %j" sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}")
expect_state "$job" COMPLETED 0:0
expect_same_losses "of another/run $job" bare 4
[ "$(stat -c %U "of another/run $job")" = nobody ] || fail "the run directory is not its user's"

say "the same by mpirun, as the site file says; the run directory is an option"
sed -i 's/^site_mpi=""/site_mpi=mpirun/' "$home/jobs/site.sh"
job=$("${other_user[@]}" sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir "of another/%j by mpirun")
expect_state "$job" COMPLETED 0:0
expect_same_losses "of another/$job by mpirun" bare 4
sed -i 's/^site_mpi=mpirun/site_mpi=""/' "$home/jobs/site.sh"

say "interactive.sh, in the partition that the site file names"
sed -i 's/^site_partition=""/site_partition=urgent/' "$home/jobs/site.sh"
"$home/jobs/interactive.sh" --nodes 2 --ntasks-per-node 4 -- "${run[@]}" --run-dir "by hand"
expect_same_losses "by hand" bare 4
[ "$(scontrol --oneliner show jobs | tail -n 1 | grep -o 'Partition=[a-z]*')" = Partition=urgent ] ||
    fail "the interactive job was not in the site file's partition"

say "a wrong option ends the job with the program's exit code and message; the job is not requeued"
job=$(sbatch --parsable --nodes 2 "$home/jobs/train.sbatch" "${run[@]}" --no-such-option 1)
expect_state "$job" FAILED 2:0
[ "$(field_of "$job" Restarts)" -eq 0 ] || fail "the job was requeued"
grep -q "no-such-option" "slurm-$job.out" || fail "the message is missing: $(cat "slurm-$job.out")"
