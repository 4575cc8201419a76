# shellcheck shell=bash
# The stages of a test run: what each took, which tests failed, and which of them may be tried again.

readonly max_test_seconds=$((40 * 60)) # of all test stages, on the machine of the reference below
readonly reference_seconds=1.26        # what calibrate measures on two idle cores of an AMD EPYC (Zen 4, 2.6 GHz)
readonly max_second_tries=2

stage_times=()    # "build 312"
second_tries=()   # names of tests that passed only alone
test_seconds=0    # spent in ctest
failed_stages=()
machine_seconds=$reference_seconds

say() { echo "validation: $*" >&2; }

begin_log() { # file
    test_log=$1
    : > "$test_log"
}

# Runs a command as a stage. A stage that fails does not stop those after it, which may find more.
stage() { # name, command...
    local name=$1 start=$SECONDS
    shift
    echo "=== $name" >&2
    if ! "$@"; then
        failed_stages+=("$name")
        [ "$name" != build ] || exit 1
    fi
    stage_times+=("$name $((SECONDS - start))")
}

# Seconds of a fixed amount of work on two cores at once.
calibrate() {
    local start end
    start=$(date +%s.%N)
    for _ in 1 2; do seq 1 8000000 | gzip -5 > /dev/null & done
    wait
    end=$(date +%s.%N)
    machine_seconds=$(awk -v a="$start" -v b="$end" 'BEGIN { printf "%.2f", b - a }')
}

# Tests of the program wait for MPI's and Slurm's own time limits, which a busy machine does not always keep, so up to
# two of them may be tried once more, alone. A test of a unit, kernel, rank or loss has no such excuse.
run_tests() { # preset, further arguments of ctest
    local preset=$1 start=$SECONDS failures names
    shift
    if ctest --preset "$preset" "$@" | tee -a "$test_log"; then
        test_seconds=$((test_seconds + SECONDS - start))
        return 0
    fi
    failures=build/$preset/Testing/Temporary/LastTestsFailed.log
    mapfile -t names < <(sed 's/^[0-9]*://' "$failures")
    if printf '%s\n' "${names[@]}" | grep -Evq '^(messages|slurm|kills)/'; then
        say "these tests failed: ${names[*]}"
        return 1
    fi
    second_tries+=("${names[@]}")
    if [ "${#second_tries[@]}" -gt $max_second_tries ]; then
        say "${#second_tries[@]} tests failed, and at most $max_second_tries may be tried again: ${second_tries[*]}"
        return 1
    fi
    say "these tests failed and are tried again, alone: ${names[*]}"
    ctest --preset "$preset" --rerun-failed | tee -a "$test_log" || return 1
    test_seconds=$((test_seconds + SECONDS - start))
}

longest_tests() { # count
    sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*/\2 \1/p' "$test_log" | sort -rn | head -n "$1"
}

report_times() {
    local limit
    limit=$(awk -v s=$max_test_seconds -v m="$machine_seconds" -v r=$reference_seconds 'BEGIN { printf "%d", s * m / r }')
    echo "=== seconds of the longest tests"
    longest_tests 20
    echo "=== seconds of the stages"
    printf '%s\n' "${stage_times[@]}"
    echo "tests: $test_seconds s of at most $limit (calibration $machine_seconds s, reference $reference_seconds s)"
    [ "${#second_tries[@]}" -eq 0 ] || printf 'passed only on the second try: %s\n' "${second_tries[@]}"
    if [ "${#failed_stages[@]}" -gt 0 ]; then
        say "failed: ${failed_stages[*]}"
        exit 1
    fi
    if [ "$test_seconds" -gt "$limit" ]; then
        say "the tests took $test_seconds s, and $limit s are the limit on this machine; see the longest ones above"
        exit 1
    fi
}
