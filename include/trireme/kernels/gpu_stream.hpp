// Streams on the GPU in use.
#pragma once

#include <cstddef>

#include "trireme/device/stream.hpp"

namespace trireme::kernels {

// Throws ResourceError where there is no GPU, or a library for it is missing.
device::Stream gpu_stream();

// Bytes of the GPU's memory that a stream takes when it is made, for its kernels. It takes more only for shapes
// out of the ordinary. 0 in a program without CUDA.
std::size_t gpu_stream_bytes();

}  // namespace trireme::kernels
