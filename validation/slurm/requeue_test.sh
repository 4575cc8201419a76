#!/usr/bin/env bash
# A job that is signalled to stop during a step finishes the step, saves a checkpoint, and returns to the queue.
# The resumed run has the same losses: bit for bit on the same number of ranks, to the last digits on fewer.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

run=("${small_run[@]}" --dtype f64 --steps 12 --pipe 4)
run_undisturbed undisturbed "${run[@]}" --data 2

say "SIGUSR1 arrives; the job is requeued and completes its run"
job=$(RUN_DIR="stopped %j" sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --data 2 "$(long_step 3)")
wait_for "second step" 100 has_steps "stopped $job" 2
scancel --signal USR1 "$job"
wait_for "second start" 200 is_running_again "$job"
expect_state "$job" COMPLETED 0:0
expect_same_losses "stopped $job" undisturbed 12
grep -q "SIGUSR1 came to rank [0-7]" "slurm-$job.out" || fail "the output does not say why the run stopped: $(cat "slurm-$job.out")"
[ "$(field_of "$job" Restarts)" -eq 1 ] || fail "the job was requeued $(field_of "$job" Restarts) times and not once"
[ "$(wc -l < "stopped $job/starts.jsonl")" -eq 2 ] || fail "starts.jsonl does not have two starts: $(cat "stopped $job/starts.jsonl")"

say "the same, resuming with four ranks instead of eight"
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --data 2 --run-dir fewer \
    "$(long_step 3)")
wait_for "second step" 100 has_steps fewer 2
scancel --signal USR1 "$job"
wait_for "return to the queue" 100 is_in_state "$job" PENDING
scancel "$job"
steps=$(steps_of fewer)
[ "$steps" -lt 12 ] || fail "the run was over before it stopped"
job=$(sbatch --parsable --nodes 2 "$home/jobs/train.sbatch" "${run[@]}" --data 1 --run-dir fewer)
expect_state "$job" COMPLETED 0:0
grep -q '4 ranks' "slurm-$job.out" || fail "the resumed job does not report 4 ranks: $(cat "slurm-$job.out")"
expect_close_losses fewer undisturbed 12
