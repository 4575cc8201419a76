// The one place where a kernel meets a backend: an operation is a struct that names its tensors, a backend is
// an overload of run(). A missing overload is a compile error, and so is an operation without check() for its
// shapes, cost() for the ledger or tensors() for a check of values.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trireme/device/clock.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/kernels/value_check.hpp"

namespace trireme::kernels {

// A ghost knows the shapes and does no arithmetic.
template <class Op>
void run(device::GhostStream&, const Op&) {}

// On a GPU it goes on behind the processor's back: its ledger has to be settled. Who asks for each kernel's
// time has them one by one. `Work` is an operation, or several.
template <class Work>
void launch_on_gpu(device::Stream& stream, const device::Cost& cost, const Work& work) {
    if (stream.seconds_of) stream.seconds_of(cost, stream.clock);
    stream.gpu_times->begin();
    run(std::get<device::CudaStream>(stream.backend), work);
    stream.gpu_times->end(cost);
    if (stream.seconds_of) stream.settle();
}

// Runs, takes the time that a simulated or a slowed device needs, and enters cost and seconds into the stream's
// ledger. Gives these seconds, as far as they are known.
template <class Op>
double launch_unchecked(device::Stream& stream, const Op& op) {
    if (stream.gpu_times) {
        launch_on_gpu(stream, op.cost(), op);
        return 0;
    }
    const double begin = device::now_seconds();
    std::visit([&](auto& backend) { run(backend, op); }, stream.backend);
    const device::Cost cost = op.cost();
    if (stream.seconds_of) device::spend_seconds(stream.seconds_of(cost, stream.clock));
    const double seconds = stream.slowness.after_kernel(cost, device::now_seconds() - begin);
    stream.ledger.add(cost, seconds);
    if (stream.trace != nullptr && stream.trace->is_on())
        stream.trace->add({.lane = device::TraceLane::kernels,
                           .name = std::string(cost.kernel),
                           .begin = begin,
                           .end = device::now_seconds(),
                           .step = stream.trace->step()});
    return seconds;
}

// Shows the stream's check what the operation reads and what it has made.
template <class Op>
double launch_checked(device::Stream& stream, const Op& op) {
    const NamedTensors tensors = op.tensors();
    stream.check->before(stream, tensors);
    const double seconds = launch_unchecked(stream, op);
    stream.check->after(stream, op.cost().kernel, tensors);
    return seconds;
}

// Checks the shapes once, and then the values if the stream has a check. Gives the seconds that it took, as far
// as they are known.
template <class Op>
double launch(device::Stream& stream, const Op& op) {
    op.check();
    if (stream.check != nullptr) return launch_checked(stream, op);
    return launch_unchecked(stream, op);
}

// Operations of one kind, none of which reads what another one writes: all at once on a GPU, where to start
// each of them would take longer than most of them last, and one after the other elsewhere.
template <class Op>
void launch_each(device::Stream& stream, const std::vector<Op>& ops) {
    if (!stream.gpu_times || stream.check != nullptr) {
        for (const Op& op : ops) launch(stream, op);
        return;
    }
    if (ops.empty()) return;
    device::Cost sum{.kernel = ops.front().cost().kernel};
    for (const Op& op : ops) {
        op.check();
        sum.flops += op.cost().flops;
        sum.bytes += op.cost().bytes;
    }
    launch_on_gpu(stream, sum, std::span(ops));
}

}  // namespace trireme::kernels
