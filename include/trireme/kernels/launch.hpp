// Launches operations on the backend of a stream. An operation is a struct whose fields are its tensors and
// parameters. A backend implements an operation with an overload of run(). The operation has three functions:
// check() checks its shapes, cost() serves the work ledger, and tensors() serves value checks.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trireme/device/clock.hpp"
#include "trireme/device/clocked_device.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/kernels/value_check.hpp"

namespace trireme::kernels {

// The ghost backend has shapes but no values, so it runs no kernels.
template <class Op>
void run(device::GhostStream&, const Op&) {}

// Launches work on a GPU, which runs the work asynchronously. Stream::synchronize() later enters the measured
// time into the work ledger. On a GPU, only profilers set `predict_seconds`, as a callback whose result is
// ignored. If `predict_seconds` is set, launch_on_gpu() waits for the kernel, so that the time of each kernel
// is measured separately. `Work` is an operation or a span of operations.
template <class Work>
void launch_on_gpu(device::Stream& stream, const device::Cost& cost, const Work& work) {
    if (stream.predict_seconds) stream.predict_seconds(cost, stream.clock);
    stream.gpu_times->begin();
    run(std::get<device::CudaStream>(stream.backend), work);
    stream.gpu_times->end(cost, stream);
    if (stream.predict_seconds) stream.synchronize();
}

// Runs the operation and enters the cost and the seconds of the kernel into the stream's work ledger. If the
// device is simulated or slowed, extends the kernel to its time on this device: advances the simulated time, or
// sleeps in wall time. Returns the seconds of the kernel; 0 on a GPU, where the time is not known yet.
template <class Op>
double launch_unchecked(device::Stream& stream, const Op& op) {
    if (stream.gpu_times) {
        launch_on_gpu(stream, op.cost(), op);
        return 0;
    }
    const double begin = device::now_seconds();
    const double joules = device::read_joules(stream.meter.get());
    std::visit([&](auto& backend) { run(backend, op); }, stream.backend);
    const device::Cost cost = op.cost();
    if (stream.predict_seconds) device::busy_for(stream.predict_seconds(cost, stream.clock));
    const double seconds = stream.slowness.add_kernel(cost, device::now_seconds() - begin);
    stream.ledger.add(cost, seconds, stream.predict_clock_delay(cost, seconds),
                      device::read_joules(stream.meter.get()) - joules);
    if (stream.trace != nullptr && stream.trace->is_on())
        stream.trace->add({.lane = device::TraceLane::kernels,
                           .name = std::string(cost.kernel),
                           .begin = begin,
                           .end = device::now_seconds(),
                           .step = stream.trace->step()});
    return seconds;
}

// Runs the operation. Checks the values of its inputs before the run, and the values of its outputs after the
// run. Returns the seconds of the kernel; 0 on a GPU.
template <class Op>
double launch_checked(device::Stream& stream, const Op& op) {
    const NamedTensors tensors = op.tensors();
    stream.check->check_inputs(stream, tensors);
    const double seconds = launch_unchecked(stream, op);
    stream.check->check_outputs(stream, op.cost().kernel, tensors);
    return seconds;
}

// Checks the shapes of the operation and runs it; also checks the values if the stream has a value check.
// Returns the seconds of the kernel; 0 on a GPU, where the time is not known yet. Throws BugError if a shape is
// wrong.
template <class Op>
double launch(device::Stream& stream, const Op& op) {
    op.check();
    if (stream.check != nullptr) return launch_checked(stream, op);
    return launch_unchecked(stream, op);
}

// Launches operations of one type. No operation may read what another operation writes. A GPU executes all
// operations in a single launch, because separate launches would take longer than most of the kernels. Other
// backends, and a GPU with a value check, run the operations one after the other.
template <class Op>
void launch_each(device::Stream& stream, const std::vector<Op>& ops) {
    if (!stream.gpu_times || stream.check != nullptr) {
        for (const Op& op : ops) launch(stream, op);
        return;
    }
    if (ops.empty()) return;
    device::Cost total_cost{.kernel = ops.front().cost().kernel};
    for (const Op& op : ops) {
        op.check();
        total_cost.flops += op.cost().flops;
        total_cost.bytes += op.cost().bytes;
    }
    launch_on_gpu(stream, total_cost, std::span(ops));
}

}  // namespace trireme::kernels
