#include "rank/simulated_sums.hpp"

#include <algorithm>

#include "trireme/kernels/launch.hpp"

namespace trireme {
namespace {

struct SumOfRanks {
    double bytes = 0;

    void check() const {}
    Cost cost() const { return {.kernel = "copy", .bytes = bytes}; }
    NamedTensors tensors() const { return {}; }
};

// Done by whoever received the terms.
void run(ReferenceStream& /*stream*/, const SumOfRanks& /*op*/) {}
void run(CpuStream& /*stream*/, const SumOfRanks& /*op*/) {}
void run(CudaStream& /*stream*/, const SumOfRanks& /*op*/) {}

}  // namespace

// Of every element of its share a rank reads all holders' values and writes the sum.
double bytes_of_sums(const GradientPlan& gradients, int rank, DType dtype) {
    double numbers = 0;
    for (const Bucket& bucket : gradients.buckets) {
        const auto holders = static_cast<double>(bucket.holders.size());
        if (holders == 1 || !std::ranges::binary_search(bucket.holders, rank)) continue;
        numbers += static_cast<double>(bucket.elements) / holders * (holders + 1);
    }
    return numbers * static_cast<double>(bytes_of(dtype));
}

void charge_sums(Stream& stream, double bytes) {
    if (stream.seconds_of && bytes > 0) launch(stream, SumOfRanks{.bytes = bytes});
}

}  // namespace trireme
