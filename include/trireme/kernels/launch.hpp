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

// Checks the shapes once, runs, as slowly as the stream is, and enters cost and seconds into its ledger.
template <class Op>
void launch(Stream& stream, const Op& op) {
    op.check();
    const double begin = now_seconds();
    std::visit([&](auto& backend) { run(backend, op); }, stream.backend);
    stream.ledger.add(op.cost(), stream.slowness.after_kernel(now_seconds() - begin));
}

}  // namespace trireme
