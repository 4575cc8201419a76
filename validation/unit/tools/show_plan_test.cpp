#include "trireme/tools/show_plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "tools/plan/closed_form.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/model.hpp"
#include "unit/plan/small_profile.hpp"

namespace trireme::tools {
namespace {

// Returns gpt2-tiny, with 6 items (embedding, 4 blocks, head), on `pipe` pipeline stages.
PlanConfig tiny(int pipe, std::size_t microbatches) {
    PlanConfig config;
    config.run.model.vocabulary = 257;
    config.run.layout.pipe = pipe;
    config.run.schedule.microbatches = microbatches;
    return config;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string refusal(const PlanConfig& config) {
    return validation::catch_message<ConfigError>([&] { make_forecast(config); });
}

TEST(ShowPlan, CountsTheParametersOfEachStage) {
    PlanConfig config = tiny(4, 8);
    config.run.model.name = "gpt2";
    config.run.model.vocabulary.reset();
    config.run.model.tied = false;
    config.run.layout.partition = "4,3,3,4";

    const Forecast forecast = make_forecast(config);

    EXPECT_EQ(forecast.parameters, (std::vector<std::size_t>{60647424, 21263616, 21263616, 59862528}));
    EXPECT_EQ(forecast.total_parameters, 163037184U);
    EXPECT_TRUE(has(to_string(forecast),
                    "parameters  60,647,424 / 21,263,616 / 21,263,616 / 59,862,528; 163,037,184 in all\n"));
}

TEST(ShowPlan, CountsATiedEmbeddingInEachStageButOnceInTotal) {
    PlanConfig config = tiny(2, 1);
    const Forecast tied = make_forecast(config);
    config.run.model.tied = false;
    const Forecast untied = make_forecast(config);

    EXPECT_EQ(tied.parameters, untied.parameters);
    EXPECT_EQ(untied.total_parameters - tied.total_parameters, 257U * 128U);
}

TEST(ShowPlan, ShowsTheBubbleNextToItsClosedForm) {
    const std::string text = to_string(make_forecast(tiny(2, 4)));

    EXPECT_TRUE(has(text, "bubble      20.0 %; by the closed form 20.0 %\n")) << text;
    EXPECT_TRUE(has(text, "step        15 cost units (F=1,I=1,W=1,send=0)\n")) << text;
    EXPECT_TRUE(has(text, "team 0   F0 F1       B0 .. F2 B1 .. F3 B2 ..    B3 ..\n")) << text;
    EXPECT_TRUE(has(text, "stage 1: layers 3-5, rank 1\n")) << text;
}

TEST(ShowPlan, MatchesTheClosedFormOfTheBubble) {
    const std::vector<std::pair<const char*, int>> schedules{
        {"inter-layer", 1}, {"gpipe", 1}, {"1f1b", 1}, {"interleaved", 2}, {"looped-bfs", 2}};
    for (const auto& [schedule, chunks] : schedules) {
        for (const int pipe : {1, 2, 3}) {
            for (const std::size_t microbatches : {2U, 3U, 5U, 6U}) {
                PlanConfig config = tiny(pipe, microbatches);
                config.run.schedule.schedule = schedule;
                config.run.schedule.chunks = chunks;
                config.run.layout.data = 2;

                const Forecast forecast = make_forecast(config);

                const auto closed = compute_closed_form_bubble(forecast.plan, forecast.costs);
                ASSERT_TRUE(closed.has_value());
                EXPECT_DOUBLE_EQ(forecast.step.compute_bubble(), *closed)
                    << schedule << " pipe " << pipe << " micro-batches " << microbatches;
            }
        }
    }
}

struct Halves {
    const char* schedule;
    std::size_t min_microbatches;  // on 3 stages, for a closed form to hold
};

TEST(ShowPlan, MatchesTheClosedFormOfZeroBubbleSchedules) {
    for (const auto& [schedule, least] : {Halves{"zb-h1", 1}, {"zb-h2", 5}, {"zb-v", 5}}) {
        for (const std::size_t microbatches : {1U, 2U, 4U, 5U, 6U, 9U}) {
            PlanConfig config = tiny(3, microbatches);
            config.run.model.tied = false;
            config.run.schedule.schedule = schedule;
            config.run.costs.stages = {{.forward = 2, .backward_input = 2, .backward_weight = 2}};

            const Forecast forecast = make_forecast(config);

            const auto closed = compute_closed_form_bubble(forecast.plan, forecast.costs);
            EXPECT_EQ(closed.has_value(), microbatches >= least) << schedule << ' ' << microbatches;
            if (!closed) continue;
            const double rounding = 1e-15;  // the bubble is a difference from 1
            EXPECT_NEAR(forecast.step.compute_bubble(), *closed, rounding) << schedule << ' ' << microbatches;
        }
    }
}

// Backward passes for weights take longer than the gaps that they fill, and all three passes differ in cost.
TEST(ShowPlan, HasAClosedFormForUnequalCostsExceptForZbV) {
    const auto closed = [](const char* schedule, std::size_t microbatches, const schedule::StageCost& cost) {
        PlanConfig config = tiny(3, microbatches);
        config.run.model.tied = false;
        config.run.schedule.schedule = schedule;
        config.run.costs.stages = {cost};
        const Forecast forecast = make_forecast(config);
        return compute_closed_form_bubble(forecast.plan, forecast.costs);
    };
    const schedule::StageCost long_weights{.forward = 2, .backward_input = 3, .backward_weight = 4};

    EXPECT_DOUBLE_EQ(closed("zb-h1", 2, long_weights).value(), 8.0 / (18 + 8));
    EXPECT_DOUBLE_EQ(closed("zb-h1", 3, long_weights).value(), 6.0 / (27 + 6));
    EXPECT_DOUBLE_EQ(closed("zb-h2", 5, long_weights).value(), 2.0 / (45 + 2));
    EXPECT_EQ(closed("zb-v", 6, long_weights), std::nullopt);
}

// The first rank's update waits two forwards longer, for the last rank's gradients of the tied table.
TEST(ShowPlan, IncludesTheWaitForGradientsOfATiedEmbedding) {
    const auto forecast_of = [](const char* schedule, bool tied) {
        PlanConfig config = tiny(3, 5);
        config.run.schedule.schedule = schedule;
        config.run.model.tied = tied;
        return make_forecast(config);
    };

    const Forecast untied = forecast_of("zb-h2", false);
    const Forecast tied = forecast_of("zb-h2", true);
    const Forecast in_v = forecast_of("zb-v", true);  // both ends are on the first rank

    EXPECT_EQ(tied.step.seconds, untied.step.seconds + 2);
    EXPECT_EQ(compute_closed_form_bubble(untied.plan, untied.costs), 0);
    EXPECT_EQ(compute_closed_form_bubble(tied.plan, tied.costs), std::nullopt);
    EXPECT_EQ(compute_closed_form_bubble(in_v.plan, in_v.costs), 0);
}

TEST(ShowPlan, HasNoClosedFormIfStagesDifferOrMessagesTakeTime) {
    PlanConfig config = tiny(2, 4);
    config.run.costs.stages = {{.forward = 2}, {.forward = 1}};
    const Forecast uneven = make_forecast(config);
    config.run.costs.stages = {{.send = 0.5}};
    const Forecast slow = make_forecast(config);

    EXPECT_EQ(compute_closed_form_bubble(uneven.plan, uneven.costs), std::nullopt);
    EXPECT_EQ(compute_closed_form_bubble(slow.plan, slow.costs), std::nullopt);
    EXPECT_FALSE(has(to_string(slow), "closed form"));
    EXPECT_TRUE(has(to_string(uneven), "(F=2,I=1,W=1,send=0;F=1,I=1,W=1,send=0)"));
}

TEST(ShowPlan, WritesLayoutProgramsAndPredictionAsJson) {
    PlanConfig config = tiny(2, 4);
    config.run.layout.tensor = 2;

    const auto json = nlohmann::json::parse(to_json(make_forecast(config)));

    EXPECT_EQ(json["layout"]["layers"], 11);
    EXPECT_EQ(json["layout"]["stages"][1]["replicas"][0]["ranks"], (std::vector<int>{2, 3}));
    ASSERT_EQ(json["programs"].size(), 4U);
    EXPECT_EQ(json["programs"][0], json["programs"][1]);
    EXPECT_EQ(json["programs"][3].get<std::string>().rfind("1RECV_F0 1F0 ", 0), 0U);
    EXPECT_EQ(json["parameters"]["stages"].size(), 2U);
    EXPECT_EQ(json["parameters"]["all"], 859008);
    const auto& prediction = json["prediction"];
    EXPECT_EQ(prediction["unit"], "cost units");
    EXPECT_EQ(prediction["seconds"], 15);
    EXPECT_EQ(prediction["idle"], (std::vector<double>{3, 3, 3, 3}));
    EXPECT_DOUBLE_EQ(prediction["bubble"].get<double>(), 0.2);
    EXPECT_EQ(prediction["peak_activations"], (std::vector<double>{2, 2, 1, 1}));
    EXPECT_EQ(prediction["peak_bytes"].size(), 4U);
    EXPECT_EQ(prediction["weight_versions"], 1);
}

TEST(ShowPlan, CountsPeakActivationsInUnitsOfFullStages) {
    PlanConfig config = tiny(2, 4);
    config.run.schedule.schedule = "looped-bfs";
    config.run.schedule.chunks = 2;

    const auto json = nlohmann::json::parse(to_json(make_forecast(config)));

    EXPECT_EQ(json["prediction"]["peak_activations"], (std::vector<double>{4, 4}));
}

TEST(ShowPlan, MatchesTheKnownPeakActivationsOfZeroBubble) {
    const auto activations = [](const char* schedule) {
        PlanConfig config = tiny(3, 6);
        config.run.schedule.schedule = schedule;
        return nlohmann::json::parse(to_json(make_forecast(config)))["prediction"]["peak_activations"];
    };

    EXPECT_EQ(activations("zb-h1"), (std::vector<double>{3, 3, 3}));
    EXPECT_EQ(activations("zb-h2"), (std::vector<double>{5, 5, 5}));
    EXPECT_EQ(activations("zb-v"), (std::vector<double>{3, 3, 3}));
}

TEST(ShowPlan, PredictsMoreMemoryForMoreSamplesAndLessIfRecomputing) {
    PlanConfig config = tiny(1, 1);
    const std::size_t eight = make_forecast(config).memory[0].total();
    config.run.run.batch = 16;
    const std::size_t sixteen = make_forecast(config).memory[0].total();
    config.run.layout.recompute = {plan::Recompute::full};
    const std::size_t recomputed = make_forecast(config).memory[0].total();

    EXPECT_GT(sixteen, eight);
    EXPECT_LT(recomputed, sixteen);
    EXPECT_GT(eight, 4 * 4U * 859008U);  // parameters, gradients and two moments
}

TEST(ShowPlan, SaysWhatItAssumesWithoutACorpus) {
    PlanConfig config = tiny(1, 2);
    config.run.model.vocabulary.reset();
    config.run.data.max_length = 100;

    EXPECT_TRUE(has(to_string(make_forecast(config)),
                    "assumed     micro-batches of 4 samples of 100 tokens, vocabulary 257; set --corpus to "
                    "plan with its samples\n"));
}

TEST(ShowPlan, SaysThatLaterPlansAreNotShown) {
    PlanConfig config = tiny(1, 2);
    EXPECT_FALSE(has(to_string(make_forecast(config)), "decisions"));

    config.run.policy.decisions = "later.jsonl";

    EXPECT_TRUE(
        has(to_string(make_forecast(config)),
            "decisions   the later plans of later.jsonl are not shown; `trireme train --dry-run` checks all of "
            "them\n"));
}

// Writes a profile of gpt2-tiny in which every layer takes one second forward and two backward.
std::string tiny_profile(const validation::ScratchFolder& folder) {
    plan::Profile profile{.machine = "abacus",
                          .device = "cpu",
                          .model = "gpt2-tiny",
                          .dtype = "f32",
                          .microbatch = plan::make_equal_length_shape(2, 512)};
    PlanConfig config = tiny(1, 1);
    for (const model::Layer& layer : build_layers(make_forecast(config).model)) {
        plan::LayerProfile each{.name = find_kind(layer), .measured = profile.layers.size()};
        each.forward = each.backward_input = each.backward_weight = 1;
        each.backward = 2;
        for (const model::ParameterSpec& spec : list_parameters(layer)) each.parameters += 4 * spec.size();
        profile.layers.push_back(each);
    }
    return folder.write("profile.json", to_json(profile));
}

TEST(ShowPlan, PredictsSecondsFromAMeasuredProfile) {
    const validation::ScratchFolder folder;
    PlanConfig config = tiny(2, 4);
    config.run.costs.profiles = {{tiny_profile(folder)}};
    config.run.layout.partition = "measured";

    const Forecast forecast = make_forecast(config);
    const std::string text = to_string(forecast);

    EXPECT_NEAR(forecast.step.seconds, 3 * 5 + 4 * 18, 1e-3);  // five layers, six layers
    EXPECT_TRUE(has(text, "step        87 s (F=5,I=5,W=5,send=0;F=6,I=6,W=6,send=0)\n")) << text;
    EXPECT_TRUE(
        has(text, "costs       measured with 512 rows in a micro-batch of 2 samples, f32, 1 thread of abacus;"))
        << text;
    EXPECT_TRUE(has(text, "stage 0: layers 0-2, rank 0\n")) << text;
    EXPECT_EQ(nlohmann::json::parse(to_json(forecast))["prediction"]["unit"], "s");
}

// The profile is a recorded measurement: perf/results/README.md.
TEST(ShowPlan, PartitionsGpt2BetterByProfileThanByHand) {
    PlanConfig config;
    config.run.model.name = "gpt2";
    config.run.model.tied = false;
    config.run.layout.pipe = 4;
    config.run.schedule.microbatches = 8;
    config.run.costs.profiles = {{TRIREME_SOURCE_DIR "/perf/results/cpu-epyc-zen5/profile-gpt2.json"}};
    const auto step = [&](const char* partition) {
        config.run.layout.partition = partition;
        return make_forecast(config).step.seconds;
    };

    EXPECT_LT(step("measured"), step("3,5,5,1"));
    EXPECT_LT(step("3,5,5,1"), step("parameters"));
    EXPECT_LT(step("parameters"), step("4,3,3,4"));
}

TEST(ShowPlan, SaysThatAProfileWithoutKernelsOnlyEstimatesOtherMicrobatches) {
    const validation::ScratchFolder folder;
    PlanConfig config = tiny(2, 2);
    config.run.costs.profiles = {{tiny_profile(folder)}};

    EXPECT_TRUE(
        has(to_string(make_forecast(config)),
            " of abacus; the profile has no kernel times, so the costs of other micro-batches are estimates (a "
            "new profile has them)\n"));
}

// Rank 1 takes twice as long, and gets three of eleven layers in place of six.
TEST(ShowPlan, SaysOnWhichDeviceEachRankWasMeasured) {
    const validation::ScratchFolder folder;
    PlanConfig config = tiny(2, 4);
    const std::string fast = tiny_profile(folder);
    const plan::Profile slow = validation::slower(plan::parse_profile(validation::read_whole(fast), fast), 2);
    config.run.costs.profiles = {{fast, config::RankSpan{0, 0}},
                                 {folder.write("slow.json", to_json(slow)), config::RankSpan{1, 1}}};
    config.run.layout.partition = "measured";

    const std::string text = to_string(make_forecast(config));

    EXPECT_TRUE(has(text, "f32, 1 thread of abacus (rank 0) and 1 thread of slide rule (rank 1);")) << text;
    EXPECT_TRUE(has(text, "(F=8,I=8,W=8,send=0;F=6,I=6,W=6,send=0)\n")) << text;
}

TEST(ShowPlan, PrefersGivenCostsToMeasuredCosts) {
    const validation::ScratchFolder folder;
    PlanConfig config = tiny(2, 4);
    config.run.costs.profiles = {{tiny_profile(folder)}};
    config.run.costs.stages = {{.forward = 2}};

    const std::string text = to_string(make_forecast(config));

    EXPECT_TRUE(has(text, "step        20 cost units (F=2,I=1,W=1,send=0)\n")) << text;
    EXPECT_FALSE(has(text, "abacus")) << text;
}

TEST(ShowPlan, PartitionsLayersAmongTheGivenNumberOfRanks) {
    const validation::ScratchFolder folder;
    PlanConfig config = tiny(1, 6);
    config.run.costs.profiles = {{tiny_profile(folder)}};
    config.run.layout.partition = "pipedream";
    config.ranks = 3;

    const Forecast forecast = make_forecast(config);

    EXPECT_EQ(forecast.memory.size(), 3U);
    EXPECT_EQ(forecast.plan.microbatches(), 6);
    EXPECT_EQ(plan::parse_layout(to_json(forecast), "it"), forecast.plan.layout);
    config.run.layout.partition = "uniform";
    config.run.layout.data = 0;
    EXPECT_EQ(make_forecast(config).plan.layout.stages.front().replicas.size(), 3U);
    config.run.layout.pipe = 2;
    EXPECT_NE(
        refusal(config).find("the process grid needs 2 ranks (pipe 2 x data 1 x tensor 1), but the job has 3"),
        std::string::npos);
}

TEST(ShowPlan, RejectsWhatTrainingWouldReject) {
    PlanConfig config = tiny(2, 4);
    config.run.costs.stages = {{}, {}, {}};
    PlanConfig long_samples = tiny(1, 1);
    long_samples.run.data.max_length = 300;
    PlanConfig many_stages = tiny(9, 1);
    PlanConfig many_ranks = tiny(2000000000, 1);
    many_ranks.run.layout.data = 2000000000;
    many_ranks.run.layout.tensor = 2000000000;
    PlanConfig many_samples = tiny(1, 1);
    many_samples.run.run.batch = std::size_t{1} << 40;

    EXPECT_EQ(
        refusal(config),
        "--cost is given for 3 stages, but the layout has 2; give one cost for all stages, or one per stage");
    EXPECT_TRUE(validation::says(refusal(long_samples), "--max-length 300 is beyond the 256 positions"));
    EXPECT_TRUE(validation::says(refusal(many_stages), "cannot cut 6 items"));
    EXPECT_TRUE(validation::says(refusal(many_ranks), "has more than 1048576 ranks"));
    EXPECT_TRUE(validation::says(refusal(many_samples), "--batch 1099511627776 is beyond"));
}

}  // namespace
}  // namespace trireme::tools
