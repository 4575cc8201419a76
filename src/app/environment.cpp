#include "app/environment.hpp"

#include <cstdlib>

namespace trireme::app {

Job read_job() {
    return job_of([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace trireme::app
