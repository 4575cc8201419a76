#!/usr/bin/env bash
# Installs the packages that Trireme is built with, if Debian's apt is available. Elsewhere it searches the
# loaded modules and Spack packages and says exactly what is missing.
#
#   jobs/install.sh                 packages for building and training
#   jobs/install.sh --validation    also packages for tests: the second MPI library, Boost.Context, HDF5's tools,
#                                   Slurm, a browser
#
# Exit codes: 0 if everything is present, 2 for a wrong option, 3 if something is missing.
set -euo pipefail

wanted=(build-essential cmake ninja-build ccache pkg-config libopenmpi-dev openmpi-bin libhdf5-dev libdnnl-dev
    libboost-program-options-dev nlohmann-json3-dev libfmt-dev libpcre2-dev zlib1g-dev libgtest-dev
    libbenchmark-dev libsimgrid-dev)
case "${1:-}" in
    "") ;;
    --validation)
        wanted+=(libmpich-dev mpich libboost-context-dev hdf5-tools slurm-wlm munge iproute2 shellcheck)
        # Without a browser, the test that opens a report in one is skipped.
        if apt-cache show chromium-headless-shell > /dev/null 2>&1; then wanted+=(chromium-headless-shell); fi
        ;;
    *) echo "jobs/install.sh: unknown option '$1'; the only option is --validation" >&2; exit 2 ;;
esac

say() { echo "install: $*" >&2; }

# --- Debian -------------------------------------------------------------------------------------------------
packages_missing() {
    local package
    for package in "${wanted[@]}"; do
        if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
            echo "$package"
        fi
    done
}

# Prints the command prefix that runs a command as root, or fails if there is none. A sudo that would ask for a
# password is used only on a terminal.
become_root() {
    if [ "$(id -u)" -eq 0 ]; then
        echo env
    elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        echo sudo
    else
        return 1
    fi
}

# Installs the packages in its arguments. All output of apt goes to stderr.
apt_install() {
    local root
    root=$(become_root) || { say "you are not root and cannot use sudo, so apt cannot install: $*"; return 1; }
    say "installing $*"
    "$root" apt-get update >&2 || { say "apt-get update failed: is there a network?"; return 1; }
    "$root" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@" >&2 ||
        { say "apt-get install failed"; return 1; }
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    mapfile -t missing < <(packages_missing)
    if [ "${#missing[@]}" -eq 0 ]; then
        exit 0
    fi
    if apt_install "${missing[@]}"; then
        exit 0
    fi
    say "searching loaded modules and Spack packages instead"
fi

# --- modules and Spack ----------------------------------------------------------------------------------------
lacks=0
lack() { # description, Debian package, Spack package
    say "missing: $1    (Debian: $2; Spack: $3)"
    lacks=$((lacks + 1))
}

compiler=${CXX:-c++}

# Prints the include folders of modules and of `spack load`. The compiler finds its own folders and CPATH by
# itself.
include_flags() {
    local prefix
    local IFS=:
    for prefix in ${CMAKE_PREFIX_PATH:-} ${HDF5_ROOT:-} ${HDF5_DIR:-} ${BOOST_ROOT:-} ${DNNLROOT:-}; do
        if [ -d "$prefix/include" ]; then
            printf '%s\0' "-I$prefix/include"
        fi
    done
}
mapfile -d '' -t includes < <(include_flags)

has_header() {
    "$compiler" -std=c++20 -DPCRE2_CODE_UNIT_WIDTH=8 "${includes[@]}" -E -x c++ - >/dev/null 2>&1 <<<"#include <$1>"
}

need_command() { # command, Debian, Spack
    command -v "$1" >/dev/null || lack "the command $1" "$2" "$3"
}

need_header() { # header, Debian, Spack
    has_header "$1" || lack "the header <$1>" "$2" "$3"
}

need_package() { # pkg-config name, header, Debian, Spack
    pkg-config --exists "$1" 2>/dev/null || has_header "$2" || lack "the pkg-config package $1 or the header <$2>" "$3" "$4"
}

if has_header span; then
    need_package fmt fmt/core.h libfmt-dev fmt
    need_package nlohmann_json nlohmann/json.hpp nlohmann-json3-dev nlohmann-json
    need_package libpcre2-8 pcre2.h libpcre2-dev pcre2
    need_package zlib zlib.h zlib1g-dev zlib
    need_package gtest gtest/gtest.h libgtest-dev googletest
    need_header boost/program_options.hpp libboost-program-options-dev "boost +program_options"
    has_header hdf5.h || command -v h5cc >/dev/null || lack "the header <hdf5.h> or the command h5cc" libhdf5-dev hdf5
    has_header oneapi/dnnl/dnnl.h || has_header cblas.h || has_header openblas/cblas.h ||
        lack "the header <oneapi/dnnl/dnnl.h> or <cblas.h>" libdnnl-dev "onednn, or openblas"
else
    lack "a C++20 compiler ($compiler does not find <span>; set CXX to GCC 12 or later)" build-essential gcc@12
fi
need_command cmake cmake cmake
need_command ninja ninja-build ninja
need_command pkg-config pkg-config pkgconf
need_command mpicc libopenmpi-dev openmpi
command -v mpirun >/dev/null || command -v srun >/dev/null || lack "the command mpirun or srun" openmpi-bin openmpi
command -v smpirun >/dev/null || say "without the command smpirun, nothing can be simulated    (Debian: libsimgrid-dev;" \
    "Spack: simgrid +smpi)"

if [ "$lacks" -gt 0 ]; then
    say "missing items: $lacks; load or install them (module load, spack load, or apt-get install as root)," \
        "then run jobs/install.sh again"
    exit 3
fi
