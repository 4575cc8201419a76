#include "trireme/train/show_plan.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "train/closed_form.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

// gpt2-tiny: 6 items (embedding, 4 blocks, head), on `pipe` ranks in a row.
PlanConfig tiny(int pipe, std::size_t micro_batches) {
    PlanConfig config;
    config.run.model.vocabulary = 257;
    config.run.layout.pipe = pipe;
    config.run.schedule.microbatches = micro_batches;
    return config;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string refusal(const PlanConfig& config) {
    return validation::message_of<ConfigError>([&] { foresee(config); });
}

TEST(ShowPlan, CountsTheParametersOfEachStage) {
    PlanConfig config = tiny(4, 8);
    config.run.model.name = "gpt2";
    config.run.model.vocabulary.reset();
    config.run.model.tied = false;
    config.run.layout.partition = "4,3,3,4";

    const Forecast forecast = foresee(config);

    EXPECT_EQ(forecast.parameters, (std::vector<std::size_t>{60647424, 21263616, 21263616, 59862528}));
    EXPECT_EQ(forecast.all_parameters, 163037184U);
    EXPECT_TRUE(has(text_of(forecast),
                    "parameters  60,647,424 / 21,263,616 / 21,263,616 / 59,862,528; 163,037,184 in all\n"));
}

TEST(ShowPlan, CountsATiedTableOnceInAllAndWhereverItIsHeld) {
    PlanConfig config = tiny(2, 1);
    const Forecast tied = foresee(config);
    config.run.model.tied = false;
    const Forecast untied = foresee(config);

    EXPECT_EQ(tied.parameters, untied.parameters);
    EXPECT_EQ(untied.all_parameters - tied.all_parameters, 257U * 128U);
}

TEST(ShowPlan, PutsTheBubbleBesideItsClosedForm) {
    const std::string text = text_of(foresee(tiny(2, 4)));

    EXPECT_TRUE(has(text, "bubble      20.0 %; by the closed form 20.0 %\n")) << text;
    EXPECT_TRUE(has(text, "step        15 cost units (F=1,I=1,W=1,send=0)\n")) << text;
    EXPECT_TRUE(has(text, "team 0   F0 F1       B0 .. F2 B1 .. F3 B2 ..    B3 ..\n")) << text;
    EXPECT_TRUE(has(text, "stage 1: layers 3-5, rank 1\n")) << text;
}

TEST(ShowPlan, PredictsWhatTheClosedFormsSay) {
    const std::vector<std::pair<const char*, int>> schedules{
        {"inter-layer", 1}, {"gpipe", 1}, {"1f1b", 1}, {"interleaved", 2}, {"looped-bfs", 2}};
    for (const auto& [schedule, chunks] : schedules) {
        for (const int pipe : {1, 2, 3}) {
            for (const std::size_t micro_batches : {2U, 3U, 5U, 6U}) {
                PlanConfig config = tiny(pipe, micro_batches);
                config.run.schedule.schedule = schedule;
                config.run.schedule.chunks = chunks;
                config.run.layout.data = 2;

                const Forecast forecast = foresee(config);

                const auto closed = closed_form_bubble(forecast.plan, forecast.costs);
                ASSERT_TRUE(closed.has_value());
                EXPECT_DOUBLE_EQ(forecast.prediction.bubble(), *closed)
                    << schedule << " pipe " << pipe << " micro-batches " << micro_batches;
            }
        }
    }
}

TEST(ShowPlan, HasNoClosedFormWhereStagesDifferOrMessagesTakeTime) {
    PlanConfig config = tiny(2, 4);
    config.costs = {{.forward = 2}, {.forward = 1}};
    const Forecast uneven = foresee(config);
    config.costs = {{.send = 0.5}};
    const Forecast slow = foresee(config);

    EXPECT_EQ(closed_form_bubble(uneven.plan, uneven.costs), std::nullopt);
    EXPECT_EQ(closed_form_bubble(slow.plan, slow.costs), std::nullopt);
    EXPECT_FALSE(has(text_of(slow), "closed form"));
    EXPECT_TRUE(has(text_of(uneven), "(F=2,I=1,W=1,send=0;F=1,I=1,W=1,send=0)"));
}

TEST(ShowPlan, SaysAllInJson) {
    PlanConfig config = tiny(2, 4);
    config.run.layout.tensor = 2;

    const auto json = nlohmann::json::parse(json_of(foresee(config)));

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

TEST(ShowPlan, CountsActivationsInWholeStages) {
    PlanConfig config = tiny(2, 4);
    config.run.schedule.schedule = "looped-bfs";
    config.run.schedule.chunks = 2;

    const auto json = nlohmann::json::parse(json_of(foresee(config)));

    EXPECT_EQ(json["prediction"]["peak_activations"], (std::vector<double>{4, 4}));
}

TEST(ShowPlan, ForeseesMoreBytesForMoreSamplesAndFewerForRecomputing) {
    PlanConfig config = tiny(1, 1);
    const std::size_t eight = foresee(config).peak_bytes[0];
    config.run.run.batch = 16;
    const std::size_t sixteen = foresee(config).peak_bytes[0];
    config.run.layout.recompute = {Recompute::full};
    const std::size_t again = foresee(config).peak_bytes[0];

    EXPECT_GT(sixteen, eight);
    EXPECT_LT(again, sixteen);
    EXPECT_GT(eight, 4 * 4U * 859008U);  // parameters, gradients and two moments
}

TEST(ShowPlan, SaysWhatItAssumesWithoutACorpus) {
    PlanConfig config = tiny(1, 2);
    config.run.model.vocabulary.reset();
    config.run.data.max_length = 100;

    EXPECT_TRUE(has(text_of(foresee(config)),
                    "assumed     micro-batches of 4 samples of 100 tokens, vocabulary 257; name the rows with "
                    "--corpus\n"));
}

TEST(ShowPlan, RefusesWhatTrainingWouldRefuse) {
    PlanConfig config = tiny(2, 4);
    config.costs = {{}, {}, {}};
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
        "--cost is given for 3 stages, but the layout has 2; give it once for all stages, or once for each");
    EXPECT_TRUE(validation::says(refusal(long_samples), "--max-length 300 is beyond the 256 positions"));
    EXPECT_TRUE(validation::says(refusal(many_stages), "cannot cut 6 items"));
    EXPECT_TRUE(validation::says(refusal(many_ranks), "has more than 1048576 ranks"));
    EXPECT_TRUE(validation::says(refusal(many_samples), "--batch 1099511627776 is beyond"));
}

}  // namespace
}  // namespace trireme
