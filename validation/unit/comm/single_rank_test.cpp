#include <gtest/gtest.h>

#include <array>

#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

TEST(SingleRank, IsItsOwnSum) {
    const auto group = single_rank("data");
    std::array<float, 3> values{1, 2, 3};
    const Tensor view{values.data(), DType::f32, 1, 3, 3};
    Arena scratch("scratch", sum_scratch_bytes(*group, view), Place::memory);

    sum_in_rank_order(*group, view, scratch);

    EXPECT_EQ(values, (std::array<float, 3>{1, 2, 3}));
    EXPECT_EQ(gather_all(*group, std::array{4.0}), std::vector<double>{4.0});
    EXPECT_EQ(scratch.peak(), 0U);
}

TEST(SingleRank, HasNobodyToSendTo) {
    const auto group = single_rank("data");

    EXPECT_THROW(group->start_send({}, 1), BugError);
}

}  // namespace
}  // namespace trireme
