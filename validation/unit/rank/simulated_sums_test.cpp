#include "rank/simulated_sums.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "trireme/kernels/charge_copy.hpp"

namespace trireme::rank {
namespace {

layout::Bucket bucket_of(std::vector<int> holders, std::size_t elements) {
    layout::Bucket bucket;
    bucket.holders = std::move(holders);
    bucket.elements = elements;
    return bucket;
}

// Returns buckets of ranks 0 and 1, of all three ranks, of rank 0 alone, and of ranks 1 and 2.
stage::GradientPlan plan_of_three() {
    stage::GradientPlan plan;
    plan.buckets = {bucket_of({0, 1}, 8), bucket_of({0, 1, 2}, 30), bucket_of({0}, 1000),
                    bucket_of({1, 2}, 500)};
    return plan;
}

TEST(SimulatedSums, CountTheTermsAndTheSumOfTheRanksOwnShare) {
    EXPECT_EQ(count_sum_bytes(plan_of_three(), 0, device::DType::f32), 4 * (4 * 3 + 10 * 4));
    EXPECT_EQ(count_sum_bytes(plan_of_three(), 2, device::DType::f64), 8 * (10 * 4 + 250 * 3));
}

TEST(SimulatedSums, AreChargedToSimulatedDevicesOnly) {
    double charged = 0;
    device::Stream wall{.backend = device::CpuStream{}};
    device::Stream simulated{.backend = device::CpuStream{},
                             .predict_seconds = [&](const device::Cost& cost, double) {
                                 charged += cost.bytes;
                                 return 0.0;
                             }};

    kernels::charge_copy(wall, 100);
    kernels::charge_copy(simulated, 100);
    kernels::charge_copy(simulated, 0);

    EXPECT_EQ(charged, 100);
    EXPECT_TRUE(wall.ledger.entries().empty());
    EXPECT_EQ(simulated.ledger.entries().size(), 1U);
}

}  // namespace
}  // namespace trireme::rank
