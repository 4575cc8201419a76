#include "adapt/moved_bytes.hpp"

#include <gtest/gtest.h>

namespace trireme::adapt {
namespace {

layout::ReplicaLayout replica(int rank) { return {.ranks = {rank}, .shares = {1}}; }

// Four ranks with four layers: four stages, or two stages with two replicas each.
const layout::Layout deep{.layers = 4,
                          .stages = {{.layers = {0, 1}, .replicas = {replica(0)}},
                                     {.layers = {1, 1}, .replicas = {replica(1)}},
                                     {.layers = {2, 1}, .replicas = {replica(2)}},
                                     {.layers = {3, 1}, .replicas = {replica(3)}}}};
const layout::Layout wide{.layers = 4,
                          .stages = {{.layers = {0, 2}, .replicas = {replica(0), replica(1)}},
                                     {.layers = {2, 2}, .replicas = {replica(2), replica(3)}}}};
const std::vector<LayerBytes> layers(4, {.values = 10, .moments = 40});

// Each rank receives the values of one layer, and sends those of another one. It owns half of the moments of
// two layers afterwards: half of those of its old layer, and half of those of the other one, which it receives.
TEST(MovedBytes, AreCountedOnce) {
    EXPECT_DOUBLE_EQ(estimate_max_moved_bytes(layers, true, deep, wide), 2 * (10 + 20));
    EXPECT_DOUBLE_EQ(estimate_max_moved_bytes(layers, true, wide, deep), 2 * 20);
    EXPECT_DOUBLE_EQ(estimate_max_moved_bytes(layers, true, wide, wide), 0);
}

TEST(MovedBytes, IncludeAllMomentsIfReplicasDoNotShareThem) {
    EXPECT_DOUBLE_EQ(estimate_max_moved_bytes(layers, false, deep, wide), 2 * (10 + 40));
    EXPECT_DOUBLE_EQ(estimate_max_moved_bytes(layers, false, wide, deep), 0);
}

// Two replicas share the work to send a layer to a third rank.
TEST(MovedBytes, AreSentByAllHolders) {
    const layout::Layout before{.layers = 2,
                                .stages = {{.layers = {0, 1}, .replicas = {replica(0), replica(1)}},
                                           {.layers = {1, 1}, .replicas = {replica(2)}}}};
    const layout::Layout after{.layers = 2,
                               .stages = {{.layers = {0, 1}, .replicas = {replica(0), replica(2)}},
                                          {.layers = {1, 1}, .replicas = {replica(1)}}}};

    // Rank 2 receives 10 and sends 30; rank 1 sends 5 and receives 30.
    EXPECT_DOUBLE_EQ(estimate_max_moved_bytes({{.values = 10}, {.values = 30}}, true, before, after), 10 + 30);
}

}  // namespace
}  // namespace trireme::adapt
