#include "trireme/comm/transport_choice.hpp"

#include <gtest/gtest.h>

namespace trireme::comm {
namespace {

// Returns four ranks on two nodes; each rank has its own GPU.
std::vector<TransportFacts> four_ranks() {
    std::vector<TransportFacts> ranks;
    for (const char* host : {"node1", "node2"}) {
        for (const char* bus_id : {"0000:1B:00.0", "0000:43:00.0"})
            ranks.push_back({.host = host, .name = "NVIDIA H200", .bus_id = bus_id, .nccl_version = 22809});
    }
    return ranks;
}

TEST(GpuMessages, UseNcclIfEveryRankHasItsOwnGpu) {
    const TransportChoice way = choose_transport(four_ranks());

    EXPECT_TRUE(way.uses_nccl);
    EXPECT_EQ(way.description, "NCCL 2.28.9");
}

TEST(GpuMessages, UseHostMemoryIfRanksShareAGpu) {
    std::vector<TransportFacts> ranks = four_ranks();
    ranks[3].bus_id = ranks[2].bus_id;

    const TransportChoice way = choose_transport(ranks);

    EXPECT_FALSE(way.uses_nccl);
    EXPECT_EQ(way.description,
              "staged through host memory: ranks 2 and 3 share NVIDIA H200 0000:1B:00.0 of node2");
}

TEST(GpuMessages, UseHostMemoryIfARankHasNoNccl) {
    std::vector<TransportFacts> ranks = four_ranks();
    for (const std::size_t without : {0U, 2U, 3U}) {
        ranks[without].nccl_version = 0;
        ranks[without].nccl_complaint = "NCCL 2.16.2 is too old; load the module of NCCL 2.18 or later";
    }

    const TransportChoice way = choose_transport(ranks);

    EXPECT_FALSE(way.uses_nccl);
    EXPECT_EQ(way.description,
              "staged through host memory: on ranks 0, 2 and 3, NCCL 2.16.2 is too old; load the module of "
              "NCCL 2.18 or later");
}

TEST(GpuMessages, UseHostMemoryIfNcclVersionsDiffer) {
    std::vector<TransportFacts> ranks = four_ranks();
    ranks[1].nccl_version = 21903;

    const TransportChoice way = choose_transport(ranks);

    EXPECT_FALSE(way.uses_nccl);
    EXPECT_EQ(way.description,
              "staged through host memory: the ranks have different versions of NCCL: 2.19.3 on rank 1, 2.28.9 "
              "on ranks 0, 2 and 3");
}

}  // namespace
}  // namespace trireme::comm
