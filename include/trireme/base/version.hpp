// The version of this program, and the compiler and libraries that it was built with.
#pragma once

#include <string>

#include "trireme/base/error.hpp"

namespace trireme {

// Facts about the build. Texts in quotes are examples.
struct BuildFacts {
    std::string version;       // "0.1.0"
    std::string revision;      // Git revision of the sources: "2e29447 with changes"; empty if unknown
    std::string compiler;      // "GNU 12.2.0, Release, -march=native"
    std::string cpu;           // target processor of src/kernels/cpu: "haswell"
    std::string cpu_features;  // features that src/kernels/cpu may use, as /proc/cpuinfo names them: "avx2 fma"
    std::string hdf5;          // version of the HDF5 library: "1.10.8"
    std::string matmul_library;  // the library of matmuls: "oneDNN 2.6.3"
    bool has_cuda;               // true if the build contains the code for NVIDIA GPUs
};

BuildFacts make_build_facts();

// Returns a text such as "0.1.0 (2e29447 with changes)".
inline std::string describe_version() {
    const BuildFacts facts = make_build_facts();
    return cat(facts.version, " (", facts.revision.empty() ? "revision unknown" : facts.revision, ")");
}

}  // namespace trireme
