#include "rank/simulated_sums.hpp"

#include <algorithm>

namespace trireme::rank {

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

}  // namespace trireme::rank
