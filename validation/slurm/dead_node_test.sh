#!/usr/bin/env bash
# A node loses its power in the middle of a run: the ranks that are left end, the job waits for nodes, and goes on
# from its last checkpoint.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

run=("${small_run[@]}" --steps 16 --pipe 4 --data 2 --checkpoint-every 2 --stall-timeout 10)
run_undisturbed undisturbed "${run[@]}"

job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir struck)
wait_for "fifth step" 100 has_steps struck 5
lose_node n3
wait_for "return to the queue" 200 is_in_state "$job" PENDING
has_steps struck 16 && fail "the run was over before the node was lost"
"$TRIREME" inspect --verify struck
say "the node comes back"
repair_node n3
wait_for "second start" 200 is_running_again "$job"
expect_state "$job" COMPLETED 0:0
expect_same_losses struck undisturbed 16
grep -q '"behind_step":[1-9]' struck/starts.jsonl || fail "it did not go on: $(cat struck/starts.jsonl)"
