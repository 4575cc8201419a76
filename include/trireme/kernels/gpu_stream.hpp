// Creates streams on the rank's GPU.
#pragma once

#include <cstddef>

#include "trireme/device/stream.hpp"

namespace trireme::kernels {

// Returns a new stream on the GPU of this rank. Throws ResourceError if there is no GPU or if a library that
// the GPU needs is missing.
device::Stream make_gpu_stream();

// Returns the bytes of GPU memory (scratch, uploads, matmul workspace) that a stream allocates when it is
// created; 0 in a build without CUDA. A stream allocates more only for unusual shapes.
std::size_t count_gpu_stream_bytes();

}  // namespace trireme::kernels
