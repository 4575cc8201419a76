#!/usr/bin/env bash
# Packs everything that perf/gpu/check.sh starts, for a machine with a GPU but without MPI, HDF5, Boost or a
# network.
#
#   perf/gpu/pack.sh [BUILD=build/gpu-bundle]
#
# Builds the program for any x86-64 CPU of the last ten years (v3) and for Hopper, with MPICH, whose launcher
# can run from any folder. The result is perf/gpu/bundle/bundle.tar.xz: programs, the libraries that they need,
# and corpora. The programs are linked with this machine's C library and run only with the same or a newer
# version of it.
# Environment variable: JOBS, the number of parallel build jobs; all cores if unset.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/gpu-bundle}
bundle=perf/gpu/bundle
programs=(trireme gpu_kernels_on_device gpu_model_on_device perf_gpu_rates perf_gpu_attention)

say() { echo "pack: $*" >&2; }

for tool in cmake ninja mpicc.mpich mpiexec.hydra hydra_pmi_proxy python3 strip ldd xz; do
    command -v "$tool" > /dev/null || { say "$tool was not found; on Debian, run jobs/install.sh --validation"; exit 2; }
done
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTRIREME_CPU_ARCH=x86-64-v3 -DTRIREME_WITH_SIMGRID=OFF \
    -DTRIREME_CUDA_ARCHITECTURES="80-virtual;90a-real" \
    -DMPI_C_COMPILER=mpicc.mpich -DMPIEXEC_EXECUTABLE="$(command -v mpiexec.mpich)"
if ! grep -q '^NVCC:FILEPATH=/' "$build/CMakeCache.txt"; then
    say "nvcc was not found; install CUDA 12 or later, or set CUDA_HOME"
    exit 2
fi
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target "${programs[@]}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bundle/bin" "$work/bundle/lib"
for program in "${programs[@]}"; do cp "$build/bin/$program" "$work/bundle/bin/"; done
cp -L "$(command -v mpiexec.hydra)" "$(command -v hydra_pmi_proxy)" "$work/bundle/bin/"

# Copies all libraries that the loader finds for the programs, except those of the C library and of the driver.
for program in "$work"/bundle/bin/*; do
    ldd "$program" | sed -n 's/^\t\([^ ]*\) => \(\/[^ ]*\).*/\1 \2/p'
done | sort -u | while read -r name path; do
    case $name in
        ld-linux* | libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.*) ;;
        libstdc++.so.* | libgcc_s.so.* | libcuda.so.*) ;;
        *) cp -L "$path" "$work/bundle/lib/$name" ;;
    esac
done
strip "$work"/bundle/bin/* "$work"/bundle/lib/*

for vocabulary in 50257 128256; do # the vocabularies of GPT-2 and Llama 3
    python3 perf/gpu/tokens.py "$work/$vocabulary" "$vocabulary"
    "$build/bin/trireme" prepare "$work/$vocabulary/rows.jsonl" --tokenizer "gpt2:$work/$vocabulary/vocabulary" --quiet \
        --output "$work/bundle/tokens-$vocabulary.h5"
done
"$build/bin/trireme" prepare --synthetic csn --count 300 --quiet --output "$work/bundle/text.h5"
"$build/bin/trireme" --version > "$work/bundle/version.txt"
ldd --version | sed -n '1s/.* /glibc /p' >> "$work/bundle/version.txt"

# Tests the bundle in isolation: without this shell's environment, with only the C and compiler libraries of
# this machine, and without the modules that UCX loads at run time. perf/gpu/runs.py starts the programs in the
# same way.
of_every_machine='linux-vdso|ld-linux|lib(c|m|resolv|stdc\+\+|gcc_s)\.so'
alone=(env -i "LD_LIBRARY_PATH=$work/bundle/lib" "PATH=$work/bundle/bin:/usr/bin:/bin" UCX_MODULE_DIR=/nonexistent
    "UCX_TLS=sysv,posix,self" UCX_POSIX_USE_PROC_LINK=n)
for program in "$work"/bundle/bin/*; do
    if "${alone[@]}" ldd "$program" | grep -v "$work" | grep -Ev "$of_every_machine"; then
        say "$(basename "$program") loads the libraries above from this machine, but the bundle must contain them"
        exit 3
    fi
done
for time in 1 2 3 4 5; do # failures between ranks are intermittent
    "${alone[@]}" timeout 60 "$work/bundle/bin/mpiexec.hydra" -launcher fork -n 4 trireme train --model gpt2-tiny \
        --steps 2 --batch 4 --pipe 2 --data 2 --threads 1 --device cpu --corpus "$work/bundle/text.h5" --quiet \
        --run-dir "$work/run-$time" > "$work/said" 2>&1 < /dev/null ||
        { cat "$work/said" >&2; say "training on four ranks of the bundle failed, or did not end within 60 s"; exit 3; }
done

mkdir -p "$bundle"
tar -C "$work" -cf - bundle | xz -T0 -3 > "$bundle/bundle.tar.xz"
say "$bundle/bundle.tar.xz: $(du -h "$bundle/bundle.tar.xz" | cut -f 1), $(du -sh "$work/bundle" | cut -f 1) unpacked"
