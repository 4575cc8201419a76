// Launches the matmuls of projections and records their time and flops in the stream.
#pragma once

#include "trireme/kernels/launch.hpp"

namespace trireme::model {

// Launches a matmul and adds its time and flops to stream.gpu_times or, if that is null, to stream.matmuls.
// `full_flops_ratio` is the number of flops that this rank would execute without resizing and offloading,
// divided by the number of flops of `matmul`. The ratio is 1 for a normal matmul, above 1 if channels are
// skipped or offloaded, and 0 for offloaded work of other ranks.
template <class Op>
void launch_matmul(device::Stream& stream, const Op& matmul, double full_flops_ratio) {
    const double seconds = kernels::launch(stream, matmul);
    const device::Cost cost = matmul.cost();
    device::MatmulWork work{.flops = cost.flops, .full_flops = full_flops_ratio * cost.flops, .calls = 1};
    if (stream.expect_seconds) work.expected_seconds = stream.expect_seconds(cost, /*clock=*/1);
    if (stream.gpu_times) return stream.gpu_times->mark_as_matmul(work);
    work.seconds = seconds;
    work.clock_delay = stream.predict_clock_delay(cost, seconds);
    stream.matmuls += work;
}

}  // namespace trireme::model
