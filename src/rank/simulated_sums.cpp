#include "rank/simulated_sums.hpp"

#include <algorithm>

#include "trireme/kernels/launch.hpp"

namespace trireme::rank {
namespace {

// The sum of a rank's gradient shards over their holders, as a kernel without values.
struct GradientSum {
    double bytes = 0;

    void check() const {}
    device::Cost cost() const { return {.kernel = "copy", .bytes = bytes}; }
    kernels::NamedTensors tensors() const { return {}; }
};

// No-ops, because the values were summed when they were received.
void run(device::ReferenceStream& /*stream*/, const GradientSum& /*op*/) {}
void run(device::CpuStream& /*stream*/, const GradientSum& /*op*/) {}
void run(device::CudaStream& /*stream*/, const GradientSum& /*op*/) {}

}  // namespace

// For every element of its shard, a rank reads the values of all holders and writes the sum.
double count_sum_bytes(const stage::GradientPlan& gradients, int rank, device::DType dtype) {
    double values = 0;
    for (const layout::Bucket& bucket : gradients.buckets) {
        const auto holders = static_cast<double>(bucket.holders.size());
        if (holders == 1 || !std::ranges::binary_search(bucket.holders, rank)) continue;
        values += static_cast<double>(bucket.elements) / holders * (holders + 1);
    }
    return values * static_cast<double>(byte_size(dtype));
}

void charge_sums(device::Stream& stream, double bytes) {
    if (stream.predict_seconds && bytes > 0) kernels::launch(stream, GradientSum{.bytes = bytes});
}

}  // namespace trireme::rank
