#!/usr/bin/env bash
# Jobs with several parts: an array over the points of a study, and two kinds of nodes in one MPI world.
# shellcheck source=validation/slurm/cluster.sh
source "$(dirname "$0")/cluster.sh"
enter_cluster "$0" "$@"

say "a study of four points: one task of an array for each, and one table"
cat > "my study.json" <<STUDY
{"schema": 1, "name": "ranks", "source": "a test", "command": "train",
 "launch": ["srun", "--mpi=pmix", "--ntasks", "{ranks}"],
 "options": {"corpus": "corpus.h5", "width": 16, "heads": 2, "device": "reference", "threads": 1, "batch": 4, "steps": 2},
 "axes": [[{"layers": 1}, {"layers": 2}], [{"ranks": 1}, {"ranks": 2, "data": 2}]],
 "figures": ["tokens", "loss/last"]}
STUDY
points=$("$home/perf/study" --points "my study.json")
[ "$points" -eq 4 ] || fail "the study has $points points"
array=$(sbatch --parsable --array "0-$((points - 1))" "$home/jobs/scaling.sbatch" "my study.json" "its runs")
for ((point = 0; point < points; ++point)); do
    wait_for "end of point $point" 100 has_ended "${array}_$point"
done
"$home/perf/study" --join "my study.json" "its runs" || fail "$(cat ./*-"$array"_*.out)"
cat "its runs/ranks.csv"
[ "$(grep -cE '^2?,[12],[12],[0-9]+,[0-9.]+,wall,[^,]*,$' "its runs/ranks.csv")" -eq 4 ] || fail "not all points have figures"

say "one node of one kind and three of a different kind, each with its profile: eight ranks of one world"
run=("${small_run[@]}" --steps 4 --pipe 4 --data 2)
run_undisturbed alike "${run[@]}"
"$TRIREME" profile --layers 4 --width 16 --heads 2 --device reference --threads 1 --batch 8 --quiet --output one.json
sed 's/"machine": *"[^"]*"/"machine": "another kind"/' one.json > other.json
job=$(RUN_DIR="two kinds %j" sbatch --parsable --nodes 1 : --nodes 3 "$home/jobs/hetero.sbatch" "${run[@]}" \
    --partition measured --profile 0-1=one.json,2-7=other.json)
expect_state "$job" COMPLETED 0:0
expect_same_losses "two kinds $job" alike 4
