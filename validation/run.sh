#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests.
#
#   validation/run.sh           everything
#   validation/run.sh --fast    one build, without the sanitizers
#
# The stages:
#   build       builds the release: programs and tests
#   cluster     runs the tests under Slurm and the tests that kill ranks
#   sanitizers  runs at a lower priority at the same time as the cluster tests, which mostly wait: builds and runs unit
#               tests, the emulated GPU's kernels, and rank tests on two ranks under the address and
#               undefined-behaviour sanitizers; runs tests of threads under ThreadSanitizer
#   release     runs all other tests
#   variant     builds another configuration, chosen by the day, and trains a model with it: see variants.sh
# The script ends with the seconds of each stage and of the longest tests. It fails if the tests took too long.
#
# Tests of real corpora run if TRIREME_TEST_DATA names their folder; otherwise they are skipped with a message.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source validation/stages.sh

sanitizers=yes
case "${1:-}" in
    "") ;;
    --fast) sanitizers=no ;;
    *) echo "validation/run.sh: unknown option '$1'; the only option is --fast" >&2; exit 2 ;;
esac
if [ -z "${TRIREME_TEST_DATA:-}" ]; then
    say "TRIREME_TEST_DATA is not set, so tests of real corpora are skipped"
fi
cores=$(nproc)

build_release() {
    local preset=release-tests # excludes the unit tests that run under the sanitizers
    [ $sanitizers = yes ] || preset=release
    cmake --preset release
    cmake --build --preset $preset --parallel "$cores"
}

test_cluster() {
    run_tests waiting release --label-regex '^(slurm|kills)$' --parallel 4 # one Slurm test and one kill test at a time
}

build_sanitizers() {
    for preset in asan tsan; do
        cmake --preset $preset && cmake --build --preset $preset --parallel "$cores" || return 1
    done
}

test_sanitizers() {
    if ! build_sanitizers > $stages/build.log 2>&1; then
        tail -n 50 $stages/build.log
        say "the build with sanitizers failed"
        return 1
    fi
    run_tests computing tsan && run_tests computing asan --parallel "$cores"
}

test_cluster_and_sanitizers() {
    (
        renice -n 10 $BASHPID > /dev/null
        stage sanitizers test_sanitizers
    ) > $stages/sanitizers.log 2>&1 &
    trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
    stage cluster test_cluster
    wait
    trap - EXIT
    cat $stages/sanitizers.log
}

test_release() {
    local elsewhere='^(slurm|kills|unit|emulated)$'
    [ $sanitizers = yes ] || elsewhere='^(slurm|kills)$'
    run_tests computing release --label-exclude "$elsewhere" --parallel $((cores + 1)) # some tests only wait
}

jobs/install.sh --validation
mkdir -p build
begin_stages
stage build build_release
calibrate
if [ $sanitizers = yes ]; then test_cluster_and_sanitizers; else stage cluster test_cluster; fi
stage release test_release
calibrate
[ $sanitizers = no ] || stage variant validation/variants.sh --today
report_times
