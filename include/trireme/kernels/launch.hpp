// The one place where a kernel meets a backend: an operation is a struct that names its tensors, a backend is
// an overload of run(). A missing overload is a compile error.
#pragma once

#include <variant>

#include "trireme/device/clock.hpp"
#include "trireme/device/stream.hpp"

namespace trireme {

// A ghost knows the shapes and does no arithmetic.
template <class Op>
void run(GhostStream&, const Op&) {}

// Checks the shapes once, runs, takes the time that a simulated or a slowed device needs, and enters cost and
// seconds into the stream's ledger. Gives these seconds.
template <class Op>
double launch(Stream& stream, const Op& op) {
    op.check();
    const double begin = now_seconds();
    std::visit([&](auto& backend) { run(backend, op); }, stream.backend);
    const Cost cost = op.cost();
    if (stream.seconds_of) spend_seconds(stream.seconds_of(cost, stream.clock));
    const double seconds = stream.slowness.after_kernel(cost, now_seconds() - begin);
    stream.ledger.add(cost, seconds);
    return seconds;
}

}  // namespace trireme
