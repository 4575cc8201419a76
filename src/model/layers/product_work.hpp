// Matrix products, as a rank's stream counts them.
#pragma once

#include "trireme/kernels/launch.hpp"

namespace trireme::model {

// `whole` times the product's arithmetic is what this rank would have had without resizing and migration: more
// than the product's own where channels are missing, nothing for what it computes for others.
template <class Op>
void multiply(device::Stream& stream, const Op& product, double whole) {
    const double seconds = kernels::launch(stream, product);
    const double flops = product.cost().flops;
    if (stream.gpu_times) return stream.gpu_times->note_product(flops, whole * flops);
    stream.products += {.seconds = seconds, .flops = flops, .whole_flops = whole * flops};
}

}  // namespace trireme::model
