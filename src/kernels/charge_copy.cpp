#include "trireme/kernels/charge_copy.hpp"

#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {
namespace {

// A copy as a kernel without values.
struct ChargedCopy {
    double bytes = 0;

    void check() const {}
    device::Cost cost() const { return {.kernel = "copy", .bytes = bytes}; }
    NamedTensors tensors() const { return {}; }
};

void run(device::ReferenceStream& /*stream*/, const ChargedCopy& /*op*/) {}
void run(device::CpuStream& /*stream*/, const ChargedCopy& /*op*/) {}
void run(device::CudaStream& /*stream*/, const ChargedCopy& /*op*/) {}

}  // namespace

void charge_copy(device::Stream& stream, double bytes) {
    if (stream.predict_seconds && bytes > 0) launch(stream, ChargedCopy{.bytes = bytes});
}

}  // namespace trireme::kernels
