// Streams on the GPU in use.
#pragma once

#include "trireme/device/stream.hpp"

namespace trireme {

// Throws ResourceError where there is no GPU, or a library for it is missing.
Stream gpu_stream();

}  // namespace trireme
