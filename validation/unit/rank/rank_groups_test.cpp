#include "trireme/rank/rank_groups.hpp"

#include <gtest/gtest.h>

#include "unit/setup/small_plans.hpp"

namespace trireme::rank {
namespace {

using validation::grid;
using validation::layout_file;
using validation::ScratchFolder;
using validation::small_gpt2;
using Pipes = std::vector<std::vector<int>>;

TEST(Pipes, ContainTheStagesAndTensorRanksOfAGridReplica) {
    const plan::Plan plan = setup::plan_run(grid(2, 2, 2), small_gpt2(), 8);

    EXPECT_EQ(find_pipes(plan), (Pipes{{0, 1, 4, 5}, {2, 3, 6, 7}}));
}

TEST(Pipes, AreSingleRanksWithDataParallelismOnly) {
    EXPECT_EQ(find_pipes(setup::plan_run(grid(1, 3, 1), small_gpt2(), 3)), (Pipes{{0}, {1}, {2}}));
}

// With 3 and 2 replicas, each replica of a stage exchanges micro-batches with all replicas of the other stage.
TEST(Pipes, JoinReplicasThatExchangeMicrobatches) {
    const ScratchFolder folder;
    config::RunConfig config = layout_file(folder, R"({"layers": 7, "stages": [
        {"layers": [0, 3], "replicas": [{"ranks": [4]}, {"ranks": [1]}, {"ranks": [2]}]},
        {"layers": [3, 7], "replicas": [{"ranks": [3]}, {"ranks": [0]}]}], "idle": [5]})");
    config.schedule.microbatches = 6;
    EXPECT_EQ(find_pipes(setup::plan_run(config, small_gpt2(), 6)), (Pipes{{0, 1, 2, 3, 4}}));

    config.schedule.microbatches = 2;  // the third replica gets no micro-batch
    const Pipes pipes = find_pipes(setup::plan_run(config, small_gpt2(), 6));
    EXPECT_EQ(pipes, (Pipes{{3, 4}, {0, 1}, {2}}));
}

}  // namespace
}  // namespace trireme::rank
