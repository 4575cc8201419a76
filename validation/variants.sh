#!/usr/bin/env bash
# Builds and tests configurations other than the release.
#
#   validation/variants.sh              all variants, for nightly runs: each is built completely and passes its tests.
#                                       With Clang, each fuzz target also searches for new inputs for a minute
#   validation/variants.sh NAME...      the named variants
#   validation/variants.sh --today      one variant, chosen by the day: its program is built and trains a model
#
# A variant that has passed at this commit is skipped: build/variant-NAME.passed holds the commit.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

variants=(all-sizes no-cuda no-onednn no-simgrid no-unity debug mpich)
declare -A options=(
    [all-sizes]="-DCMAKE_BUILD_TYPE=Release -DTRIREME_ALL_SIZES=ON"
    [no-cuda]="-DCMAKE_BUILD_TYPE=Release -DTRIREME_WITH_CUDA=OFF"
    [no-onednn]="-DCMAKE_BUILD_TYPE=Release -DTRIREME_WITH_CUDA=OFF -DDNNL_LIBRARY=DNNL_LIBRARY-NOTFOUND"
    [no-simgrid]="-DCMAKE_BUILD_TYPE=Release -DTRIREME_WITH_CUDA=OFF -DTRIREME_WITH_SIMGRID=OFF"
    [no-unity]="-DCMAKE_BUILD_TYPE=Release -DTRIREME_WITH_CUDA=OFF -DTRIREME_UNITY=OFF"
    [debug]="-DCMAKE_BUILD_TYPE=Debug -DTRIREME_WITH_CUDA=OFF"
    [mpich]="-DCMAKE_BUILD_TYPE=Release -DTRIREME_WITH_CUDA=OFF -DMPI_C_COMPILER=mpicc.mpich -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.mpich"
)

say() { echo "variants: $*" >&2; }

# Configures a variant. Its folder is as deep as build/release, because the compiler cache compares relative
# paths: it then reuses what the release build compiled with the same options.
configure() { # name
    say "$1: ${options[$1]}"
    # shellcheck disable=SC2086  # the options are several words
    cmake -G Ninja -S . -B "build/variant-$1" ${options[$1]}
}

# Builds the program and trains a small model with it on one rank.
try_variant() { # name
    local build=build/variant-$1
    configure "$1"
    cmake --build "$build" --parallel "$(nproc)" --target trireme
    rm -rf "$build/trial"
    mkdir "$build/trial"
    "$build/bin/trireme" prepare --synthetic csn --count 20 --quiet --output "$build/trial/corpus.h5"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$build/bin/trireme" train --quiet --threads 1 \
        --corpus "$build/trial/corpus.h5" --steps 20 --batch 4 --layers 1 --width 16 --heads 2 --run-dir "$build/trial/run"
    grep -q '"verdict": "VALID"' "$build/trial/run/summary.json" || { say "$1: the run is not VALID"; return 1; }
}

test_variant() { # name
    local build=build/variant-$1 commit
    commit=$(git describe --always --dirty)
    if [ "$(cat "$build.passed" 2> /dev/null)" = "$commit" ]; then
        say "$1 has already passed at $commit"
        return 0
    fi
    configure "$1"
    cmake --build "$build" --parallel "$(nproc)"
    ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)"
    echo "$commit" > "$build.passed"
}

mkdir -p build
fuzz=no
case "${1:-}" in
    --today)
        today=$((10#$(date +%j) % ${#variants[@]}))
        try_variant "${variants[today]}"
        exit
        ;;
    "") fuzz=yes ;;
    *) variants=("$@") ;;
esac
for variant in "${variants[@]}"; do
    [ -n "${options[$variant]:-}" ] || { say "there is no variant '$variant'; the variants are ${!options[*]}"; exit 2; }
done
failed=()
for variant in "${variants[@]}"; do
    test_variant "$variant" || failed+=("$variant")
done
if [ $fuzz = yes ] && command -v clang++ > /dev/null; then
    validation/fuzz/run.sh 60 || failed+=(fuzz)
fi
[ "${#failed[@]}" -eq 0 ] || { say "failed: ${failed[*]}"; exit 1; }
