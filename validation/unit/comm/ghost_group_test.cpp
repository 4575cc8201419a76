#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "trireme/comm/collectives.hpp"

namespace trireme::comm {
namespace {

std::string bug(const std::function<void()>& action) {
    try {
        action();
    } catch (const BugError& error) {
        return error.what();
    }
    return "nothing";
}

TEST(GhostGroup, CompletesMessagesAtOnce) {
    const auto group = make_ghost_group("pipe", 1, 3);
    std::array<float, 4> values{1, 2, 3, 4};
    const device::Tensor view{values.data(), device::DType::f32, 2, 2, 2};

    group->wait(std::array{group->start_send(view, 2, 7), group->start_receive(view, 0, 8)});

    EXPECT_EQ(group->rank(), 1);
    EXPECT_EQ(group->size(), 3);
    EXPECT_EQ(group->name(), "pipe");
    EXPECT_TRUE(group->is_ghost());
    EXPECT_EQ(values, (std::array<float, 4>{1, 2, 3, 4}));
}

TEST(GhostGroup, RunsCollectivesOnTensorsWithoutMemory) {
    const auto group = make_ghost_group("tensor", 0, 4);
    device::Arena arena("walk", 0, device::MemorySpace::ghost);
    const device::Tensor values = arena.tensor(device::DType::f64, 6, 16);
    const std::vector<layout::Range> ranges{{0, 3}, {3, 0}, {3, 2}, {5, 1}};
    device::Arena scratch("scratch", 0, device::MemorySpace::ghost);

    all_gather_rows(*group, values, ranges);
    all_reduce(*group, values, scratch);
    reduce_scatter_rows(*group, values, ranges, scratch);
    barrier(*group);

    EXPECT_EQ(scratch.peak(), 3 * 3 * 16 * sizeof(double));  // rank 0 receives its three rows from three peers
}

TEST(GhostGroup, CountsTheScratchMemoryOfASum) {
    const auto group = make_ghost_group("data", 2, 3);
    device::Arena scratch("scratch", 0, device::MemorySpace::ghost);
    const device::Tensor values =
        device::Arena("walk", 0, device::MemorySpace::ghost).tensor(device::DType::f32, 5, 20);

    all_reduce(*group, values, scratch);

    EXPECT_EQ(scratch.peak(), 2 * 34 * sizeof(float));
    EXPECT_LE(scratch.peak(), count_all_reduce_scratch_bytes(*group, values));
}

TEST(GhostGroup, RejectsInvalidPeersRanksAndMessages) {
    const auto group = make_ghost_group("pipe", 1, 3);
    const device::Tensor cut{nullptr, device::DType::f32, 4, 2, 8};

    EXPECT_EQ(bug([&] { group->start_send({}, 3); }), "rank 1 has no peer 3 in the pipe group of 3 ranks");
    EXPECT_EQ(bug([&] { group->start_receive({}, 1); }), "rank 1 has no peer 1 in the pipe group of 3 ranks");
    EXPECT_EQ(bug([&] { group->start_send(cut, 2); }), "a message must be contiguous");
    EXPECT_EQ(bug([&] { make_ghost_group("pipe", 3, 3); }), "there is no rank 3 in the pipe group of 3 ranks");
}

}  // namespace
}  // namespace trireme::comm
