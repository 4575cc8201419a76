#include "rank/simulated_sums.hpp"

#include <algorithm>

#include "trireme/kernels/launch.hpp"

namespace trireme::rank {
namespace {

struct SumOfRanks {
    double bytes = 0;

    void check() const {}
    device::Cost cost() const { return {.kernel = "copy", .bytes = bytes}; }
    kernels::NamedTensors tensors() const { return {}; }
};

// No-ops: the terms were summed where they were received.
void run(device::ReferenceStream& /*stream*/, const SumOfRanks& /*op*/) {}
void run(device::CpuStream& /*stream*/, const SumOfRanks& /*op*/) {}
void run(device::CudaStream& /*stream*/, const SumOfRanks& /*op*/) {}

}  // namespace

// For every element of its shard, a rank reads the values of all holders and writes the sum.
double bytes_of_sums(const stage::GradientPlan& gradients, int rank, device::DType dtype) {
    double numbers = 0;
    for (const layout::Bucket& bucket : gradients.buckets) {
        const auto holders = static_cast<double>(bucket.holders.size());
        if (holders == 1 || !std::ranges::binary_search(bucket.holders, rank)) continue;
        numbers += static_cast<double>(bucket.elements) / holders * (holders + 1);
    }
    return numbers * static_cast<double>(bytes_of(dtype));
}

void charge_sums(device::Stream& stream, double bytes) {
    if (stream.seconds_of && bytes > 0) kernels::launch(stream, SumOfRanks{.bytes = bytes});
}

}  // namespace trireme::rank
