// Turns error codes of CUDA into exceptions that say what to do.
#pragma once

#include <cuda_runtime_api.h>

#include "trireme/base/error.hpp"

namespace trireme::device {

// Throws ResourceError unless the call succeeded. It may also report a failure of work that was queued earlier.
void check_cuda(cudaError_t code, const char* call, Where where = Where::here());

}  // namespace trireme::device
