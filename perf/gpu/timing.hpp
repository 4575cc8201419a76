// What work takes on the GPU, by the GPU's own clock.
#pragma once

#include <functional>

#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::perf {

struct Rounds {
    std::size_t count = 9;         // whose median counts
    double round_seconds = 0.02;   // that each takes at least, in as many calls as that needs
    double warm_up_seconds = 0.1;  // before the first of them: clocks rise, algorithms are chosen
    std::size_t operand_bytes = std::size_t{256} << 20;  // that calls take turns with: beyond any cache
};

// Seconds of one call, over the rounds.
struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    std::size_t calls = 0;  // of a round
};

// Gives the GPU its work and does not wait. Calls count from 0, so that they may take turns with operands.
using GpuCall = std::function<void(std::size_t call)>;

device::GpuQueue& queue_of(device::Stream& stream);
Timing time_on_gpu(device::Stream& stream, const Rounds& rounds, const GpuCall& work);

// The same by the processor's clock, where every call is waited for.
Timing time_round_trips(device::Stream& stream, const Rounds& rounds, const GpuCall& work);

}  // namespace trireme::perf
