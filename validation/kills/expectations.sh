# Sourced by run.sh. Functions that classify what a job did when it was killed, and check the state after the
# kill.
# shellcheck shell=bash disable=SC2154  # variables that run.sh sets

describe_activity() {
    local last
    last=$(last_step)
    if [ ! -e "$run/manifest.json" ] || ((last <= from)); then
        echo starting
    elif [ $policy = recorded ] && is_time_for_change "$last" &&
        ! steps_of "$run/decisions.jsonl" | grep -x "$last" > /dev/null; then
        echo changing
    elif [[ $begun == *partial* ]]; then
        echo saving
    else
        echo training
    fi
}

expect_all_processes_to_end() {
    local polls=0 left process
    while left=$(processes_left) && [ -n "$left" ]; do
        pause 0.1
        ((++polls < polls_to_the_end)) || break
    done
    [ -n "$left" ] || return 0
    for process in $left; do
        say "        left: $process $(tr '\0' ' ' < "/proc/$process/cmdline" | cut -c 1-160)"
    done
    if [ $launcher = openmpi ] && [ "$left" = "$job" ]; then
        say "        only Open MPI's launcher has not ended; this script kills it"
        hung=$((hung + 1))
    else
        fail "processes of the job are left after 10 s"
    fi
    kill_what_is_left
}

# MPICH's launcher reports the death on standard output, and may name any process of the node.
expect_name_of_victim() {
    if [ $launcher = mpich ]; then
        grep -qE "KILLED BY SIGNAL: 9|BAD TERMINATION" "$run.out" "$run.err" || fail "no output says that a rank died"
    elif grep -q "noticed that process rank [0-9]* " "$run.err"; then
        grep -q "noticed that process rank $victim " "$run.err" || fail "a different rank than $victim is reported dead"
    elif ! grep -q "rank $victim ([^)]*) does not answer" "$run.err"; then
        unnamed=$((unnamed + 1))
        say "        the output does not name rank $victim"
    fi
}

# Fails if survivors began a checkpoint. A checkpoint that was begun before the kill, with all parts on the
# disk, may still be renamed to its final name.
expect_no_new_checkpoints() {
    local name
    for name in $(names_in_checkpoints | grep '^step-'); do
        grep -qx "$name" <<< "$begun" && continue
        if grep -q "^\.$name\.partial-" <<< "$begun"; then
            late=$((late + 1))
        else
            fail "$name was begun by survivors"
        fi
    done
    name=$(resumable)
    [ -z "$name" ] || [ -d "$run/checkpoints/$name" ] || fail "latest names $name, which does not exist"
}

# Checks which checkpoint each start says that it resumed from.
expect_resumed_from_checkpoint() {
    [ -s "$run/manifest.json" ] || return 0  # killed before the manifest was written
    if [ -z "$expected" ]; then
        ! grep -q resumed_from "$run/manifest.json" || fail "the job resumed although there was no complete checkpoint"
    else
        grep -q "\"resumed_from\": \"$run/checkpoints/$expected\"" "$run/manifest.json" ||
            fail "the job did not resume from $expected"
    fi
}

# Compares all recorded losses, including those of steps that a later start trains again.
compare_losses() {
    local other
    losses_of "$run" > "$run.losses"
    compared=$((compared + $(wc -l < "$run.losses")))
    other=$(grep -vxFf "$work/$1.losses" "$run.losses" | head -n 3) || true
    [ -z "$other" ] || fail "losses differ from those of an undisturbed run: $(paste -sd ';' <<< "$other")"
}
