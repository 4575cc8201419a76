# shellcheck shell=bash
# Stages of a test run: runs them, measures their seconds, collects failed tests and decides which ones are
# retried.
#
# Two stages may run at once, so their results are kept in files in build/stages.

readonly max_test_seconds=$((28 * 60)) # limit of the test time on the reference machine
readonly reference_seconds=1.26        # what calibrate measures on two idle cores of an AMD EPYC (Zen 4, 2.6 GHz)
readonly max_second_tries=2
readonly stages=build/stages
machine_seconds=0

say() { echo "validation: $*" >&2; }

begin_stages() {
    rm -rf $stages
    mkdir -p $stages
    touch $stages/{seconds,failed,spans,second_tries,log}
}

# Runs a command as a stage. A failed stage does not stop later stages, which may find more; only a failed build
# does.
stage() { # name, command...
    local name=$1 start=$SECONDS
    shift
    echo "=== $name" >&2
    if ! "$@"; then
        echo "$name" >> $stages/failed
        [ "$name" != build ] || exit 1
    fi
    echo "$name $((SECONDS - start))" >> $stages/seconds
}

# Measures the seconds of a fixed amount of work on two cores at once. The slowest of several calibrations
# counts, because other users of the machine may have disturbed the tests, too.
calibrate() {
    local start end
    start=$(date +%s.%N)
    for _ in 1 2; do seq 1 8000000 | gzip -5 > /dev/null & done
    wait
    end=$(date +%s.%N)
    machine_seconds=$(awk -v a="$start" -v b="$end" -v slowest="$machine_seconds" \
        'BEGIN { seconds = b - a; if (seconds < slowest) seconds = slowest; printf "%.2f", seconds }')
}

# Runs tests of one kind: "computing", or "waiting" if they spend about half of their time in time limits. No
# faster machine shortens those: on machines of calibration 0.93, 1.51 and 2.24, the tests of the stage
# "cluster" took 343, 381 and 498 s.
run_tests() { # kind, preset, further arguments of ctest
    local kind=$1 start=$SECONDS status=0
    try_tests "${@:2}" || status=1
    echo "$start $SECONDS $kind" >> $stages/spans
    return $status
}

# Runs tests and retries at most two that fail, one at a time. Only tests of the program are retried: they wait
# for time limits of MPI and Slurm, which a busy machine does not always keep. Tests of units, kernels, ranks
# and losses are not retried.
try_tests() { # preset, further arguments of ctest
    local preset=$1 names tries
    shift
    ctest --preset "$preset" "$@" | tee -a $stages/log && return 0
    mapfile -t names < <(sed 's/^[0-9]*://' "build/$preset/Testing/Temporary/LastTestsFailed.log")
    if grep -Evq '^(messages|slurm|kills)/' <<< "$(printf '%s\n' "${names[@]}")"; then
        say "these tests failed: ${names[*]}"
        return 1
    fi
    printf '%s\n' "${names[@]}" >> $stages/second_tries
    tries=$(wc -l < $stages/second_tries)
    if [ "$tries" -gt $max_second_tries ]; then
        say "$tries tests failed in all, and at most $max_second_tries may be retried; the last ones: ${names[*]}"
        return 1
    fi
    say "these tests failed and are retried, one at a time: ${names[*]}"
    ctest --preset "$preset" --rerun-failed | tee -a $stages/log
}

longest_tests() { # count
    sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*/\2 \1/p' $stages/log |
        sort -rn | awk -v count="$1" 'NR <= count'
}

# Prints the seconds in which at least one stage ran tests, on this machine and scaled to the reference machine.
test_seconds() {
    awk -v reference=$reference_seconds -v machine="$machine_seconds" '
        { for (second = $1; second < $2; ++second) if (kind[second] != "waiting") kind[second] = $3 }
        END {
            scale["computing"] = reference / machine
            scale["waiting"] = (1 + reference / machine) / 2
            for (second in kind) { ++here; there += scale[kind[second]] }
            printf "%d %d\n", here, there
        }' $stages/spans
}

report_times() {
    local here reference
    read -r here reference < <(test_seconds)
    echo "=== seconds of the longest tests"
    longest_tests 20
    echo "=== seconds of the stages"
    cat $stages/seconds
    echo "tests: $here s here, equivalent to $reference s on the reference machine, whose limit is $max_test_seconds s" \
         "(calibration: $machine_seconds s here, $reference_seconds s on the reference machine)"
    sed 's/^/retried: /' $stages/second_tries
    if [ -s $stages/failed ]; then
        say "failed stages: $(paste -sd ' ' $stages/failed)"
        exit 1
    fi
    if [ "$reference" -gt "$max_test_seconds" ]; then
        say "the tests are equivalent to $reference s on the reference machine, whose limit is $max_test_seconds s;" \
            "the longest tests are listed above"
        exit 1
    fi
}
