// Converts error codes of CUDA to exceptions that say what to do.
#pragma once

#include <cuda_runtime_api.h>

#include "trireme/base/error.hpp"

namespace trireme::device {

// Throws ResourceError unless `code` is cudaSuccess. `call` is the subject of the message: the name of the CUDA
// function, or a description of the work that failed. The error may be a failure of work that was queued before
// that call.
void check_cuda(cudaError_t code, const char* call, SourcePosition where = SourcePosition::here());

}  // namespace trireme::device
