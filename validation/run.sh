#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests.
#
#   validation/run.sh           everything
#   validation/run.sh --fast    one build, without the sanitizers
#
# The stages:
#   build       the release: programs and tests
#   cluster     tests under Slurm and tests that kill ranks; they mostly wait, so the sanitizers are built beside them
#   sanitizers  unit tests, the emulated GPU's kernels, and rank tests on two ranks, under the address and
#               undefined-behaviour sanitizers; tests of threads under ThreadSanitizer
#   release     all other tests
#   variant     another configuration, chosen by the day, is built and trains a model: see variants.sh
# It ends with the seconds of each stage and of the longest tests, and fails if the tests took too long.
#
# Tests of real corpora run if TRIREME_TEST_DATA names their folder; otherwise they skip with a line.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source validation/stages.sh

sanitizers=yes
case "${1:-}" in
    "") ;;
    --fast) sanitizers=no ;;
    *) echo "validation/run.sh: unknown option '$1'; it knows --fast" >&2; exit 2 ;;
esac
if [ -z "${TRIREME_TEST_DATA:-}" ]; then
    say "TRIREME_TEST_DATA names no folder, so tests of real corpora skip"
fi
cores=$(nproc)

build_release() {
    local preset=release-tests # all but the unit tests, which run under the sanitizers
    [ $sanitizers = yes ] || preset=release
    cmake --preset release
    cmake --build --preset $preset --parallel "$cores"
}

build_sanitizers() {
    cmake --preset asan
    nice -n 10 cmake --build --preset asan --parallel "$cores"
    cmake --preset tsan
    nice -n 10 cmake --build --preset tsan --parallel "$cores"
}

test_cluster() {
    if [ $sanitizers = yes ]; then
        build_sanitizers > build/asan.log 2>&1 &
        local build=$!
        run_tests release --label-regex '^(slurm|kills)$'
        wait $build || { tail -n 50 build/asan.log; say "the build with sanitizers failed"; return 1; }
    else
        run_tests release --label-regex '^(slurm|kills)$'
    fi
}

test_sanitizers() {
    run_tests tsan && run_tests asan --parallel "$cores"
}

test_release() {
    local elsewhere='^(slurm|kills|unit|emulated)$'
    [ $sanitizers = yes ] || elsewhere='^(slurm|kills)$'
    run_tests release --label-exclude "$elsewhere" --parallel "$cores"
}

jobs/install.sh --validation
mkdir -p build
begin_log build/tests.log
stage build build_release
calibrate
stage cluster test_cluster
[ $sanitizers = no ] || stage sanitizers test_sanitizers
stage release test_release
[ $sanitizers = no ] || stage variant validation/variants.sh --today
report_times
