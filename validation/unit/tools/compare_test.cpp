#include "trireme/tools/compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::tools {
namespace {

using validation::catch_message;
using validation::grid;

PlanConfig comparison_of(const std::vector<std::string>& schedules) {
    PlanConfig config;
    config.run = grid(2, 1, 1);
    config.run.model.tied = false;
    config.run.schedule.microbatches = 4;
    config.run.costs.stages = {schedule::StageCost{}};
    config.compare = schedules;
    return config;
}

double get_seconds(const std::vector<ComparedSchedule>& schedules, std::size_t i) {
    return schedules[i].forecast->step.seconds;
}

TEST(Compare, KeepsTheRequestedOrderOfSchedules) {
    const std::vector<ComparedSchedule> schedules = compare_schedules(comparison_of({"zb-h1", "gpipe"}));

    ASSERT_EQ(schedules.size(), 2U);
    EXPECT_EQ(schedules[0].name, "zb-h1");
    EXPECT_EQ(get_seconds(schedules, 0), 13);
    EXPECT_EQ(get_seconds(schedules, 1), 15);
}

// A rank has the same work with any number of stages: 4 micro-batches of 3 units. With 2 or 3 stages per rank
// it is idle for 3/2 or 3/3 units.
TEST(Compare, DividesCostsAmongTheStagesOfARank) {
    const std::vector<ComparedSchedule> schedules =
        compare_schedules(comparison_of({"interleaved", "interleaved:3"}));

    EXPECT_EQ(schedules[0].name, "interleaved:2");
    EXPECT_DOUBLE_EQ(get_seconds(schedules, 0), 12 + 3 / 2.0);
    EXPECT_DOUBLE_EQ(get_seconds(schedules, 1), 12 + 3 / 3.0);
}

TEST(Compare, SplitsTheCostOfEachUnequalStageAmongItsChunks) {
    PlanConfig config = comparison_of({"1f1b", "looped-bfs"});
    config.run.costs.stages = {{.forward = 1}, {.forward = 3}};

    const std::vector<ComparedSchedule> schedules = compare_schedules(config);

    EXPECT_EQ(schedules[0].forecast->step.busy_times, (std::vector<double>{12, 20}));
    // Stages 0 and 1 are halves of the first stage, 2 and 3 of the second; each rank has a half of both.
    EXPECT_EQ(schedules[1].forecast->step.busy_times, (std::vector<double>{16, 16}));
}

TEST(Compare, SaysWhyAScheduleCannotBeUsed) {
    PlanConfig config = comparison_of({"1f1b", "pipedream"});
    config.run.model.tied = true;

    const std::vector<ComparedSchedule> schedules = compare_schedules(config);

    EXPECT_TRUE(schedules[0].forecast);
    EXPECT_FALSE(schedules[1].forecast);
    EXPECT_NE(to_string(schedules).find("\npipedream: schedule pipedream updates each stage independently"),
              std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(to_json(schedules))[1]["refused"], schedules[1].refusal);
}

TEST(Compare, ForecastsAllSchedules) {
    const std::vector<ComparedSchedule> compared = compare_schedules(comparison_of({"all"}));

    EXPECT_EQ(compared.size(), schedule::list_schedules().size() + 1);
    EXPECT_EQ(compared.back().name, "auto");
    for (const ComparedSchedule& one : compared) EXPECT_TRUE(one.forecast) << one.name << ": " << one.refusal;
}

TEST(Compare, RejectsUnknownSchedules) {
    EXPECT_NE(catch_message<ConfigError>([] {
                  compare_schedules(comparison_of({"zb-h9"}));
              }).find("did you mean zb-h1?"),
              std::string::npos);
    EXPECT_EQ(
        catch_message<ConfigError>([] { compare_schedules(comparison_of({"interleaved:many"})); }),
        "--compare interleaved:many has no positive number of stages after its colon; write, for example, "
        "interleaved:2");
}

TEST(Compare, WritesATableAndCommaSeparatedValues) {
    const std::vector<ComparedSchedule> schedules = compare_schedules(comparison_of({"1f1b", "pipedream-2bw"}));

    const std::string text = to_string(schedules);
    EXPECT_EQ(text.rfind("gpt2-tiny, 2 ranks, 4 micro-batches a step\n"
                         "costs are in cost units, as --cost says: F=1,I=1,W=1 for 1f1b\n\nschedule",
                         0),
              0U)
        << text;
    EXPECT_NE(
        text.find("1f1b                   15          12    20.0 %    20.0 %    20.0 %    (0)        1  "),
        std::string::npos)
        << text;
    EXPECT_NE(
        text.find("pipedream-2bw          12          12     0.0 %     0.0 %     0.0 %    (0)        2  "),
        std::string::npos)
        << text;
    EXPECT_EQ(to_csv(schedules).rfind("schedule,unit,seconds,at_least,bubble,worst_idle,weight_versions,"
                                      "most_peak_bytes\n1f1b,cost units,15,12,",
                                      0),
              0U)
        << to_csv(schedules);
}

// The head over 50,257 tokens is by far the largest part of such a small model.
TEST(Compare, CountsTheFlopsOfStagesIfNoCostsAreGiven) {
    PlanConfig config = comparison_of({"1f1b", "interleaved"});
    config.run.costs.stages.clear();
    config.run.model.vocabulary = 50257;

    const std::vector<ComparedSchedule> schedules = compare_schedules(config);

    EXPECT_EQ(schedules[0].unit, "GFLOP");
    const Forecast& forecast = *schedules[0].forecast;
    EXPECT_EQ(forecast.step.busy_times.size(), 2U);
    EXPECT_LT(forecast.step.busy_times[0], 0.5 * forecast.step.busy_times[1]);
    double work = 0;
    for (const schedule::StageCost& cost : forecast.costs)
        work += cost.forward + cost.backward_input + cost.backward_weight;
    double divided = 0;
    for (const schedule::StageCost& cost : schedules[1].forecast->costs)
        divided += cost.forward + cost.backward_input + cost.backward_weight;
    EXPECT_NEAR(work, divided, 1e-9 * work);
    EXPECT_NE(to_string(schedules).find("costs are in GFLOP, counted from the arithmetic of a micro-batch"),
              std::string::npos);
}

}  // namespace
}  // namespace trireme::tools
