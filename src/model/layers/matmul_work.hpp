// Launches the matmuls of projections and records their time and flops in the stream.
#pragma once

#include "trireme/kernels/launch.hpp"

namespace trireme::model {

// Launches a matmul and adds it to stream.matmuls (or stream.gpu_times). Without resizing and offloading, this
// rank would execute a matmul with `whole_ratio` times the flops instead: the ratio is 1 for a normal matmul,
// above 1 if channels are skipped or offloaded, and 0 for offloaded work of other ranks.
template <class Op>
void launch_matmul(device::Stream& stream, const Op& matmul, double whole_ratio) {
    const double seconds = kernels::launch(stream, matmul);
    const double flops = matmul.cost().flops;
    if (stream.gpu_times) return stream.gpu_times->mark_as_matmul(flops, whole_ratio * flops);
    stream.matmuls += {.seconds = seconds, .flops = flops, .full_flops = whole_ratio * flops};
}

}  // namespace trireme::model
