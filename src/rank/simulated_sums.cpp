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

// These functions are no-ops, because the values were summed when they were received.
void run(device::ReferenceStream& /*stream*/, const GradientSum& /*op*/) {}
void run(device::CpuStream& /*stream*/, const GradientSum& /*op*/) {}
void run(device::CudaStream& /*stream*/, const GradientSum& /*op*/) {}

}  // namespace

// For every element of its shard, a rank reads one value per holder and writes the sum.
double count_sum_bytes(const stage::GradientPlan& gradients, int rank, device::DType dtype) {
    double value_count = 0;
    for (const layout::Bucket& bucket : gradients.buckets) {
        const auto holder_count = static_cast<double>(bucket.holders.size());
        if (holder_count == 1 || !std::ranges::binary_search(bucket.holders, rank)) continue;
        const double shard_elements = static_cast<double>(bucket.elements) / holder_count;
        value_count += shard_elements * (holder_count + 1);
    }
    return value_count * static_cast<double>(byte_size(dtype));
}

void charge_sums(device::Stream& stream, double bytes) {
    if (stream.predict_seconds && bytes > 0) kernels::launch(stream, GradientSum{.bytes = bytes});
}

}  // namespace trireme::rank
