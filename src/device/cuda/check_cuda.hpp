// What CUDA's calls answer, as errors that say what to do.
#pragma once

#include <cuda_runtime_api.h>

#include "trireme/base/error.hpp"

namespace trireme::device {

// Throws ResourceError unless the call succeeded. A failure of work that was given before may come up here.
void check_cuda(cudaError_t code, const char* call, Where where = Where::here());

}  // namespace trireme::device
