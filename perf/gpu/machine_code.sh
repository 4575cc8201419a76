#!/usr/bin/env bash
# Counts registers, memory and instructions of kernels in the machine code of built objects. It needs CUDA's
# cuobjdump and no GPU.
#
#   perf/gpu/machine_code.sh [OBJECT...]
#
# The default objects are those of tensor-core attention in build/release. Per architecture and kernel it prints
# the registers, the bytes of stack (where spilled registers lie), the bytes of static shared memory, and the
# number of instructions of each kind in the kernel's code.
# Environment variable: CUOBJDUMP=cuobjdump
set -euo pipefail

fail() { echo "machine_code.sh: $*" >&2; exit 2; }

PATH=$PATH:/usr/local/cuda/bin
cuobjdump=${CUOBJDUMP:-cuobjdump}
command -v "$cuobjdump" > /dev/null ||
    fail "$cuobjdump was not found; install the CUDA toolkit, or set CUOBJDUMP to the path of cuobjdump"

objects=("$@")
if [[ $# == 0 ]]; then
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    folder=$root/build/release/CMakeFiles/trireme_kernels_gpu.dir/src/kernels/cuda/attention
    objects=("$folder"/tensor_{forward,backward}.cu.o)
fi

for object in "${objects[@]}"; do
    [[ -f $object ]] || fail "$object is missing; build Trireme with CUDA first"
    usage=$("$cuobjdump" --dump-resource-usage "$object" 2>&1) || fail "$object has no machine code: ${usage%%$'\n'*}"
    code=$("$cuobjdump" --dump-sass "$object")
    printf '%s\n%s\n' "$usage" "$code" | c++filt | awk -v object="${object##*/}" '
        function show(    kind) {
            if (name == "") return
            printf "%s %s\n   %s\n   instructions %d", object, name, used[name], count["all"]
            for (kind = 1; kind <= kinds; ++kind) printf ", %s %d", label[kind], count[label[kind]]
            print ""
        }
        function short(text) {
            sub(/^[ \t]*Function[ :]*(void )?/, "", text)
            sub(/:$/, "", text)
            gsub(/trireme::kernels::(gpu::)?|\(anonymous namespace\)::|\([A-Za-z]*\)$/, "", text)
            return text
        }
        BEGIN { kinds = split("HMMA LDSM LDS STS LDGSTS LDG STG MUFU FFMA FMUL FADD SHFL BAR LDL STL", label, " ") }
        /^ Function [^:]/ { named = short($0) }
        /REG:/ { sub(/ TEXTURE.*/, ""); sub(/^ */, ""); used[named] = $0 }
        /Function :/ { show(); name = short($0); delete count }
        /^ *\/\*[0-9a-f]+\*\/ / {
            sub(/^ *\/\*[0-9a-f]+\*\/ */, ""); sub(/^@!?U?P[0-9T]+ */, "")
            split($1, parts, /[.;]/); ++count[parts[1]]; ++count["all"]
        }
        END { show() }'
done
