// Launches the matmuls of projections and accounts for them on the stream.
#pragma once

#include "trireme/kernels/launch.hpp"

namespace trireme::model {

// Launches a matmul and adds it to stream.products (or stream.gpu_times). `whole` times its flops are the flops
// that this rank would have without resizing and migration. `whole` is above 1 if channels are skipped or
// offloaded, and 0 for matmuls of other ranks.
template <class Op>
void multiply(device::Stream& stream, const Op& product, double whole) {
    const double seconds = kernels::launch(stream, product);
    const double flops = product.cost().flops;
    if (stream.gpu_times) return stream.gpu_times->note_product(flops, whole * flops);
    stream.products += {.seconds = seconds, .flops = flops, .whole_flops = whole * flops};
}

}  // namespace trireme::model
