// Compares the memory of all ranks, from one walk per class of equal ranks, with a walk for each rank.
#include "trireme/setup/rank_classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "trireme/layout/held_state.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::grid;
using validation::layout_file;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::unlike_layout;

using Classes = std::vector<std::vector<int>>;

const std::vector<kernels::Segment> ten_rows{{.begin = 0, .length = 10, .sample = 0}};
const std::vector<stage::BatchShape> batch_of_ten_rows{{.segments = ten_rows, .rows = 10}};

// Stage 0 has two replicas with equal shares and one with others. In stage 1 two replicas take more turns than
// the others.
constexpr const char* mixed_layout = R"({"layers": 7, "stages": [
    {"layers": [0, 3], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}, {"ranks": [2, 3], "shares": [5, 3]},
                                    {"ranks": [4, 5]}]},
    {"layers": [3, 7], "replicas": [{"ranks": [6], "turns": 2}, {"ranks": [7]}, {"ranks": [8], "turns": 2},
                                    {"ranks": [9]}]}]})";

// Both ends of the model, with its tied table, lie on the same ranks.
constexpr const char* tied_ends = R"({"layers": 7, "stages": [
    {"layers": [0, 2], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}, {"ranks": [2, 3], "shares": [3, 5]}]},
    {"layers": [2, 5], "replicas": [{"ranks": [4]}, {"ranks": [5]}, {"ranks": [6]}]},
    {"layers": [5, 7], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}, {"ranks": [2, 3], "shares": [3, 5]}]}]})";

Classes classes_of(const plan::Plan& plan) {
    Classes classes;
    for (const RankClass& each : find_rank_classes(plan)) classes.push_back(each.ranks);
    return classes;
}

TEST(RankClasses, GroupRanksOfEqualReplicas) {
    const plan::Plan plan = plan_run(grid(2, 3, 2), small_gpt2(), 12);

    EXPECT_EQ(classes_of(plan), (Classes{{0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}}));
}

TEST(RankClasses, DoNotGrowWithTheNumberOfReplicas) {
    EXPECT_EQ(classes_of(plan_run(grid(2, 64, 2), small_gpt2(), 256)).size(), 4U);
}

TEST(RankClasses, SeparateUnequalSharesAndTurnsAndSkipIdleRanks) {
    const ScratchFolder folder;
    config::RunConfig config = layout_file(folder, mixed_layout);
    config.schedule.microbatches = 12;

    const Classes mixed = classes_of(plan_run(config, small_gpt2(), 10));
    const Classes unlike = classes_of(plan_run(layout_file(folder, unlike_layout), small_gpt2(), 5));

    for (const auto& [one, other] : {std::pair{0, 1}, std::pair{0, 4}, std::pair{1, 5}, std::pair{6, 7}}) {
        for (const std::vector<int>& ranks : mixed)
            EXPECT_FALSE(std::ranges::count(ranks, one) > 0 && std::ranges::count(ranks, other) > 0) << one;
    }
    EXPECT_EQ(mixed.back(), (std::vector<int>{8}));
    EXPECT_EQ(mixed[mixed.size() - 2], (std::vector<int>{7, 9}));
    EXPECT_EQ(unlike, (Classes{{0}, {1}, {2}, {3}}));
}

TEST(RankClasses, SeparateTeamsWithMigratedMatmuls) {
    plan::Plan plan = plan_run(grid(1, 3, 2), small_gpt2(), 6);
    plan.migrations = {{.from = 2, .to = 3, .fractions = {0.5, 0.5, 0.5, 0.5}}};

    EXPECT_EQ(classes_of(plan), (Classes{{0, 4}, {1, 5}, {2}, {3}}));
}

// Returns the bytes of one rank by building its stages, exchange and optimizer.
class Walk {
public:
    Walk(const SizedPlan& sized, const optim::OptimizerConfig& optimizer, const stage::GradientPlan& gradients)
        : sized_(sized), optimizer_(optimizer), gradients_(gradients) {}

    RankMemory of(int rank) const {
        stage::LocalWork work = make_local_work(sized_, rank);
        if (work.team < 0) return {};
        limit_step_memory(sized_, work);
        const stage::LocalStages stages(work, nullptr, device::MemorySpace::ghost);
        const stage::LocalParameters& held = stages.parameters();
        RankMemory memory{.parameters = held.count_value_bytes(),
                          .gradients = held.count_gradient_bytes(),
                          .activations = work.max_step_bytes};
        add_exchange(rank, held, memory);
        return memory;
    }

private:
    stage::DataGroups groups_of(int rank) const {
        stage::DataGroups groups;
        for (const layout::Bucket& bucket : gradients_.buckets) {
            const auto at = std::ranges::find(bucket.holders, rank);
            if (at == bucket.holders.end()) continue;
            groups.emplace(bucket.holders,
                           comm::make_ghost_group("data", static_cast<int>(at - bucket.holders.begin()),
                                                  static_cast<int>(bucket.holders.size())));
        }
        return groups;
    }

    void add_exchange(int rank, const stage::LocalParameters& held, RankMemory& memory) const {
        const stage::DataGroups groups = groups_of(rank);
        const stage::GradientExchange exchange(gradients_, rank, held.specs(), held.values(), held.gradients(),
                                               groups, device::MemorySpace::ghost);
        memory.optimizer =
            optim::Optimizer(optimizer_, held.specs(), list_updated_shards(sized_, exchange, held.specs()),
                             sized_.dtype, device::MemorySpace::ghost,
                             sized_.plan.training.shape.has_speculative_updates)
                .bytes();
        memory.messages += held.copy_counts().gradients * exchange.bytes();
        device::Stream stream{.backend = device::GhostStream{}};
        device::Arena norm("norm", 0, device::MemorySpace::ghost);
        compute_sum_of_squares(stream, held.gradients(), exchange.own_shards(), norm);
        memory.workspace += norm.peak();
        std::size_t owned = 0;
        const layout::HeldState state =
            make_held_state(gradients_.tensors, gradients_.pieces, gradients_.buckets, true, rank);
        for (const layout::TensorBox& box : state.owned) owned += box.box.size();
        memory.copy = owned * byte_size(accumulator_type(sized_.dtype)) * (1 + count_moments(optimizer_));
    }

    const SizedPlan& sized_;
    const optim::OptimizerConfig& optimizer_;
    const stage::GradientPlan& gradients_;
};

void expect_equal_to_walks(const config::RunConfig& config, const model::ModelConfig& model, int ranks,
                           const char* name, device::DType dtype = device::DType::f32,
                           const layout::BucketRules& rules = {}) {
    const plan::Plan plan = plan_run(config, model, ranks);
    const SizedPlan sized(model, plan, dtype, batch_of_ten_rows);
    const stage::GradientPlan gradients = make_gradient_plan(sized, rules);
    const Walk walk(sized, config.optimizer, gradients);

    const std::vector<RankMemory> all =
        predict_memory_of_ranks(sized, &config.optimizer, gradients, ranks, true);

    ASSERT_EQ(all.size(), static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        const RankMemory& memory = all[static_cast<std::size_t>(rank)];
        const RankMemory walked = walk.of(rank);
        EXPECT_EQ(memory.parameters, walked.parameters) << name << ", rank " << rank;
        EXPECT_EQ(memory.gradients, walked.gradients) << name << ", rank " << rank;
        EXPECT_EQ(memory.optimizer, walked.optimizer) << name << ", rank " << rank;
        EXPECT_EQ(memory.activations + memory.messages + memory.workspace,
                  walked.activations + walked.messages + walked.workspace)
            << name << ", rank " << rank;
        EXPECT_EQ(memory.copy, walked.copy) << name << ", rank " << rank;
        const RankMemory alone = predict_rank_memory(sized, &config.optimizer, gradients, rank, true);
        EXPECT_EQ(memory.activations, alone.activations) << name << ", rank " << rank;
        EXPECT_EQ(memory.activation, alone.activation) << name << ", rank " << rank;
        EXPECT_EQ(memory.messages, alone.messages) << name << ", rank " << rank;
        EXPECT_EQ(memory.workspace, alone.workspace) << name << ", rank " << rank;
        EXPECT_EQ(memory.total(), alone.total()) << name << ", rank " << rank;
    }
}

TEST(RankClasses, MatchMemoryComputedPerRankForUnequalReplicas) {
    const ScratchFolder folder;
    for (const char* const layout : {mixed_layout, tied_ends, unlike_layout}) {
        for (const bool shards : {true, false}) {
            config::RunConfig config = layout_file(folder, layout);
            config.schedule.microbatches = 12;
            config.schedule.schedule = layout == tied_ends ? "auto" : "1f1b";
            config.layout.shard_optimizer = shards;
            config.layout.sequence_parallel = shards;
            expect_equal_to_walks(config, small_gpt2(), count_requested_ranks(config), layout);
        }
    }
}

// Buckets hold few elements, so that ranks own shards of many buckets, of different sizes.
TEST(RankClasses, MatchMemoryComputedPerRankForSmallBuckets) {
    const ScratchFolder folder;
    const layout::BucketRules small{.large_piece_elements = 64, .max_bucket_elements = 96};
    config::RunConfig config = grid(2, 5, 3);
    config.layout.recompute = {plan::Recompute::full, plan::Recompute::none};
    config.schedule.microbatches = 3;
    expect_equal_to_walks(config, small_gpt2(), 30, "grid", device::DType::f32, small);
    expect_equal_to_walks(config, small_gpt2(false), 30, "untied", device::DType::f64, small);
    config::RunConfig mixed = layout_file(folder, mixed_layout);
    mixed.schedule.microbatches = 12;
    expect_equal_to_walks(mixed, small_gpt2(), 10, "mixed", device::DType::f32, small);
}

TEST(RankClasses, MatchMemoryComputedPerRankForVariousSchedules) {
    for (const char* const schedule : {"interleaved", "zb-v", "zb-h1", "pipedream-2bw", "gpipe"}) {
        config::RunConfig config = grid(2, 3, 2);
        config.schedule.schedule = schedule;
        config.schedule.microbatches = 4;
        config.schedule.chunks = schedule == std::string("interleaved") ? 2 : 1;
        config.optimizer.kind = optim::OptimizerKind::sgd;
        expect_equal_to_walks(config, small_gpt2(), 12, schedule);
    }
}

}  // namespace
}  // namespace trireme::setup
