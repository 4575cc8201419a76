// Tests the energy that `trireme plan` predicts with unit costs on a cluster of V100.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/tools/v100_plans.hpp"

namespace trireme::tools {
namespace {

using validation::says;

std::string refusal(const PlanConfig& config) {
    return validation::catch_message<ConfigError>([&] { make_forecast(config); });
}

struct Saving {
    int pipe;
    std::size_t microbatches;
    double saved;       // fraction of the joules without clocks
    double slowdown;    // seconds, relative to those without clocks
    double min_saving;  // of the limit
};

// The figures follow from EnvPipe's rule and the power of a V100, and were computed independently.
TEST(PlanEnergy, IsThatOfEnvPipesUniformClocks) {
    constexpr double unknown = -1;
    for (const auto& [pipe, microbatches, saved, slowdown, min_saving] :
         {Saving{4, 4, 0.157, 1.49, unknown}, Saving{4, 8, 0.209, 1.49, 0.309},
          Saving{4, 16, 0.241, 1.63, 0.207}, Saving{8, 32, 0.235, 1.63, 0.229}}) {
        const Forecast baseline = make_forecast(make_v100_config(pipe, microbatches, config::Energy::baseline));
        const Forecast uniform = make_forecast(make_v100_config(pipe, microbatches, config::Energy::uniform));

        ASSERT_TRUE(baseline.energy && uniform.energy);
        EXPECT_NEAR(1 - uniform.energy->joules / baseline.energy->joules, saved, 0.003)
            << pipe << 'x' << microbatches;
        EXPECT_NEAR(uniform.step.seconds / baseline.step.seconds, slowdown, 0.005)
            << pipe << 'x' << microbatches;
        if (min_saving != unknown) {
            EXPECT_NEAR(1 - baseline.energy->min_joules / baseline.energy->joules, min_saving, 0.003)
                << pipe << 'x' << microbatches;
        }
    }
}

TEST(PlanEnergy, KeepsTheEnvelopeAtTheHighestClock) {
    PlanConfig config = make_v100_config(3, 2, config::Energy::envelope);

    const Forecast forecast = make_forecast(config);

    for (const schedule::Span& span : forecast.timeline.spans[0]) {
        if (span.instruction.op == schedule::Op::step) continue;
        const std::string pass = to_string(span.instruction);
        EXPECT_EQ(span.mhz == 1530, pass == "0F0" || pass == "0B1") << pass;
    }
    for (const schedule::Span& span : forecast.timeline.spans[2]) EXPECT_EQ(span.mhz, 1530);
    config.run.schedule.schedule = "gpipe";
    EXPECT_EQ(refusal(config), "--energy envelope needs --schedule 1f1b or envpipe, but the schedule is gpipe");
}

TEST(PlanEnergy, ShowsTheClocks) {
    const Forecast forecast = make_forecast(make_v100_config(2, 2, config::Energy::uniform));

    EXPECT_NE(to_string(forecast).find("clocks      990 MHz on ranks 0,1\n"), std::string::npos)
        << to_string(forecast);
    EXPECT_EQ(to_csv(forecast).find("0RECV_B0,CLOCK990,0F0,0SEND_F0,0F1"), 0U) << to_csv(forecast);
    EXPECT_GT(nlohmann::json::parse(to_json(forecast)).at("prediction").at("energy_j"), 0);
}

TEST(PlanEnergy, FollowsTheClocksOfAScheduleFile) {
    const validation::ScratchFolder folder;
    const std::string path =
        folder.write("clocks.csv", "CLOCK1530,0F0,CLOCK900,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    PlanConfig config = make_v100_config(2, 2, config::Energy::baseline);
    config.run.schedule.schedule = path;
    const double factor = 0.9 * 1530 / 900 + 0.1;  // of a pass at 900 MHz

    const Forecast forecast = make_forecast(config);

    // 0F0, then 1F0 1B0 and 0F1 0B0, then 1F1 1B1 and 0B1.
    const double first_team = 1 + factor * (1 + 2 + 2);
    EXPECT_GT(forecast.step.seconds, first_team);
    EXPECT_NEAR(forecast.step.busy_times[0], first_team, 1e-4);
    EXPECT_EQ(forecast.timeline.spans[0][1].mhz, 900);
}

// At 1530 MHz, 0F0 takes a second and 0B1 two.
TEST(PlanEnergy, ChangesClocksNotMoreOftenThanRequested) {
    const validation::ScratchFolder folder;
    PlanConfig config = make_v100_config(2, 2, config::Energy::baseline);
    config.run.schedule.schedule =
        folder.write("clocks.csv", "CLOCK1530,0F0,CLOCK900,0F1,0B0,CLOCK1530,0B1\n1F0,1B0,1F1,1B1\n");
    const auto plan = [&](double seconds) {
        config.run.policy.clock_every = seconds;
        return to_csv(make_forecast(config));
    };
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };

    EXPECT_TRUE(has(plan(0.9), "CLOCK900,0F1,0SEND_F1,0B0,0RECV_B1,CLOCK1530,0B1")) << plan(0.9);
    EXPECT_TRUE(has(plan(1.5), "CLOCK1530,0F0,0SEND_F0,0F1,0SEND_F1,0B0,0RECV_B1,0B1")) << plan(1.5);
}

TEST(PlanEnergy, NeedsListedClocks) {
    const validation::ScratchFolder folder;
    PlanConfig config = make_v100_config(1, 2, config::Energy::baseline);
    config.run.schedule.schedule = folder.write("clocks.csv", "CLOCK1530,0F0,CLOCK905,0F1,0B0,0B1\n");

    EXPECT_TRUE(
        says(refusal(config), "CLOCK905 in cell 3 of program 1 of " + config.run.schedule.schedule +
                                  " is not a clock of the device of rank 0; the nearest one is 900 MHz"));
    config.run.policy.energy = config::Energy::uniform;
    EXPECT_TRUE(says(refusal(config), "sets clocks itself; remove --energy uniform or its CLOCK cells"));
    config.run.costs.cluster.clear();
    config.run.policy.energy = config::Energy::baseline;
    EXPECT_TRUE(says(refusal(config), "the clocks and watts of the device of rank 0 are not known"));
    config.run.schedule.schedule = "1f1b";
    config.run.policy.energy = config::Energy::uniform;
    EXPECT_TRUE(says(refusal(config), "--energy uniform sets clocks, but the clocks and watts"));
}

}  // namespace
}  // namespace trireme::tools
