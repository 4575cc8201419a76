#!/usr/bin/env bash
# Compares two commits on this machine: a training step on one core, the engine's instructions, the time of a full
# build, and the size of the program. Builds contain no CUDA code and use no compiler cache.
#
#   perf/compare_commits.sh BASE [COMMIT [RESULT.json]]
#
# Seven rounds (ROUNDS) measure both commits in turns, so that both see the same machine. The medians count. The command
# resumes: measurements of earlier calls in build/compare/ are kept.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=perf/provenance.sh
. perf/provenance.sh

readonly rounds=${ROUNDS:-7} work=build/compare
base=$(git rev-parse --short "$1")
commit=$(git rev-parse --short "${2:-HEAD}")
result=${3:-}
readonly measured=$work/$base-$commit.txt
export CCACHE_DISABLE=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$work"
touch "$measured"

configure() { # commit
    local source=$work/$1
    [[ -e $source ]] || git worktree add --quiet --detach "$source" "$1"
    [[ -e $source/build/compare ]] ||
        cmake -S "$source" -B "$source/build/compare" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTRIREME_WITH_CUDA=OFF > /dev/null
    cmake --build "$source/build/compare" --target perf_cpu_step perf_engine_openmpi trireme > /dev/null
}

numbers_in() { sed -n "s/^ *\"$2\": \([0-9.e+-]*\),\{0,1\}$/\1/p" "$1"; } # file, key

build_seconds() { # commit
    local start
    cmake --build "$work/$1/build/compare" --target clean > /dev/null
    start=$(date +%s.%N)
    cmake --build "$work/$1/build/compare" --target trireme > /dev/null
    awk -v start="$start" -v end="$(date +%s.%N)" 'BEGIN { print end - start }'
    cmake --build "$work/$1/build/compare" --target perf_cpu_step perf_engine_openmpi > /dev/null
}

step_seconds() { # commit
    "$work/$1/build/compare/bin/perf_cpu_step" gpt2 4 64 7 1 "$work/step.json" > /dev/null
    numbers_in "$work/step.json" step_seconds
}

instruction_us() { # commit
    mpirun -n 2 "$work/$1/build/compare/bin/perf_engine_openmpi" 256 201 "$work/engine.json" > /dev/null
    numbers_in "$work/engine.json" median_us | sed -n 2p # of 1f1b, after that of a message
}

program_bytes() { # commit
    strip -o "$work/stripped" "$work/$1/build/compare/bin/trireme"
    stat -c %s "$work/stripped"
}

measure() { # round, what, commit
    grep -q "^$1 $2 $3 " "$measured" || echo "$1 $2 $3 $("$2" "$3")" >> "$measured"
}

median() { # what, commit
    awk -v what="$1" -v commit="$2" '$2 == what && $3 == commit { print $4 }' "$measured" | sort -g |
        awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

readonly quantities="step_seconds instruction_us program_bytes build_seconds"
configure "$base"
configure "$commit"
for what in $quantities; do
    for round in $(seq "$rounds"); do
        for each in "$base" "$commit"; do measure "$round" "$what" "$each"; done
        echo "$what: round $round of $rounds" >&2
    done
done

printf '%-16s %14s %14s %8s\n' median "$base" "$commit" ratio
for what in $quantities; do
    awk -v what="$what" -v before="$(median "$what" "$base")" -v after="$(median "$what" "$commit")" \
        'BEGIN { printf "%-16s %14.6g %14.6g %8.3f\n", what, before, after, after / before }'
done
[[ -n $result ]] || exit 0
{
    printf '{\n %s,\n "processor": "%s",\n "base": "%s",\n "compared": "%s",\n "rounds": %d' \
        "$(provenance perf/compare_commits.sh "$@")" "$(sed -n '/^model name\s*: /{s///p;q}' /proc/cpuinfo)" \
        "$base" "$commit" "$rounds"
    for what in $quantities; do
        printf ',\n "%s": {"base": %s, "compared": %s}' "$what" "$(median "$what" "$base")" "$(median "$what" "$commit")"
    done
    printf '\n}\n'
} > "$result"
