#!/usr/bin/env bash
# A more urgent job or the time limit ends a run. Nothing that was saved is lost.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

run=("${small_run[@]}" --steps 12 --pipe 4 --data 2)
run_undisturbed undisturbed "${run[@]}"

say "a more urgent job takes the nodes and releases them"
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir displaced "$(long_step 3)")
wait_for "second step" 100 has_steps displaced 2
srun --partition urgent --nodes 4 --exclusive true
wait_for "second start" 200 is_running_again "$job"
expect_state "$job" COMPLETED 0:0
expect_same_losses displaced undisturbed 12
grep -q "SIGTERM came to rank [0-7]" "slurm-$job.out" || fail "the output does not say why the run stopped: $(cat "slurm-$job.out")"

say "two jobs: the time limit of the first one is near, and the second one has a step longer than its time limit"
sed -i 's/^site_mpi=""/site_mpi=mpirun/' "$home/jobs/site.sh"
short=$(sbatch --parsable --time 1 "$home/jobs/train.sbatch" "${small_run[@]}" --steps 9999 --pipe 2 --run-dir short)
wait_for "first step" 100 has_steps short 1
sed -i 's/^site_mpi=mpirun/site_mpi=""/' "$home/jobs/site.sh"
slow=()
for rank in 0 1 2 3 4 5 6 7; do
    slow+=(--slow "rank=$rank,factor=1000,steps=5:6")
done
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir killed --checkpoint-every 1 "${slow[@]}")
wait_for "fourth step" 100 has_steps killed 4
scontrol update "JobId=$job" EndTime=now+5

say "the first run stops by itself, also under mpirun, where no signal of Slurm arrives"
wait_for "return to the queue" 100 is_in_state "$short" PENDING
scancel "$short"
grep -q "the end of Slurm's job $short is near" "slurm-$short.out" || fail "the output does not say why the run stopped: $(cat "slurm-$short.out")"
"$TRIREME" inspect --verify short

say "Slurm kills the second job, and its last checkpoint is complete"
wait_for "end of job $job" 100 has_ended "$job"
is_in_state "$job" TIMEOUT || fail "job $job is $(field_of "$job" JobState) and not TIMEOUT; its output: $(cat "slurm-$job.out")"
[ "$(steps_of killed)" -eq 4 ] || fail "the killed run has $(steps_of killed) steps and not 4"
"$TRIREME" inspect --verify killed
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir killed)
expect_state "$job" COMPLETED 0:0
expect_same_losses killed undisturbed 12
