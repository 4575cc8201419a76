#include <gtest/gtest.h>

#include <array>

#include "trireme/comm/collectives.hpp"

namespace trireme::comm {
namespace {

TEST(SingleRank, SumsToItsOwnValues) {
    const auto group = make_single_rank_group("data");
    std::array<float, 3> values{1, 2, 3};
    const device::Tensor view{values.data(), device::DType::f32, 1, 3, 3};
    device::Arena scratch("scratch", count_all_reduce_scratch_bytes(*group, view), device::MemorySpace::host);

    all_reduce(*group, view, scratch);

    EXPECT_EQ(values, (std::array<float, 3>{1, 2, 3}));
    EXPECT_EQ(all_gather(*group, std::array{4.0}), std::vector<double>{4.0});
    EXPECT_EQ(scratch.peak(), 0U);
}

TEST(SingleRank, LeavesRowsUnchangedInGatherAndSum) {
    const auto group = make_single_rank_group("tensor");
    std::array<double, 6> values{1, 2, 3, 4, 5, 6};
    const device::Tensor view{values.data(), device::DType::f64, 3, 2, 2};
    device::Arena scratch("scratch", 0, device::MemorySpace::host);

    all_gather_rows(*group, view, {{0, 3}});
    reduce_scatter_rows(*group, view, {{0, 3}}, scratch);

    EXPECT_EQ(values, (std::array<double, 6>{1, 2, 3, 4, 5, 6}));
}

TEST(SingleRank, RejectsRangesThatDoNotPartitionTheRows) {
    const auto group = make_single_rank_group("tensor");
    std::array<double, 6> values{};
    const device::Tensor view{values.data(), device::DType::f64, 3, 2, 2};
    const auto refusal = [&](const std::vector<layout::Range>& ranges) -> std::string {
        try {
            all_gather_rows(*group, view, ranges);
        } catch (const BugError& error) {
            return error.what();
        }
        return "nothing";
    };

    const std::string end = " for 1 rank) do not divide 3 rows in order";
    EXPECT_EQ(refusal({{0, 2}}), "the row ranges of the tensor group (1 range" + end);
    EXPECT_EQ(refusal({{1, 3}}), "the row ranges of the tensor group (1 range" + end);
    EXPECT_EQ(refusal({{0, 2}, {2, 1}}), "the row ranges of the tensor group (2 ranges" + end);
}

TEST(SingleRank, RejectsMessagesToOtherRanks) {
    const auto group = make_single_rank_group("data");
    const auto refusal = [&](const auto& action) -> std::string {
        try {
            action();
        } catch (const BugError& error) {
            return error.what();
        }
        return "nothing";
    };

    const std::string sentence = "the data group has one rank; there is no rank 1";
    EXPECT_EQ(refusal([&] { group->start_send({}, 1, 4); }), sentence);
    EXPECT_EQ(refusal([&] { group->start_receive({}, 1, 4); }), sentence);
}

}  // namespace
}  // namespace trireme::comm
