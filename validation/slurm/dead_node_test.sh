#!/usr/bin/env bash
# A node loses power during a run: the remaining ranks end, and the job waits for nodes and resumes from its
# last checkpoint. A job also returns a dead node that Slurm still considers alive.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

run=("${small_run[@]}" --steps 16 --pipe 4 --data 2 --checkpoint-every 2 --stall-timeout 10)
run_undisturbed undisturbed "${run[@]}"

notice_after() { # seconds
    sed -i "s/^SlurmdTimeout=.*/SlurmdTimeout=$1/" "$SLURM_CONF"
    scontrol reconfigure
}
notice_after 10
job=$(sbatch --parsable --nodes 4 "$home/jobs/train.sbatch" "${run[@]}" --run-dir struck "$(long_step 6)")
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
grep -q '"behind_step":[1-9]' struck/starts.jsonl || fail "the job did not resume: $(cat struck/starts.jsonl)"

say "a node dies before the start, and Slurm has not noticed: launch.sh also checks the nodes of the second component"
notice_after 600
sed -i 's/^site_patience=.*/site_patience=15/' "$home/jobs/site.sh"
lose_node n4
job=$(sbatch --parsable --nodes 1 : --nodes 3 "$home/jobs/hetero.sbatch" "${run[@]}" --run-dir later)
wait_for "report of the silent node" 100 grep -q "job $job is back in the queue" "slurm-$job.out"
grep "not all nodes of the job answer within 15 seconds" "slurm-$job.out" || fail "$(cat "slurm-$job.out")"
[ ! -e later ] || fail "ranks were started"
repair_node n4
notice_after 10
expect_state "$job" COMPLETED 0:0
expect_same_losses later undisturbed 16
