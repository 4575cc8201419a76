#!/usr/bin/env bash
# Runs every fuzz target with libFuzzer for a given time, one after the other. Needs Clang and its runtime
# (Debian: clang, libclang-rt-14-dev).
#
#   validation/fuzz/run.sh [SECONDS] [TARGET...]    default: 600 seconds per target, all targets
#
# New inputs go to build/fuzz/corpus/<target>, from which a later call starts. A target that has finished at
# this commit is noted in build/fuzz/done and skipped by the next call, so a stopped run can be continued.
# Failing inputs are kept in build/fuzz/findings/<target>-*. Fix the fault and copy the input to
# validation/fuzz/corpus/<target>, which ctest replays.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-600}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for file in validation/fuzz/*_fuzz.cpp; do
        name=$(basename "$file")
        targets+=("${name%_fuzz.cpp}")
    done
fi

if [ ! -f build/fuzz/build.ninja ]; then
    cmake -G Ninja -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTRIREME_WITH_CUDA=OFF -DTRIREME_WITH_SIMGRID=OFF -DTRIREME_WERROR=OFF \
          -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ . >&2
fi
mkdir -p build/fuzz/findings
export LSAN_OPTIONS="suppressions=$PWD/validation/asan/lsan.supp:print_suppressions=0"
touch build/fuzz/done
commit=$(git describe --always --dirty)
failed=0
for target in "${targets[@]}"; do
    if grep -qx "$target $seconds $commit" build/fuzz/done; then
        echo "$target: already ran for $seconds seconds at $commit" >&2
        continue
    fi
    ninja -C build/fuzz "fuzz_$target" >&2
    mkdir -p "build/fuzz/corpus/$target"
    dictionary=()
    [ -f "validation/fuzz/$target.dict" ] && dictionary=("-dict=validation/fuzz/$target.dict")
    longest=4096
    echo "=== $target: $seconds seconds ===" >&2
    if "build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -max_len="$longest" -timeout=20 -rss_limit_mb=4096 \
        -print_final_stats=1 "-artifact_prefix=build/fuzz/findings/$target-" "${dictionary[@]}" \
        "build/fuzz/corpus/$target" "validation/fuzz/corpus/$target"; then
        echo "$target $seconds $commit" >>build/fuzz/done
    else
        echo "$target: failed; the failing input is build/fuzz/findings/$target-*" >&2
        failed=1
    fi
done
exit "$failed"
