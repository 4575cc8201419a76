// Tests what a run directory records about changes of plan.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scratch_folder.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
namespace {

using nlohmann::json;
using validation::read_whole;
using validation::ScratchFolder;

const StepOutcome usual_step{.loss = 2, .size = {.tokens = 4, .targets = 4}, .padded_tokens = 4, .seconds = 2};

class PlanChangeRecords : public ::testing::Test {
protected:
    std::string to_string(const char* name) const { return read_whole(folder_.file(name)); }

    ScratchFolder folder_;
    RunDirectory directory_{folder_.file("")};
};

TEST_F(PlanChangeRecords, ContainTheDecisionAndNameTheNewPlanInLaterSteps) {
    const plan::Decision decision{
        .step = 3, .layout = {.layers = 2}, .policy = "by hand", .to = "0123456789abcdef"};

    directory_.add_decision(decision);
    directory_.add_step(4, usual_step, {}, 1);

    EXPECT_EQ(to_string("decisions.jsonl"), to_json(decision) + "\n");
    EXPECT_EQ(json::parse(to_string("steps.jsonl")).at("plan"), "0123456789abcdef");
}

TEST_F(PlanChangeRecords, StateTheCostOfChangesInTheSummary) {
    Figures figures;
    figures.plan_changes = 2;
    figures.plan_change_seconds = 0.5;
    figures.moved_bytes = 640;

    directory_.write_summary(figures);

    EXPECT_EQ(json::parse(to_string("summary.json")).at("plan_changes"),
              json({{"count", 2}, {"seconds", 0.5}, {"moved_bytes", 640}}));
}

TEST_F(PlanChangeRecords, AreAbsentWithoutADecision) {
    directory_.add_step(0, usual_step, {}, 1);
    directory_.write_summary({});

    EXPECT_FALSE(std::filesystem::exists(folder_.file("decisions.jsonl")));
    EXPECT_FALSE(json::parse(to_string("summary.json")).contains("plan_changes"));
}

}  // namespace
}  // namespace trireme::records
