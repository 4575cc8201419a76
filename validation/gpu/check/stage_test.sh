#!/usr/bin/env bash
# Runs a stage of perf/gpu/check.sh from end to end. A script imitates nvidia-smi, and the program computes on
# the CPU. A part that fails does not affect the others, and a part that has a result is not repeated.
#
#   validation/gpu/check/stage_test.sh TRIREME
set -euo pipefail

program=$(realpath "$1")
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "check: $*" >&2; exit 1; }

if ! command -v python3 > /dev/null; then
    echo "skipped: python3 is missing"
    exit 77
fi
mkdir -p "$work/perf" "$work/unpacked/bundle/bin" "$work/unpacked/bundle/lib" "$work/path"
cp -r "$home/perf/gpu" "$work/perf/gpu"
rm -rf "$work/perf/gpu/bundle"
sed -i 's/^MODEL, VOCABULARY = .*/MODEL, VOCABULARY = "gpt2-tiny", 512/; s/^SAMPLES = .*/SAMPLES = 1/
    s/^SHORT, LONG, PERIOD = [^#]*/SHORT, LONG, PERIOD = 16, 256, 2/; s/^STEPS, WARM_UP = .*/STEPS, WARM_UP = 6, 2/' \
    "$work/perf/gpu/memory_part.py" # a part that a CPU computes in seconds
mkdir "$work/perf/gpu/bundle"

cat > "$work/path/nvidia-smi" << 'END'
#!/bin/sh
case "$*" in
    *-lms*) while sleep 0.1; do echo "1000, 300.0, 1980"; done ;;
    *name,driver*) echo "NVIDIA H999 SXM, 1.0, 80000, 1980, 2600, 700, 30, 345" ;;
    *) echo "NVIDIA H999 SXM" ;;
esac
END
cat > "$work/unpacked/bundle/bin/trireme" << END
#!/usr/bin/env bash
[[ \$1 == profile ]] && exit 3
[[ \$1 == doctor ]] && exit 0
words=()
for word in "\$@"; do
    case \$word in cuda) word=cpu ;; bf16) word=f32 ;; 1024) word=16 ;; esac
    words+=("\$word")
done
"$program" "\${words[@]}" || exit
case " \$* " in *" llama-tiny "*) echo "trireme: the GPU was lost at the end" >&2; exit 3 ;; esac
END
cat > "$work/unpacked/bundle/bin/perf_gpu_rates" << 'END'
#!/bin/sh
echo '{"gemm": {"side": 8192, "flops_per_s": 8e14}, "copies": {"to_the_gpu": {"bytes_per_s": 5e10},
    "from_the_gpu": {"bytes_per_s": 5e10}}}' > "$1"
END
cat > "$work/unpacked/bundle/bin/perf_gpu_attention" << 'END'
#!/bin/sh
echo "the GPU fell off" >&2
exit 3
END
for tested in kernels model; do # each test looks for the records, which only the model tests read
    cat > "$work/unpacked/bundle/bin/gpu_${tested}_on_device" << 'END'
#!/bin/sh
[ -e "$TRIREME_RECORDS/gpt2_tied.h5" ] && echo "[       OK ] Some.Test (1 ms)"
END
done
mkdir -p "$work/validation/reference"
touch "$work/validation/reference/gpt2_tied.h5"
chmod +x "$work"/path/* "$work"/unpacked/bundle/bin/*
export PATH=$work/path:$PATH TMPDIR=$work SCRATCH=$work
export MODELS="gpt2-tiny llama-tiny" BATCH_GPT2_TINY=2 BATCH_LLAMA_TINY=2
unset OUT
"$program" prepare --synthetic csn --count 20 --quiet --output "$work/unpacked/bundle/tokens-50257.h5"
cp "$work/unpacked/bundle/tokens-50257.h5" "$work/unpacked/bundle/tokens-128256.h5"
echo "trireme, of the test" > "$work/unpacked/bundle/version.txt"
tar -C "$work/unpacked" -cf "$work/perf/gpu/bundle/bundle.tar.xz" bundle

status=0
"$work/perf/gpu/check.sh" measure > "$work/said" 2>&1 || status=$?
results=$work/perf/results/gpu-h999
[[ $status == 1 ]] || fail "a stage with a part that failed ended with $status: $(cat "$work/said")"
lost="exit code 3: trireme: the GPU was lost at the end"
for line in "rates: done" "attention: failed: exit code 3: the GPU fell off" "train gpt2-tiny: done" \
    "train llama-tiny: failed: $lost"; do
    grep -qF "$line" "$work/said" || fail "the output lacks '$line': $(cat "$work/said")"
done
python3 - "$results/measure.json" << 'END'
import json, sys
record = json.load(open(sys.argv[1]))
run = record["parts"]["train gpt2-tiny"]
assert record["device"] == "NVIDIA H999 SXM", record
assert (run["steps"], run["batch"]) == (50, 2), run
assert run["tokens_per_s"] > 0 and run["mfu"] > 0 and run["nvidia_smi"]["most_memory_mib"] == 1000, run
assert "joules_per_token" not in run, run
memory = record["parts"]["memory"]  # on a CPU, resident memory grows by other data too
assert (memory["model"], memory["offloading_steps"]) == ("gpt2-tiny", 2) and memory["offloaded_bytes"] > 0, memory
assert "losses" not in memory.get("why", ""), memory
assert memory["fitted"]["predicted_bytes"] <= memory["limit_bytes"] < memory["kept"]["predicted_bytes"], memory
END
for row in "| gpt2-tiny | Trireme, 2 x 1,024 |" "| llama-tiny | Trireme ($lost), 2 x 1,024 |"; do
    grep -qF "$row" "$results/table.md" || fail "the table has no row '$row': $(cat "$results/table.md")"
done

"$work/perf/gpu/check.sh" measure "$work/again" > "$work/said" 2>&1 || true
for line in "rates: already done" "attention: failed" "train gpt2-tiny: already done"; do
    grep -qF "$line" "$work/said" || fail "the output lacks '$line' the second time: $(cat "$work/said")"
done

LIMIT=8 "$work/perf/gpu/check.sh" test > "$work/said" 2>&1 || true
for line in "kernels: done" "models: done"; do
    grep -qF "$line" "$work/said" || fail "the output lacks '$line' of the stage test: $(cat "$work/said")"
done
