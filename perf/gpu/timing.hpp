// Times work on the GPU, by the GPU's clock or by the CPU's clock.
#pragma once

#include <functional>

#include "trireme/device/gpu.hpp"
#include "trireme/device/stream.hpp"

namespace trireme::perf {

struct Rounds {
    std::size_t count = 9;         // rounds; a figure is their median
    double round_seconds = 0.02;   // minimum time of a round, which sets its number of calls
    double warm_up_seconds = 0.1;  // before the first round: clocks rise, algorithms are chosen
    std::size_t operand_bytes = std::size_t{256} << 20;  // minimum of all operand sets; caches hold less
};

// Seconds per call, over the rounds.
struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    std::size_t calls = 0;  // calls per round
};

// Submits work to the GPU without waiting. `call` is the number of the call, counted from 0; it allows
// consecutive calls to use different operands.
using GpuCall = std::function<void(std::size_t call)>;

// Returns the CUDA stream of `stream`, which must be a stream on a GPU.
device::GpuQueue& queue_of(device::Stream& stream);

// Times calls by the GPU's clock. The calls of a round are queued one after the other.
Timing time_on_gpu(device::Stream& stream, const Rounds& rounds, const GpuCall& work);

// Times calls by the CPU's clock, waiting for each call.
Timing time_round_trips(device::Stream& stream, const Rounds& rounds, const GpuCall& work);

}  // namespace trireme::perf
