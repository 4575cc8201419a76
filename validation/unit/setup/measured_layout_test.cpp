#include "trireme/setup/measured_layout.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "unit/plan/small_profile.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::grid;
using validation::says;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::write_text;

// Returns a profile of small_gpt2(). Every half of a block takes 2 seconds forward and 4 backward, the
// embedding 1 and 1, the norm no time, the head 6 backward.
plan::Profile profile_of_small(const model::ModelConfig& model = small_gpt2()) {
    plan::Profile profile{.machine = "abacus",
                          .device = "cpu",
                          .model = model.name,
                          .dtype = "f32",
                          .microbatch = plan::make_equal_length_shape(1, 10)};
    for (const model::Layer& layer : build_layers(model)) {
        plan::LayerProfile each{.name = find_kind(layer), .measured = profile.layers.size(), .rows = 640};
        for (const model::ParameterSpec& spec : list_parameters(layer)) each.parameters += 4 * spec.size();
        if (each.name == "attention" || each.name == "mlp") {
            each.forward = 2;
            each.backward = 4;
            each.activation = 1000;
        }
        profile.layers.push_back(each);
    }
    profile.layers.front().forward = profile.layers.front().backward = 1;
    profile.layers.back().backward = 6;
    return profile;
}

class MeasuredPartition : public ::testing::Test {
protected:
    config::RunConfig with(config::RunConfig config, const char* partition,
                           const plan::Profile& profile = profile_of_small()) const {
        config.layout.partition = partition;
        config.costs.profiles = {{write_text(folder_, "profile.json", to_json(profile))}};
        return config;
    }
    // Assigns the profiles "fast" and "slow" to ranks, as in "0-3=slow".
    config::RunConfig with_two_profiles(config::RunConfig config, const std::vector<std::string>& whose,
                                        const char* partition = "measured") const {
        config.layout.partition = partition;
        config.schedule.microbatches = 8;
        folder_.write("fast.json", to_json(profile_of_small()));
        folder_.write("slow.json", plan::to_json(validation::slower(profile_of_small(), 3)));
        for (const std::string& each : whose) {
            const std::size_t sign = each.find('=');
            const std::string name = each.substr(sign == std::string::npos ? 0 : sign + 1);
            config::ProfileFile& file =
                config.costs.profiles.emplace_back(config::ProfileFile{folder_.file(name + ".json")});
            if (sign != std::string::npos)
                file.ranks = config::RankSpan{each.front() - '0', each[sign - 1] - '0'};
        }
        return config;
    }
    std::string refusal(const config::RunConfig& config, int ranks,
                        const model::ModelConfig& model = small_gpt2()) const {
        return catch_message<ConfigError>([&] { plan_run(config, model, ranks); });
    }
    // Returns the number of layers of each stage.
    std::vector<std::size_t> cuts(const config::RunConfig& config, int ranks) const {
        std::vector<std::size_t> counts;
        for (const layout::StageLayout& stage : plan_run(config, small_gpt2(), ranks).layout.stages) {
            counts.push_back(stage.layers.count);
        }
        return counts;
    }

    ScratchFolder folder_;
};

using Counts = std::vector<std::size_t>;

TEST(LayerLoads, ArePerRank) {
    const plan::Profile profile = validation::small_profile(2);
    const std::vector<layout::LayerLoad> alone = compute_layer_loads(profile, {});
    const std::vector<layout::LayerLoad> shared =
        compute_layer_loads(profile, {.state_values = 1, .updating_replicas = 4, .tensor_ranks = 2});

    EXPECT_EQ(alone[1], (layout::LayerLoad{.seconds = 8,
                                           .forward_seconds = 2,
                                           .update_seconds = 16,
                                           .row_bytes = 64,
                                           .parameter_bytes = 2000,
                                           .activation_bytes = 200,
                                           .state_bytes = 8000,
                                           .workspace_bytes = 20}));
    EXPECT_EQ(shared[1], (layout::LayerLoad{.seconds = 4,
                                            .forward_seconds = 1,
                                            .update_seconds = 2,
                                            .row_bytes = 64,
                                            .parameter_bytes = 1000,
                                            .activation_bytes = 200,
                                            .state_bytes = 2250,
                                            .workspace_bytes = 20}));
}

// The layers take 2, 6, 6, 6, 6, 0, 6 seconds: a stage boundary falls inside a block.
TEST_F(MeasuredPartition, CutsBetweenAnyTwoLayers) {
    EXPECT_EQ(cuts(with(grid(2, 1, 1), "measured"), 2), (Counts{3, 4}));
    EXPECT_EQ(cuts(with(grid(3, 1, 1), "measured"), 3), (Counts{2, 2, 3}));
    EXPECT_EQ(cuts(with(grid(6, 1, 1), "measured"), 6), (Counts{1, 1, 1, 1, 1, 2}));
}

TEST_F(MeasuredPartition, CutsGridsWithTensorRanksAndReplicas) {
    const plan::Plan plan = plan_run(with(grid(2, 2, 2), "measured"), small_gpt2(), 8);

    EXPECT_EQ(plan.layout.stages[0].layers, (layout::Range{0, 3}));
    EXPECT_EQ(plan.layout.stages[1].replicas[1].ranks, (std::vector<int>{6, 7}));
}

// Rank 1, or rank 0, takes three times as long. The cuts are 2, 6, 6, 6, 6 | 0, 18 and 6, 18 | 6, 6, 6, 0, 6.
TEST_F(MeasuredPartition, GivesFewerLayersToSlowerDevices) {
    EXPECT_EQ(cuts(with_two_profiles(grid(2, 1, 1), {"0=fast", "1=slow"}), 2), (Counts{5, 2}));
    EXPECT_EQ(cuts(with_two_profiles(grid(2, 1, 1), {"0=slow", "1=fast"}), 2), (Counts{2, 5}));
    EXPECT_EQ(cuts(with_two_profiles(grid(2, 1, 1), {"fast", "1=slow"}), 2), (Counts{5, 2}));
    EXPECT_EQ(cuts(with_two_profiles(grid(2, 1, 1), {"0=fast", "1=fast"}), 2), (Counts{3, 4}));
}

TEST_F(MeasuredPartition, BalancesByTheSlowestDeviceOfAStage) {
    EXPECT_EQ(cuts(with_two_profiles(grid(2, 2, 1), {"0-2=fast", "3=slow"}), 4), (Counts{5, 2}));
    EXPECT_EQ(cuts(with_two_profiles(grid(2, 1, 2), {"0=slow", "1-3=fast"}), 4), (Counts{2, 5}));
}

TEST_F(MeasuredPartition, RejectsDifferentDevicesForPipeDream) {
    const config::RunConfig config = with_two_profiles(grid(1, 0, 1), {"0-1=fast", "2=slow"}, "pipedream");

    const std::string said = refusal(config, 3);

    EXPECT_TRUE(says(said, "--partition pipedream needs equal devices, but --profile names "));
    EXPECT_TRUE(says(said, "fast.json for rank 0 and "));
    EXPECT_TRUE(says(said, "slow.json for rank 2; use --partition measured, or one profile for all ranks"));
    EXPECT_EQ(
        plan_run(with_two_profiles(grid(1, 0, 1), {"0-2=fast"}, "pipedream"), small_gpt2(), 3).teams.size(),
        3U);
}

// Stage 0 keeps two micro-batches of 1F1B and four of GPipe, with 100,000 bytes for each half of a block.
TEST_F(MeasuredPartition, KeepsEachStageWithinTheMemoryLimit) {
    plan::Profile profile = profile_of_small();
    for (plan::LayerProfile& layer : profile.layers) {
        layer.rows = 0;
        if (layer.activation > 0) layer.activation = 100'000;
    }
    config::RunConfig config = with(grid(2, 1, 1), "measured", profile);
    config.schedule.microbatches = 4;
    config.layout.memory_limit = 600'000;

    EXPECT_EQ(cuts(config, 2), (Counts{3, 4}));
    config.schedule.schedule = "gpipe";
    EXPECT_TRUE(
        says(refusal(config, 2), "no cut of 7 layers into 2 stages keeps every stage within 600000 bytes"));
    config.layout.recompute = {plan::Recompute::none, plan::Recompute::full};
    EXPECT_EQ(cuts(config, 2), (Counts{2, 5}));
}

// The embedding takes 61 seconds and has few parameters to reduce.
TEST_F(MeasuredPartition, ReplicatesSlowStagesForPipeDream) {
    plan::Profile profile = profile_of_small();
    profile.layers.front().forward = 60;
    for (plan::LayerProfile& layer : profile.layers) layer.rows = 8;
    profile.links = {{.link = {.latency = 0, .bandwidth = 30}}};
    config::RunConfig config = with(grid(1, 0, 1), "pipedream", profile);
    config.schedule.microbatches = 8;

    const plan::Plan plan = plan_run(config, small_gpt2(), 4);

    EXPECT_EQ(plan.microbatches(), 8);  // in all replicas together
    EXPECT_EQ(to_string(plan.layout),
              "stage 0: layer 0, rank 0 | rank 1 | rank 2\nstage 1: layers 1-3, rank 3\n");
}

// With work in flight, rank 1 keeps one more version of its weights, because one rank follows it. So it takes
// fewer layers.
TEST_F(MeasuredPartition, CountsWeightVersionsInTheMemoryLimit) {
    plan::Profile profile = profile_of_small();
    for (plan::LayerProfile& layer : profile.layers) {
        layer.rows = 1;
        layer.activation = 0;
    }
    profile.links = {{.link = {.latency = 0, .bandwidth = 1}}};
    config::RunConfig config = with(grid(1, 0, 1), "pipedream", profile);
    config.schedule.microbatches = 8;
    config.layout.memory_limit = 38'500;

    const std::vector<std::size_t> flushed = cuts(config, 3);
    config.schedule.schedule = "pipedream-2bw";
    const std::vector<std::size_t> in_flight = cuts(config, 3);
    config.layout.memory_limit = 0;

    EXPECT_EQ(flushed, (Counts{2, 2, 3}));
    EXPECT_EQ(in_flight, (Counts{2, 1, 4}));
    EXPECT_EQ(cuts(config, 3), flushed);
}

TEST_F(MeasuredPartition, RejectsMoreStagesThanLayers) {
    EXPECT_EQ(
        refusal(with(grid(8, 1, 1), "measured"), 8),
        "--partition measured cannot cut 7 layers into 8 stages; use 1 to 7 stages: change --pipe or --chunks");
}

TEST_F(MeasuredPartition, RequiresAProfile) {
    config::RunConfig measured = grid(2, 1, 1);
    measured.layout.partition = "measured";
    config::RunConfig pipedream = grid(1, 0, 1);
    pipedream.layout.partition = "pipedream";

    EXPECT_EQ(refusal(measured, 2),
              "--partition measured needs the measured cost of each layer; measure it with `trireme profile "
              "--model gpt2 "
              "--output profile.json`, and pass --profile profile.json");
    EXPECT_TRUE(says(refusal(pipedream, 2), "--partition pipedream needs the measured cost of each layer"));
    measured.costs.profiles = {{"no/such.json"}};
    EXPECT_EQ(refusal(measured, 2),
              "--profile no/such.json cannot be read: No such file or directory; check its name");
}

TEST_F(MeasuredPartition, RejectsAProfileOfADifferentModel) {
    const config::RunConfig config = with(grid(2, 1, 1), "measured");
    model::ModelConfig deeper = small_gpt2();
    deeper.layers = 3;
    model::ModelConfig wider = small_gpt2();
    wider.mlp_width = 32;

    EXPECT_EQ(
        refusal(config, 2, deeper),
        cat("--profile ", config.costs.profiles.front().path,
            " is of a model of 7 layers, gpt2, but gpt2 has 9 (each half of a block is one layer); measure "
            "this model with `trireme profile` and the same model options"));
    EXPECT_EQ(
        refusal(config, 2, wider),
        cat("--profile ", config.costs.profiles.front().path,
            " is of another model, gpt2: its layer 2 is mlp with 3,360 bytes of parameters, but layer 2 of "
            "gpt2 is mlp with 4,416 bytes; measure this model with `trireme profile` and the same model "
            "options"));
}

TEST_F(MeasuredPartition, RejectsAProfileInADifferentDtype) {
    config::RunConfig config = with(grid(2, 1, 1), "measured");
    config.precision.dtype = config::Precision::f64;

    EXPECT_EQ(refusal(config, 2),
              cat("--profile ", config.costs.profiles.front().path,
                  " was measured in f32, but this run computes in f64; measure again with --dtype f64"));
}

TEST_F(MeasuredPartition, RejectsAGridForPipeDreamAndAsksForRanks) {
    EXPECT_EQ(refusal(with(grid(2, 0, 1), "pipedream"), 4),
              "--partition pipedream already sets the layout; remove --pipe, --data, --tensor and --chunks");
    EXPECT_EQ(catch_message<ConfigError>([&] { count_requested_ranks(with(grid(1, 0, 1), "pipedream")); }),
              "--partition pipedream needs the number of ranks; set --ranks N");
}

}  // namespace
}  // namespace trireme::setup
