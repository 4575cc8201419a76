// Tests that no rank holds a tensor that is not its own, by counting memory.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::grid;
using validation::layout_file;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::unlike_layout;
using validation::write_text;

constexpr std::size_t table_rows = 256;

// Every size of this model fills whole cache lines.
model::ModelConfig tiny_gpt2() {
    model::ModelConfig model = model::find_named_model("gpt2-tiny");
    model.vocabulary = table_rows;
    return model;
}

const std::vector<kernels::Segment> one_sample{{.begin = 0, .length = 10, .sample = 0}};
const std::vector<stage::BatchShape> batches{{.segments = one_sample, .rows = 10}};

// Returns the bytes of a rank's f32 parameters as they would be laid out in memory.
std::size_t parameter_bytes(const SizedPlan& sized, int rank) {
    const stage::LocalStages stages(make_local_work(sized, rank), nullptr, device::MemorySpace::ghost);
    EXPECT_EQ(stages.parameters().values().bytes(), stages.parameters().gradients().bytes());
    return stages.parameters().values().bytes();
}

// Returns the elements of the rank's slices of all tensors that the layers of its stage use.
std::size_t own_sizes(const plan::Plan& plan, const model::ModelConfig& model, int rank) {
    const int stage = plan.teams[static_cast<std::size_t>(plan.find_team(rank))].stages.front();
    const std::vector<model::Layer> all = build_layers(model, find_tensor_part(plan, stage, rank));
    const layout::Range own = plan.layout.stages[static_cast<std::size_t>(stage)].layers;
    const std::vector<model::Layer> layers(all.begin() + static_cast<std::ptrdiff_t>(own.begin),
                                           all.begin() + static_cast<std::ptrdiff_t>(own.end()));
    std::size_t sum = 0;
    for (const model::ParameterSpec& spec : list_unique_parameters(layers)) sum += spec.size();
    return sum;
}

TEST(RankMemory, HoldsOnlyTheParametersOfTheRank) {
    const model::ModelConfig model = tiny_gpt2();
    const plan::Plan plan = plan_run(grid(2, 1, 2), model, 4);
    const SizedPlan sized(model, plan, device::DType::f32, batches);

    std::size_t sum = 0;
    for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(parameter_bytes(sized, rank), own_sizes(plan, model, rank) * sizeof(float)) << rank;
        EXPECT_LT(parameter_bytes(sized, rank), count_parameters(model) * sizeof(float) / 2) << rank;
        sum += parameter_bytes(sized, rank);
    }

    // Two more copies exist beyond the model's own parameters: the tied table in the second of its two stages,
    // and the norms, nine of 2 x 128, on the second tensor rank.
    EXPECT_EQ(sum, (count_parameters(model) + table_rows * 128 + 9 * 2 * 128) * sizeof(float));
}

using Held = std::map<std::tuple<std::string, std::size_t, std::size_t>,
                      layout::Box>;  // by name, row and column

// Gradients are summed by the list of held tensors, so it must match what the ranks hold.
TEST(RankMemory, HoldsTheBoxesInTheListOfHeldTensors) {
    const ScratchFolder folder;
    const model::ModelConfig model = small_gpt2();
    std::vector<plan::Plan> plans{plan_run(layout_file(folder, unlike_layout), model, 5)};
    config::RunConfig chunks = grid(2, 1, 2);
    chunks.schedule.chunks = 2;
    chunks.schedule.schedule = "interleaved";
    chunks.schedule.microbatches = 2;
    plans.push_back(plan_run(chunks, model, 4));
    plans.push_back(plan_run(grid(1, 2, 3), model, 6));
    for (const plan::Plan& plan : plans) {
        const std::vector<layout::HeldTensor> tensors = list_held_tensors(plan, model);
        const SizedPlan sized(model, plan, device::DType::f32, batches);
        for (const layout::Team& team : plan.teams) {
            for (const int rank : team.ranks) {
                Held named, held;
                for (const layout::HeldTensor& tensor : tensors) {
                    for (const auto& [holder, box] : tensor.slices) {
                        if (holder == rank) named[{tensor.name, box.rows.begin, box.columns.begin}] = box;
                    }
                }
                const stage::LocalStages stages(make_local_work(sized, rank), nullptr,
                                                device::MemorySpace::ghost);
                for (const model::ParameterSpec& spec : stages.parameters().specs()) {
                    for (const layout::Placement& placement : spec.placements) {
                        const layout::Box& box = placement.box;
                        held[{spec.name, box.rows.begin, box.columns.begin}] = box;
                    }
                }
                EXPECT_EQ(held, named) << "rank " << rank;
            }
        }
    }
}

RankMemory predict_memory(const plan::Plan& plan, const model::ModelConfig& model, int rank,
                          bool trains = true) {
    const SizedPlan sized(model, plan, device::DType::f32, batches);
    const optim::OptimizerConfig optimizer{.kind = optim::OptimizerKind::adamw};
    return predict_rank_memory(sized, trains ? &optimizer : nullptr, make_gradient_plan(sized), rank);
}

TEST(RankMemory, SplitsTheOptimizerAmongReplicasIfSharded) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = grid(1, 2, 1);
    const plan::Plan sharded = plan_run(config, model, 2);
    config.layout.shard_optimizer = false;
    const plan::Plan replicated = plan_run(config, model, 2);
    const std::size_t both_moments = 2 * count_parameters(model) * sizeof(float);

    EXPECT_EQ(predict_memory(replicated, model, 0).optimizer, both_moments);
    EXPECT_EQ(predict_memory(sharded, model, 0).optimizer + predict_memory(sharded, model, 1).optimizer,
              both_moments);
    EXPECT_LT(predict_memory(sharded, model, 0).optimizer, both_moments * 6 / 10);
}

// The backup holds the values and both moments once more.
TEST(RankMemory, IncludesABackupForUpdatesBeforeTheNormIsKnown) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.microbatches = 3;
    config.schedule.schedule = "1f1b";
    const plan::Plan waiting = plan_run(config, model, 2);
    config.schedule.schedule = "zb-h1";
    const plan::Plan validated = plan_run(config, model, 2);

    for (const int rank : {0, 1}) {
        EXPECT_EQ(2 * predict_memory(validated, model, rank).optimizer,
                  5 * predict_memory(waiting, model, rank).optimizer);
    }
}

TEST(RankMemory, HasNoGradientsOrMomentsInAnEvaluation) {
    const model::ModelConfig model = tiny_gpt2();
    const plan::Plan plan = plan_run(grid(2, 1, 1), model, 2);

    const RankMemory memory = predict_memory(plan, model, 0, false);

    EXPECT_EQ(memory.gradients, 0U);
    EXPECT_EQ(memory.optimizer, 0U);
    EXPECT_EQ(memory.parameters, predict_memory(plan, model, 0).parameters);
}

// In addition to the memory that kernels allocate, a batch has five i32 and one i64 for each of 10 rows, and
// two pairs for the sample. Each of these eight lists begins on a multiple of 256 bytes. There are two batches:
// one that is being made and one that is being read.
TEST(RankMemory, IncludesBatchesSentToAGpu) {
    const model::ModelConfig model = tiny_gpt2();
    const plan::Plan plan = plan_run(grid(1, 1, 1), model, 1);
    const optim::OptimizerConfig optimizer{.kind = optim::OptimizerKind::adamw};
    const auto memory_in = [&](device::MemorySpace memory_space) {
        const SizedPlan sized(model, plan, device::DType::f32, batches, memory_space);
        return predict_rank_memory(sized, &optimizer, make_gradient_plan(sized), 0, true);
    };

    const RankMemory on_gpu = memory_in(device::MemorySpace::gpu);
    const RankMemory in_memory = memory_in(device::MemorySpace::host);

    EXPECT_EQ(on_gpu.kernels, kernels::count_gpu_stream_bytes() + 2U * 8 * 256);
    EXPECT_EQ(in_memory.kernels, 0U);
    EXPECT_EQ(on_gpu.copy_beside_gpu, in_memory.copy);
    EXPECT_EQ(on_gpu.total() - on_gpu.kernels, in_memory.total() - in_memory.copy);
}

TEST(RankMemory, IsZeroForAnIdleRank) {
    const ScratchFolder folder;
    const model::ModelConfig model = small_gpt2();
    const plan::Plan plan = plan_run(layout_file(folder, unlike_layout), model, 5);
    const SizedPlan sized(model, plan, device::DType::f32, batches);

    EXPECT_EQ(predict_memory(plan, model, 4).total(), 0U);
    EXPECT_TRUE(make_local_work(sized, 4).stages.empty());
    EXPECT_EQ(make_local_work(sized, 4).team, -1);
}

// A half of a backward pass keeps for the other half what an unsplit pass frees after each layer.
TEST(RankMemory, IsLargerForSplitBackwardPasses) {
    const ScratchFolder folder;
    const model::ModelConfig model = small_gpt2();
    config::RunConfig config = grid(1, 1, 1);
    config.schedule.schedule = write_text(folder, "unsplit.csv", "0F0,0B0\n");
    const plan::Plan unsplit = plan_run(config, model, 1);
    config.schedule.schedule = write_text(folder, "halves.csv", "0F0,0I0,0W0\n");
    const plan::Plan halves = plan_run(config, model, 1);
    const stage::StageSpec all{.layers = {0, 7}};

    const std::size_t stash = predict_memory(halves, model, 0).activation;

    const stage::StageMemory apart = predict(model, all, batches[0], {.halves = stage::BackwardHalves::apart});
    EXPECT_EQ(stash, apart.activations);
    EXPECT_GT(stash, predict_memory(unsplit, model, 0).activation);
}

TEST(RankMemory, ShrinksAsMoreIsRecomputed) {
    const model::ModelConfig model = tiny_gpt2();
    std::vector<std::size_t> activations;
    for (const plan::Recompute recompute :
         {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        config::RunConfig config = grid(2, 1, 1);
        config.layout.recompute = {recompute};
        activations.push_back(predict_memory(plan_run(config, model, 2), model, 0).activations);
    }

    EXPECT_GT(activations[0], activations[1]);
    EXPECT_GT(activations[1], activations[2]);
}

}  // namespace
}  // namespace trireme::setup
