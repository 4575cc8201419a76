#!/usr/bin/env bash
# Who takes a job's nodes or time gets them: a more urgent job, the time limit. Nothing that was saved is lost.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

run=("${small_run[@]}" --steps 12 --pipe 4 --data 2)
run_undisturbed undisturbed "${run[@]}"

say "a more urgent job takes the nodes, and gives them back"
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir displaced)
wait_for "second step" 100 has_steps displaced 2
srun --partition urgent --nodes 4 --exclusive true
wait_for "second start" 200 is_running_again "$job"
expect_state "$job" COMPLETED 0:0
expect_same_losses displaced undisturbed 12
grep -q "SIGTERM came to rank [0-7]" "slurm-$job.out" || fail "nobody says why it stopped: $(cat "slurm-$job.out")"

say "a step that takes longer than the job may: Slurm kills it, and the last checkpoint is whole"
job=$(sbatch --parsable --nodes 4 --time 1 "$home/jobs/train.sbatch" "${run[@]}" --run-dir killed \
    --checkpoint-every 1 --slow rank=3,factor=1000000,steps=5:6)
wait_for "fourth step" 100 has_steps killed 4
expect_state "$job" TIMEOUT 0:0
[ "$(steps_of killed)" -eq 4 ] || fail "there were $(steps_of killed) steps"
"$TRIREME" inspect --verify killed
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir killed)
expect_state "$job" COMPLETED 0:0
expect_same_losses killed undisturbed 12
