#!/usr/bin/env bash
# Kills ranks of small training runs at random moments, and checks the consequences.
#
#   validation/kills/run.sh PROGRAM MPIEXEC COUNT [SEED]
#   validation/kills/run.sh build/release/bin/trireme mpirun 60
#   validation/kills/run.sh build/release/bin/trireme-mpich mpiexec.mpich 60 4711
#
# Four ranks train, save every second step, and change their plan: every third step as a file says, as a policy
# decides about a slow rank, as --freeze decides from gradient norms and evaluations, or as --auto-pipe published
# does for frozen blocks, so that the pipelines become shorter. One rank gets SIGKILL:
# some time after the start, after a step, while a checkpoint is written, or while the plan changes. The job then
# resumes with --resume auto and is killed again.
# After each kill
#
#   - no process of the job is left within 10 s;
#   - a message says which rank died (MPICH: that a rank died);
#   - survivors have begun no checkpoint, and completed only checkpoints that were begun before the kill;
#   - the next start resumes from the last complete checkpoint, and all losses are, to the last digit, those of an
#     undisturbed run that follows the same decisions (freeze and pipe: that makes its own decisions, and has no
#     cache of frozen outputs, while the killed runs have one).
#
# POLICIES (environment variable) selects among these ways, for example POLICIES=freeze.
#
# SEED determines which rank is killed and when. How far the ranks have come by then depends on the machine.
set -euo pipefail

usage="usage: validation/kills/run.sh PROGRAM MPIEXEC COUNT [SEED]"
program=$(realpath "${1:?"$usage"}")
read -ra mpiexec <<< "${2:?"$usage"}"
count=${3:?"$usage"}
seed=${4:-$((SRANDOM % 100000))}

ranks=4
steps=30
between_saves=2
between_changes=3
kills_of_a_run=4      # afterwards the run may finish
read -ra policies <<< "${POLICIES:-freeze recorded uneven pipe}"  # of the runs 0, 1, 2, 3, ...
pipe=(--freeze schedule --freeze-alpha 0.4 --freeze-every 6 --auto-pipe published)
freeze=(--freeze gradient --freeze-alpha 0.2 --freeze-every 4 --freeze-thaw loss --eval-every 5 --validation-share 0.2)
polls_to_the_end=100  # 0.1 s each; if this script does not get the CPU, the job has not either
polls_to_the_aim=6000

# By default Open MPI refuses root and more ranks than cores; see cmake/Tests.cmake.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_hwloc_default_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMP_NUM_THREADS=1

case $("${mpiexec[@]}" --version 2>&1) in
    *"Open MPI"* | *OpenRTE* | *PRRTE*) launcher=openmpi ;;
    *) launcher=mpich ;;
esac

work=$(mktemp -d /tmp/trireme-kills-XXXXXX)
mkdir "$work/ranks"
exec {nothing}<> <(:)  # an empty pipe, so that read in pause() times out

declare -A met=([starting]=0 [training]=0 [saving]=0 [changing]=0)
kills=0 failures=0 runs=0 starts=0 compared=0 unnamed=0 hung=0 late=0 changes=0
job=0 run=  # the launcher's process id, and the run directory

# ---- output and records

say() { printf '%s\n' "$*"; }

fail() {
    failures=$((failures + 1))
    say "FAILED  kill $kills: $*"
}

draw() { drawn=$(($1 + RANDOM % ($2 - $1 + 1))); }  # from $1 to $2

pause() { read -rt "$1" -u "$nothing" || true; }

# Prints "7 4.1729" for each step of a steps.jsonl, whose last line may be incomplete.
losses_of() { sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),.*}$/\1 \2/p' "$1/steps.jsonl" 2> /dev/null || true; }

# Prints "9 1" for each decision about frozen blocks: its step and their number.
decided_depths() {
    sed -n 's/^{"step":\([0-9]*\),.*"frozen":\([0-9]*\),.*}$/\1 \2/p' "$1/decisions.jsonl" 2> /dev/null || true
}

steps_of() { sed -n 's/^{"step":\([0-9]*\),.*}$/\1/p' "$1" 2> /dev/null || true; }

last_step() {
    local last
    last=$(losses_of "$run" | tail -n 1)
    echo $((${last%% *} + 0))
}

names_in_checkpoints() { (cd "$run/checkpoints" 2> /dev/null && ls -A) || true; }

# Prints the checkpoint that --resume auto resumes from. A kill may come before `latest` is written.
resumable() {
    if [ -e "$run/checkpoints/latest" ]; then
        cat "$run/checkpoints/latest"
    else
        names_in_checkpoints | grep '^step-' | sort -t - -k 2 -n | tail -n 1 || true
    fi
}

here=$(dirname "${BASH_SOURCE[0]}")
source "$here/jobs.sh"
source "$here/expectations.sh"
trap clean_up EXIT

# ---- choice of the moment

draw_kill() {
    RANDOM=$(((seed * 7919 + starts) % 32768))
    local -a aims=(time step step checkpoint checkpoint change change change)
    local -a ways=(stop overlap twins restart)
    draw 0 7; aim=${aims[drawn]}
    draw 0 3; move=${ways[drawn]}
    draw 0 $((ranks - 1)); victim=$drawn
    draw 1 5; ahead=$drawn
    case $aim in
        time) draw 100 3000 ;;
        step) draw 0 60 ;;
        *) draw 0 15 ;;
    esac
    delay_ms=$drawn
}

# True after steps at which a plan changes or the policy decides.
is_time_for_change() { (($1 > 0 && $1 < steps && $1 % between_changes == 0)); }

is_reached() {
    local last
    [ -s "$work/ranks/$victim" ] || return 1
    [ $aim != time ] || return 0
    [ -e "$run/manifest.json" ] || return 1  # the recorded steps may still be those of the previous start
    last=$(last_step)
    ((last >= from + ahead)) || return 1
    case $aim in
        step) return 0 ;;
        checkpoint) [[ $(names_in_checkpoints) == *partial* ]] ;;
        change) is_time_for_change "$last" ;;
    esac
}

# Waits for the chosen moment of the kill; returns false if the job ended by itself.
wait_for_the_aim() {
    local polls=0
    until is_reached; do
        is_running || return 1
        pause 0.005
        ((++polls < polls_to_the_aim)) || break  # the job hangs or never meets the condition: then any moment will do
    done
    pause "$((delay_ms / 1000)).$(printf '%03d' $((delay_ms % 1000)))"
    is_running
}

# ---- runs

# Kills the rank and checks the consequences; returns false if the kill came too late and the run has finished.
strike() {
    kill -KILL "$(< "$work/ranks/$victim")" 2> /dev/null || true
    begun=$(names_in_checkpoints)
    kills=$((kills + 1))
    expect_all_processes_to_end
    code_of_job
    if [ "$(cat "$work/code")" = 0 ]; then
        kills=$((kills - 1))
        return 1
    fi
    local doing
    doing=$(describe_activity)
    met[$doing]=$((met[$doing] + 1))
    say "kill $kills  run $runs ($policy)  rank $victim (aim: $aim), while $doing, after step $(last_step)"
    expect_name_of_victim
    expect_no_new_checkpoints
    expect_resumed_from_checkpoint
    [ $policy = uneven ] || compare_losses $policy
}

options_of_policy() {
    case $policy in
        recorded) options=(--decisions "$work/recorded.jsonl") ;;
        uneven) options=(--straggler uneven --look-every $between_changes --slow "rank=1,factor=8,steps=3:14") ;;
        freeze) options=("${freeze[@]}" --cache on) ;;
        pipe) options=("${pipe[@]}" --cache on) ;;
    esac
    options+=(--resume auto)
}

# Checks that a finished run equals an undisturbed one.
expect_complete_run() {
    local reference=$policy
    # After a kill that follows the last checkpoint, no rank is left to remove an unfinished one.
    [ "$(cat "$work/code")" != 0 ] || [[ $(names_in_checkpoints) != *partial* ]] ||
        fail "an unfinished checkpoint is left"
    if [ $policy = uneven ]; then
        reference=replayed
        touch "$run/decisions.jsonl"
        changes=$((changes + $(wc -l < "$run/decisions.jsonl")))
        local -a looks=(--straggler uneven --look-every $between_changes)
        [ -s "$run/decisions.jsonl" ] || looks=()  # without decisions the reference run must not make any, either
        train_undisturbed replayed "$run/decisions.jsonl" "${looks[@]}"
    elif [ $policy = freeze ] || [ $policy = pipe ]; then
        cmp -s <(decided_depths "$run") "$work/$policy.depths" || fail "the frozen blocks are not those of an undisturbed run"
    else
        steps_of "$run/decisions.jsonl" | cmp -s - <(seq $between_changes $between_changes $((steps - 1))) ||
            fail "decisions.jsonl does not have each change once"
    fi
    compare_losses $reference
    cmp -s "$run.losses" "$work/$reference.losses" || fail "steps.jsonl does not have each step once"
}

# Trains the reference run without kills; its losses go to $work/NAME.losses.
train_undisturbed() {
    local name=$1 of=$run
    cat "$2" > "$work/$name.decisions"
    shift 2
    run=$work/$name
    [ ! -s "$work/$name.decisions" ] || set -- "$@" --decisions "$work/$name.decisions"
    run_until_done "$@" || { say "the undisturbed run $name failed:"; cat "$run.err"; exit 1; }
    losses_of "$run" > "$work/$name.losses"
    decided_depths "$run" > "$work/$name.depths"
    rm -rf "$run"
    run=$of
    [ "$(wc -l < "$work/$name.losses")" = $steps ] || { say "the undisturbed run $name does not have $steps steps"; exit 1; }
}

# Returns false if the run has finished.
kill_once() {
    draw_kill
    expected=$(resumable)
    from=$((${expected#step-} + 0))
    rm -f "$run/manifest.json"
    start "${options[@]}" --move $move
    if wait_for_the_aim; then
        strike
        return
    fi
    code_of_job
    [ "$(cat "$work/code")" = 0 ] || fail "the job ended by itself: $(cat "$run.err")"
    return 1
}

disturb_a_run() {
    local until_kill=$((kills + kills_of_a_run)) failed=$failures
    runs=$((runs + 1))
    run=$work/run-$runs
    policy=${policies[runs % ${#policies[@]}]}
    options_of_policy
    while ((kills < count && kills < until_kill && failures == failed)); do
        [ "$(resumable)" != step-$steps ] || break  # killed after its last checkpoint
        kill_once || break
    done
    ((failures == failed)) || return 0
    expected=$(resumable)
    if [ "$expected" != step-$steps ]; then
        rm -f "$run/manifest.json"
        run_until_done "${options[@]}" || { fail "the job does not resume: $(cat "$run.err")"; return 0; }
        expect_resumed_from_checkpoint
    fi
    expect_complete_run
}

say "seed $seed: $count kills of $ranks ranks under ${mpiexec[0]}"
"$program" prepare --synthetic csn --count 40 --quiet --output "$work/corpus.h5"
write_decisions
train_undisturbed recorded "$work/recorded.jsonl"
train_undisturbed freeze /dev/null "${freeze[@]}"
train_undisturbed pipe /dev/null "${pipe[@]}"
while ((kills < count && failures < 5)); do disturb_a_run; done

max_unnamed=$(((count + 99) / 100 * 2))
((unnamed <= max_unnamed)) || fail "kills whose output does not name the rank: $unnamed; the limit is $max_unnamed"
printf '{"launcher": "%s", "seed": %d, "kills": %d, "starting": %d, "training": %d, "saving": %d, "changing": %d, ' \
    $launcher "$seed" $kills "${met[starting]}" "${met[training]}" "${met[saving]}" "${met[changing]}"
printf '"runs": %d, "steps_compared": %d, "changes_by_policy": %d, "saved_at_the_death": %d, "unnamed": %d, ' \
    $runs $compared $changes $late $unnamed
printf '"launcher_hung": %d, "failures": %d}\n' $hung $failures
((failures == 0))
