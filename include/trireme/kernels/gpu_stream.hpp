// Creates streams on the rank's GPU.
#pragma once

#include <cstddef>

#include "trireme/device/stream.hpp"

namespace trireme::kernels {

// Returns a new stream. Throws ResourceError if there is no GPU or a library for it is missing.
device::Stream gpu_stream();

// Bytes of GPU memory that a stream allocates for its kernels when it is created; 0 in a build without CUDA. A
// stream allocates more only for unusual shapes.
std::size_t gpu_stream_bytes();

}  // namespace trireme::kernels
