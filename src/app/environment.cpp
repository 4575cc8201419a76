#include <cstdlib>

#include "app/program.hpp"

namespace trireme::app {
namespace {

const char* read_variable(const char* name) { return std::getenv(name); }

}  // namespace

SlurmJob read_job() { return read_slurm_job(read_variable); }

ProcessStart read_start() { return read_process_start(read_variable); }

std::string read_search_path() {
    const char* path = read_variable("PATH");
    return path == nullptr ? "" : path;
}

void load_kernels_eagerly() {
    constexpr int overwrite = 0;  // a value that the user has set is kept
    ::setenv("CUDA_MODULE_LOADING", "EAGER", overwrite);
}

}  // namespace trireme::app
