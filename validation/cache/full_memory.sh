#!/usr/bin/env bash
# Trains with a cache of frozen outputs while /dev/shm is nearly full, or becomes full during the run, and checks
# that the log says so and that the losses are those of a run without a cache.
#
#   validation/cache/full_memory.sh build/release/bin/trireme
#
# It mounts a small /dev/shm of its own, which needs root. Without that right it ends with code 77.
set -euo pipefail

program=$(realpath "${1:?usage: validation/cache/full_memory.sh PROGRAM}")
if [ "${2:-}" != mounted ]; then
    unshare --mount true 2> /dev/null || { echo "skipped: unshare --mount is not allowed"; exit 77; }
    exec unshare --mount "$0" "$program" mounted
fi
mount -t tmpfs -o size=3M tmpfs /dev/shm
work=$(mktemp -d /tmp/trireme-cache-XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "full_memory: $*" >&2; exit 1; }

# Leaves about 300 KB of /dev/shm.
fill() { dd if=/dev/zero of=/dev/shm/fill bs=1k count=2700 status=none; }

# Trains with --cache $1 into the run directory $2.
train() {
    "$program" train --corpus corpus.h5 --model gpt2-tiny --layers 4 --width 32 --heads 4 --positions 32 --batch 8 \
        --dropout 0.1 --device cpu --threads 1 --steps 120 --log-every 1 --freeze schedule \
        --freeze-every 50 --cache "$1" --run-dir "$2"
}
losses_of() { sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),.*}$/\1 \2/p' "$1/steps.jsonl"; }
expect_equal_losses() {
    cmp -s <(losses_of "$1") <(losses_of without) || fail "the losses of $1 differ from those without a cache"
}

"$program" prepare --synthetic csn --count 16 --quiet --output corpus.h5
train off without > without.log

# The run begins with enough memory. It is gone before the first block freezes.
train on full > full.log &
until grep -qE '^step ' full.log 2> /dev/null; do
    kill -0 $! || fail "the run ended: $(cat full.log)"
    sleep 0.05
done
kill -STOP $!
! grep -q ' frozen [1-9]' full.log || fail "the first block was frozen too early"
fill
kill -CONT $!
wait $!
grep -q '/dev/shm of .* is full, so that its cache holds fewer samples' full.log || fail "the log does not say so"
expect_equal_losses full

# The run begins with too little memory.
train on small > small.log
read -r placed all < <(sed -n 's/^cache .* per node: \([0-9]*\) of \([0-9]*\) training samples.*/\1 \2/p' small.log)
((placed > 0 && placed < all)) || fail "$placed of $all samples have a place"
grep -q 'cache [1-9][0-9]* %' small.log || fail "no sample was read"
expect_equal_losses small
