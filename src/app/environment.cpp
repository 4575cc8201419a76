#include <cstdlib>

#include "app/program.hpp"

namespace trireme::app {
namespace {

const char* value_of(const char* name) { return std::getenv(name); }

}  // namespace

SlurmJob read_job() { return job_of(value_of); }

Start read_start() { return start_of(value_of); }

std::string search_path() {
    const char* path = value_of("PATH");
    return path == nullptr ? "" : path;
}

void have_kernels_loaded_at_start() {
    constexpr int keeps_what_is_set = 0;
    ::setenv("CUDA_MODULE_LOADING", "EAGER", keeps_what_is_set);
}

}  // namespace trireme::app
