#include "trireme/comm/gpu_messages.hpp"

#include <gtest/gtest.h>

namespace trireme::comm {
namespace {

// Returns four ranks on two nodes; each rank has its own GPU.
std::vector<GpuAddress> four_ranks() {
    std::vector<GpuAddress> ranks;
    for (const char* host : {"node1", "node2"}) {
        for (const char* bus_id : {"0000:1B:00.0", "0000:43:00.0"})
            ranks.push_back({.host = host, .name = "NVIDIA H200", .bus_id = bus_id, .nccl_version = 22809});
    }
    return ranks;
}

TEST(GpuMessages, GoByNcclWhereEveryRankHasAGpuOfItsOwn) {
    const GpuMessages way = choose_gpu_messages(four_ranks());

    EXPECT_TRUE(way.is_by_nccl);
    EXPECT_EQ(way.sentence, "NCCL 2.28.9");
}

TEST(GpuMessages, GoByTheMachinesMemoryWhereRanksShareAGpu) {
    std::vector<GpuAddress> ranks = four_ranks();
    ranks[3].bus_id = ranks[2].bus_id;

    const GpuMessages way = choose_gpu_messages(ranks);

    EXPECT_FALSE(way.is_by_nccl);
    EXPECT_EQ(way.sentence, "by the machine's memory: ranks 2 and 3 share NVIDIA H200 0000:1B:00.0 of node2");
}

TEST(GpuMessages, GoByTheMachinesMemoryWhereARankHasNoNccl) {
    std::vector<GpuAddress> ranks = four_ranks();
    for (const std::size_t without : {0U, 2U, 3U}) {
        ranks[without].nccl_version = 0;
        ranks[without].nccl_complaint = "NCCL 2.16.2 is older than 2.18, which is needed";
    }

    const GpuMessages way = choose_gpu_messages(ranks);

    EXPECT_FALSE(way.is_by_nccl);
    EXPECT_EQ(way.sentence,
              "by the machine's memory: on ranks 0, 2 and 3, NCCL 2.16.2 is older than 2.18, which is "
              "needed");
}

TEST(GpuMessages, GoByTheMachinesMemoryWhereVersionsOfNcclDiffer) {
    std::vector<GpuAddress> ranks = four_ranks();
    ranks[1].nccl_version = 21903;

    const GpuMessages way = choose_gpu_messages(ranks);

    EXPECT_FALSE(way.is_by_nccl);
    EXPECT_EQ(way.sentence,
              "by the machine's memory: versions of NCCL differ: 2.19.3 on rank 1, 2.28.9 on ranks 0, 2 and 3");
}

}  // namespace
}  // namespace trireme::comm
