// Launches operations on the backend of a stream. An operation is a struct that names its tensors; a backend is
// an overload of run(). Each operation also has check() for its shapes, cost() for the ledger and tensors() for
// value checks. A missing overload or member is a compile error.
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

// The ghost backend has shapes but no values, so it runs no kernel.
template <class Op>
void run(device::GhostStream&, const Op&) {}

// Launches work on a GPU, which runs it asynchronously; settle() enters its time into the ledger later. If
// `seconds_of` is set, this waits for the kernel, so that a profiler sees the time of each one. `Work` is an
// operation or a span of operations.
template <class Work>
void launch_on_gpu(device::Stream& stream, const device::Cost& cost, const Work& work) {
    if (stream.seconds_of) stream.seconds_of(cost, stream.clock);
    stream.gpu_times->begin();
    run(std::get<device::CudaStream>(stream.backend), work);
    stream.gpu_times->end(cost);
    if (stream.seconds_of) stream.settle();
}

// Runs the operation, spends the extra time of a simulated or slowed device, and enters cost and seconds into
// the stream's ledger. Returns the seconds; 0 on a GPU, where they are not known yet.
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

// Runs the operation between the calls of the stream's value check.
template <class Op>
double launch_checked(device::Stream& stream, const Op& op) {
    const NamedTensors tensors = op.tensors();
    stream.check->before(stream, tensors);
    const double seconds = launch_unchecked(stream, op);
    stream.check->after(stream, op.cost().kernel, tensors);
    return seconds;
}

// Checks the shapes and runs the operation; also checks the values if the stream has a value check. Returns the
// seconds; 0 on a GPU, where they are not known yet. Throws BugError if a shape is wrong.
template <class Op>
double launch(device::Stream& stream, const Op& op) {
    op.check();
    if (stream.check != nullptr) return launch_checked(stream, op);
    return launch_unchecked(stream, op);
}

// Launches operations of one kind, none of which reads what another one writes. On a GPU they are launched
// together, because separate launches would take longer than most of the kernels. Elsewhere they run in order.
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
