#include "trireme/setup/planning.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/setup/stage_costs.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::grid;
using validation::layout_file;
using validation::says;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::unlike_layout;
using validation::write_text;

std::string refusal(const config::RunConfig& config, int ranks,
                    const model::ModelConfig& model = small_gpt2()) {
    return catch_message<ConfigError>([&] { plan_run(config, model, ranks); });
}

TEST(LayerFacts, GiveItemKindAndParametersOfEachLayer) {
    const std::vector<layout::LayerFacts> facts = list_layer_facts(small_gpt2());

    ASSERT_EQ(facts.size(), 7U);
    std::vector<std::size_t> items;
    std::size_t parameters = 0;
    for (const layout::LayerFacts& layer : facts) {
        items.push_back(layer.item);
        parameters += layer.parameters;
    }
    EXPECT_EQ(items, (std::vector<std::size_t>{0, 1, 1, 2, 2, 3, 3}));
    EXPECT_FALSE(facts[0].is_block);
    EXPECT_TRUE(facts[1].is_block && facts[4].is_block);
    EXPECT_FALSE(facts[5].is_block || facts[6].is_block);
    EXPECT_EQ(parameters, count_parameters(small_gpt2()) + 19 * 16);  // both layers count the tied table
}

TEST(RequestedRanks, ComeFromTheGridOrTheLayoutFile) {
    const ScratchFolder folder;

    EXPECT_EQ(count_requested_ranks(grid(2, 0, 3)), 6);
    EXPECT_EQ(count_requested_ranks(grid(2, 2, 3)), 12);
    EXPECT_EQ(count_requested_ranks(layout_file(folder, unlike_layout)), 5);
}

TEST(RequestedRanks, AreRejectedAboveTheMaximum) {
    EXPECT_EQ(
        catch_message<ConfigError>([] { count_requested_ranks(grid(1 << 20, 1 << 20, 2)); }),
        "a process grid of pipe 1048576 x data 1048576 x tensor 2 has more than 1048576 ranks; lower --pipe, "
        "--data or --tensor");
}

TEST(PlanRun, UsesTheRemainingRanksForReplicas) {
    config::RunConfig config = grid(2, 0, 1);
    config.schedule.microbatches = 3;

    const plan::Plan plan = plan_run(config, small_gpt2(), 6);

    EXPECT_EQ(plan.layout.stages[0].replicas.size(), 3U);
    EXPECT_EQ(plan.microbatches(), 9);  // three per replica
}

TEST(PlanRun, CountsMicrobatchesInTotalForALayoutFile) {
    const ScratchFolder folder;
    config::RunConfig config = layout_file(folder, unlike_layout);
    config.schedule.microbatches = 3;

    const plan::Plan plan = plan_run(config, small_gpt2(), 5);

    EXPECT_EQ(plan.microbatches(), 3);
    EXPECT_EQ(plan.find_team(4), -1);
}

TEST(PlanRun, AdaptsScheduleAutoToTheGivenCosts) {
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "auto";
    config.schedule.microbatches = 4;
    const plan::Plan equal = plan_run(config, small_gpt2(), 2);

    config.costs.stages = {{.send = 3}};
    const plan::Plan slow = plan_run(config, small_gpt2(), 2);

    EXPECT_EQ(equal.schedule, "auto");
    EXPECT_NE(compute_hash(equal), compute_hash(slow));
    const auto seconds = [&](const plan::Plan& plan) {
        return predict_step(plan.training.phases(), plan.training.shape,
                            compute_costs(config, small_gpt2(), plan))
            .seconds;
    };
    EXPECT_LT(seconds(slow), seconds(equal));
}

TEST(PlanRun, KeepsFixedSchedulesRegardlessOfCosts) {
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.microbatches = 4;
    const plan::Plan equal = plan_run(config, small_gpt2(), 2);

    config.costs.stages = {{.forward = 1}, {.forward = 3, .send = 5}};

    EXPECT_EQ(compute_hash(plan_run(config, small_gpt2(), 2)), compute_hash(equal));
}

TEST(PlanRun, RejectsCostsForADifferentNumberOfStages) {
    config::RunConfig config = grid(2, 1, 1);
    config.costs.stages = {{}, {}, {}};

    EXPECT_EQ(
        refusal(config, 2),
        "--cost is given for 3 stages, but the layout has 2; give one cost for all stages, or one per stage");
}

TEST(PlanRun, SuggestsScheduleAutoForAMisspelledName) {
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "autos";

    EXPECT_TRUE(says(refusal(config, 2), "; did you mean auto?"));
}

TEST(PlanRun, RejectsARankCountThatDoesNotFitTheGrid) {
    EXPECT_EQ(refusal(grid(2, 2, 2), 6),
              "the process grid needs 8 ranks (pipe 2 x data 2 x tensor 2), but the job has 6; change --pipe, "
              "--data or --tensor, or start 8 ranks (mpirun -n, srun -n or --ranks)");
    EXPECT_EQ(refusal(grid(2, 0, 2), 6),
              "the process grid needs 4 ranks (pipe 2 x data 1 x tensor 2), but the job has 6; change --pipe, "
              "--data or --tensor, or start 4 ranks (mpirun -n, srun -n or --ranks)");
    EXPECT_EQ(refusal(grid(3, 0, 1), 2),
              "the process grid needs 3 ranks (pipe 3 x data 1 x tensor 1), but the job has 2; change --pipe, "
              "--data or --tensor, or start 3 ranks (mpirun -n, srun -n or --ranks)");
}

TEST(PlanRun, RejectsMoreStagesThanItems) {
    EXPECT_EQ(refusal(grid(5, 1, 1), 5),
              "--partition uniform cannot cut 4 items (embedding, blocks and head) into 5 stages; use 1 to 4 "
              "stages: change --pipe or --chunks");
}

TEST(PlanRun, RejectsMoreTensorRanksThanHeads) {
    EXPECT_EQ(
        refusal(grid(1, 1, 9), 9),
        "a replica of 9 ranks needs at least 9 heads, but the model has 8; use --tensor 8 or less, or replicas "
        "of at most 8 ranks");
    const model::ModelConfig llama = validation::sharable(model::Family::llama, Task::language);
    EXPECT_EQ(
        refusal(grid(1, 1, 5), 5, llama),
        "a replica of 5 ranks needs at least 5 groups of heads, but the model has 4; use --tensor 4 or less, "
        "or replicas of at most 4 ranks");
}

TEST(PlanRun, RejectsAGridTogetherWithALayoutFile) {
    const ScratchFolder folder;
    for (const auto& change : std::vector<void (*)(config::RunConfig&)>{
             [](config::RunConfig& c) { c.layout.pipe = 2; }, [](config::RunConfig& c) { c.layout.data = 1; },
             [](config::RunConfig& c) { c.layout.tensor = 2; },
             [](config::RunConfig& c) { c.schedule.chunks = 2; }}) {
        config::RunConfig config = layout_file(folder, unlike_layout);
        change(config);

        EXPECT_EQ(refusal(config, 5), cat("--layout ", config.layout.layout,
                                          " already sets the layout; remove --pipe, --data, --tensor and "
                                          "--chunks"));
    }
}

TEST(PlanRun, RejectsALayoutForADifferentModel) {
    const ScratchFolder folder;
    const config::RunConfig config = layout_file(folder, unlike_layout);
    model::ModelConfig larger = small_gpt2();
    larger.layers = 3;

    EXPECT_EQ(
        refusal(config, 5, larger),
        cat(config.layout.layout,
            " is for a model of 7 layers, but this model has 9 (each half of a block is one layer); use a "
            "layout for this model"));
}

TEST(PlanRun, SuggestsTheNearestScheduleForAMisspelledName) {
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "interleved";

    const std::string message = refusal(config, 2);

    EXPECT_TRUE(says(message, "; did you mean interleaved?"));
    EXPECT_TRUE(says(message, "gpipe"));
}

TEST(PlanRun, RejectsFilesThatCannotBeRead) {
    config::RunConfig layout;
    layout.layout.layout = "no/such.json";
    config::RunConfig schedule = grid(2, 1, 1);
    schedule.schedule.schedule = "no/such.csv";

    EXPECT_EQ(refusal(layout, 2),
              "--layout no/such.json cannot be read: No such file or directory; check its name");
    EXPECT_EQ(catch_message<ConfigError>([&] { count_requested_ranks(layout); }),
              "--layout no/such.json cannot be read: No such file or directory; check its name");
    EXPECT_EQ(refusal(schedule, 2),
              "--schedule no/such.csv cannot be read: No such file or directory; check its name");
}

TEST(PlanRun, RejectsATiedTableIfStagesUpdateSeparately) {
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "pipedream";

    EXPECT_EQ(
        refusal(config, 2),
        "schedule pipedream updates each stage independently, but the first and the last stage share the tied "
        "token table; use --tied off, or --schedule pipedream-vertical or pipedream-2bw");
    EXPECT_NO_THROW(plan_run(config, small_gpt2(false), 2));
}

TEST(PlanRun, RejectsTooFewMicrobatchesForPipedream2bw) {
    config::RunConfig config = grid(4, 2, 1);
    config.schedule = {.schedule = "pipedream-2bw", .microbatches = 2};

    EXPECT_EQ(
        refusal(config, 8),
        "schedule pipedream-2bw uses the weights of one update ago, but with 2 micro-batches and 4 stages the "
        "first stage runs 2 steps ahead; use --microbatches 3 for each replica, or --schedule "
        "pipedream-vertical");
    config.schedule.microbatches = 3;
    EXPECT_NO_THROW(plan_run(config, small_gpt2(), 8));
}

TEST(PlanRun, SuggestsEnoughMicrobatchesForUnequalReplicas) {
    const ScratchFolder folder;
    config::RunConfig config = layout_file(folder, R"({"layers": 7, "stages": [
        {"layers": [0, 2], "replicas": [{"ranks": [0]}]},
        {"layers": [2, 4], "replicas": [{"ranks": [1]}, {"ranks": [2]}]},
        {"layers": [4, 7], "replicas": [{"ranks": [3]}]}]})");
    config.schedule = {.schedule = "pipedream-2bw", .microbatches = 1};

    const std::string message = refusal(config, 4);

    EXPECT_TRUE(says(message, "use --microbatches 4, or")) << message;
    config.schedule.microbatches = 4;
    EXPECT_NO_THROW(plan_run(config, small_gpt2(), 4));
}

TEST(PlanRun, TakesOneRecomputeModeForAllStagesOrOnePerStage) {
    config::RunConfig config = grid(3, 1, 1);
    config.layout.recompute = {plan::Recompute::full};
    EXPECT_EQ(plan_run(config, small_gpt2(), 3).recompute,
              std::vector<plan::Recompute>(3, plan::Recompute::full));

    config.layout.recompute = {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full};
    EXPECT_EQ(plan_run(config, small_gpt2(), 3).recompute, config.layout.recompute);

    config.layout.recompute = {plan::Recompute::none, plan::Recompute::full};
    EXPECT_EQ(
        refusal(config, 3),
        "--recompute has 2 values, but the layout has 3 stages; give one value for all stages, or one value "
        "per stage");
}

TEST(PlanRun, UsesTheProgramsOfAFile) {
    const ScratchFolder folder;
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = write_text(folder, "halves.csv", "0F0,0I0,0W0\n1F0,1I0,1W0\n");

    const plan::Plan plan = plan_run(config, small_gpt2(), 2);

    EXPECT_EQ(plan.schedule, config.schedule.schedule);
    EXPECT_EQ(to_string(plan.training.programs[0]), "0RECV_B0 0F0 0SEND_F0 0I0 0W0 REDUCE0 STEP0");
}

// A layout file with four items in four stages.
constexpr const char* v_layout = R"({"layers": 7, "stages": [
    {"layers": [0, 1], "replicas": [{"ranks": [0]}]}, {"layers": [1, 3], "replicas": [{"ranks": [1]}]},
    {"layers": [3, 5], "replicas": [{"ranks": [1]}]}, {"layers": [5, 7], "replicas": [{"ranks": [0]}]}]})";

TEST(PlanRun, PlacesTheStagesOfZbVInAV) {
    const ScratchFolder folder;
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "zb-v";
    config::RunConfig file = layout_file(folder, v_layout);
    file.schedule.schedule = "zb-v";

    const plan::Plan plan = plan_run(config, small_gpt2(), 2);
    config.schedule.chunks = 2;

    EXPECT_EQ(plan.teams[0].stages, (std::vector{0, 3}));
    EXPECT_EQ(compute_hash(plan_run(config, small_gpt2(), 2)), compute_hash(plan));
    EXPECT_EQ(compute_hash(plan_run(file, small_gpt2(), 2)), compute_hash(plan));
}

TEST(PlanRun, RejectsChunksOtherThanTwoForZbV) {
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "zb-v";
    config.schedule.chunks = 3;

    EXPECT_EQ(refusal(config, 2),
              "schedule zb-v puts 2 stages on each rank, but --chunks 3 asks for 3; use --chunks 2, or remove "
              "it");
}

TEST(PlanRun, RejectsHalfBackwardPassesWithFullRecompute) {
    const ScratchFolder folder;
    config::RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = write_text(folder, "halves.csv", "0F0,0B0\n1F0,1I0,1W0\n");
    config.layout.recompute = {plan::Recompute::full, plan::Recompute::full};

    EXPECT_EQ(refusal(config, 2),
              cat("schedule ", config.schedule.schedule,
                  " has half a backward pass (1I0), which stage 1 with --recompute full cannot execute; use "
                  "--recompute selective or none for this stage"));
    config.layout.recompute = {plan::Recompute::full, plan::Recompute::selective};
    EXPECT_NO_THROW(plan_run(config, small_gpt2(), 2));
}

TEST(PlanRun, AllowsFullRecomputeOfAStageWithUnsplitBackwardPasses) {
    config::RunConfig config = grid(2, 1, 1);
    for (const char* schedule : {"zb-h1", "zb-h2"}) {
        config.schedule.schedule = schedule;
        config.layout.recompute = {plan::Recompute::full, plan::Recompute::none};
        EXPECT_NO_THROW(plan_run(config, small_gpt2(), 2));
        config.layout.recompute = {plan::Recompute::none, plan::Recompute::full};
        EXPECT_TRUE(says(refusal(config, 2), cat("schedule ", schedule, " has half a backward pass (1I0)")));
    }
}

// One team holds both stages. Each of its ranks has one slice of the table that both stages use.
TEST(PlanRun, RejectsATiedTableWithUnequalSharesOnARank) {
    const ScratchFolder folder;
    config::RunConfig config = layout_file(folder, R"({"layers": 7, "stages": [
        {"layers": [0, 3], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}]},
        {"layers": [3, 7], "replicas": [{"ranks": [0, 1]}]}]})");
    config.schedule.schedule = "looped-bfs";

    EXPECT_EQ(
        refusal(config, 2),
        "rank 0 uses the tied token table in stage 0 with the shares 5,3 and in stage 1 with 1,1, but stores "
        "it only once; make these shares equal, or use --tied off");
    EXPECT_NO_THROW(plan_run(config, small_gpt2(false), 2));
}

}  // namespace
}  // namespace trireme::setup
