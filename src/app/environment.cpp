#include "app/environment.hpp"

#include <cstdlib>

namespace trireme::app {
namespace {

const char* value_of(const char* name) { return std::getenv(name); }

}  // namespace

Job read_job() { return job_of(value_of); }

Start read_start() { return start_of(value_of); }

std::string search_path() {
    const char* path = value_of("PATH");
    return path == nullptr ? "" : path;
}

}  // namespace trireme::app
