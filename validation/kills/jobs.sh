# Sourced by run.sh. Starts the jobs that are killed, and finds their processes.
# shellcheck shell=bash disable=SC2154  # variables that run.sh sets

write_decisions() {
    local -a layouts=(
        '[{"layers": [0, 7], "replicas": [{"ranks": [0, 1]}, {"ranks": [2, 3]}]}]}, "schedule": "gpipe"'
        '[{"layers": [0, 3], "replicas": [{"ranks": [3, 1]}]}, {"layers": [3, 7], "replicas": [{"ranks": [2, 0]}]}]}'
        '[{"layers": [0, 7], "replicas": [{"ranks": [0]}, {"ranks": [1]}, {"ranks": [2]}, {"ranks": [3]}]}]}'
        '[{"layers": [0, 2], "replicas": [{"ranks": [3]}]}, {"layers": [2, 5], "replicas": [{"ranks": [1, 0], "shares": [2, 1]}]}, {"layers": [5, 7], "replicas": [{"ranks": [2]}]}]}, "schedule": "inter-layer"'
        '[{"layers": [0, 4], "replicas": [{"ranks": [0]}, {"ranks": [1]}]}, {"layers": [4, 7], "replicas": [{"ranks": [2]}, {"ranks": [3]}]}]}, "schedule": "1f1b"')
    local step
    for ((step = between_changes; step < steps; step += between_changes)); do
        say "{\"step\": $step, \"layout\": {\"layers\": 7, \"stages\": ${layouts[step / between_changes % 5]}}"
    done > "$work/recorded.jsonl"
}

# Starts a job in the run directory $run with additional options. Each rank records its process id. Each job has
# its own TMPDIR: it identifies all of the job's processes, and Open MPI jobs of one user fail with a shared
# one.
start() {
    starts=$((starts + 1))
    temporary=$work/t$starts
    mkdir "$temporary"
    rm -f "$work"/ranks/*
    TMPDIR=$temporary "${mpiexec[@]}" -n $ranks sh -c \
        'echo $$ > "$0/.$$" && mv "$0/.$$" "$0/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" && exec "$@"' "$work/ranks" \
        "$program" train --corpus "$work/corpus.h5" --layers 2 --width 32 --heads 4 --device reference --threads 1 \
        --pipe 2 --data 2 --microbatches 2 --batch 4 --steps $steps --lr-schedule constant --dropout 0.1 \
        --checkpoint-every $between_saves --keep 3 --run-dir "$run" --quiet "$@" \
        > "$run.out" 2> "$run.err" < /dev/null &
    job=$!
}

processes_left() {
    local environment
    for environment in $(grep -lzx "TMPDIR=$temporary" /proc/[0-9]*/environ 2> /dev/null); do
        environment=${environment#/proc/}
        echo "${environment%/environ}"
    done
}

kill_what_is_left() {
    local process
    for process in $(processes_left); do kill -KILL "$process" 2> /dev/null || true; done
}

clean_up() {
    local code=$?
    [ -z "${temporary:-}" ] || kill_what_is_left
    if [ $code = 0 ]; then rm -rf "$work"; else say "the files are kept in $work"; fi
}
is_running() { kill -0 "$job" 2> /dev/null; }

# Waits for the job to end and records its exit code.
code_of_job() {
    local code=0
    wait "$job" 2> /dev/null || code=$?
    rm -rf "$temporary"
    echo $code > "$work/code"
}

run_until_done() {
    start "$@"
    code_of_job
    [ "$(cat "$work/code")" = 0 ]
}
