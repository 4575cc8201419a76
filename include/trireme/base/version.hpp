// What this program is, and what it was built on.
#pragma once

#include <string>

#include "trireme/base/error.hpp"

namespace trireme {

struct BuildFacts {
    std::string version;       // "0.1.0"
    std::string revision;      // of the sources, "2e29447 with changes"; empty: not built from a repository
    std::string compiler;      // "GNU 12.2.0, Release, -march=native"
    std::string cpu;           // that src/kernels/cpu was compiled for: "haswell"
    std::string cpu_features;  // that it may use, as /proc/cpuinfo names them: "avx2 fma"
    std::string hdf5;          // "1.10.8"
    std::string matrices;      // the library of matrix products: "oneDNN 2.6.3"
    bool has_cuda;             // with what runs on NVIDIA's GPUs
};

BuildFacts build_facts();

// Returns "0.1.0 (2e29447 with changes)".
inline std::string version() {
    const BuildFacts facts = build_facts();
    return cat(facts.version, " (", facts.revision.empty() ? "revision unknown" : facts.revision, ")");
}

}  // namespace trireme
