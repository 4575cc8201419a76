#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"
#include "unit/app/temporary_file.hpp"

namespace trireme::app {
namespace {

tools::PlanConfig plan_config(const std::string& options) {
    return std::get<tools::PlanConfig>(parse("plan " + options));
}

std::string plan_complaint(const std::string& options) { return complaint("plan " + options); }

TEST(PlanOptions, NeedNeitherCorpusNorDuration) {
    const tools::PlanConfig config = plan_config("");

    EXPECT_EQ(config.run.data.corpus, "");
    EXPECT_EQ(config.format, tools::PlanFormat::text);
    EXPECT_EQ(config.output, "");
    EXPECT_TRUE(config.run.costs.stages.empty());
    EXPECT_EQ(config.ranks, 0);
}

TEST(PlanOptions, IncludeTheOptionsOfTraining) {
    const tools::PlanConfig config = plan_config(
        "--model gpt2 --tied off --pipe 4 --partition 4,3,3,4 --microbatches 8 --recompute full --steps 7 "
        "--format json --output plan.json");

    EXPECT_EQ(config.run.model.name, "gpt2");
    EXPECT_EQ(config.run.model.tied, false);
    EXPECT_EQ(config.run.layout.pipe, 4);
    EXPECT_EQ(config.run.layout.partition, "4,3,3,4");
    EXPECT_EQ(config.run.schedule.microbatches, 8U);
    EXPECT_EQ(config.run.run.steps, 7U);
    EXPECT_EQ(config.format, tools::PlanFormat::json);
    EXPECT_EQ(config.output, "plan.json");
}

TEST(PlanOptions, ReadTheConfigFilesOfTraining) {
    const TemporaryFile file("plan.ini", "[layout]\npipe = 2\n[schedule]\nmicrobatches = 4\n");

    const tools::PlanConfig config = plan_config("--config " + file.path() + " --microbatches 6 --format csv");

    EXPECT_EQ(config.run.layout.pipe, 2);
    EXPECT_EQ(config.run.schedule.microbatches, 6U);
    EXPECT_EQ(config.format, tools::PlanFormat::csv);
}

TEST(PlanOptions, ReadCostsForAllStagesOrForEach) {
    const std::vector<schedule::StageCost> all = plan_config("--cost F=2,I=3,W=0.5,send=0.25").run.costs.stages;
    const std::vector<schedule::StageCost> each =
        plan_config("--cost F=2;W=3,F=4;send=5,reduce=6,step=7").run.costs.stages;

    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].forward, 2);
    EXPECT_EQ(all[0].backward_input, 3);
    EXPECT_EQ(all[0].backward_weight, 0.5);
    EXPECT_EQ(all[0].send, 0.25);
    ASSERT_EQ(each.size(), 3U);
    EXPECT_EQ(each[0].forward, 2);
    EXPECT_EQ(each[0].backward_weight, 1);
    EXPECT_EQ(each[1].backward_weight, 3);
    EXPECT_EQ(each[1].forward, 4);
    EXPECT_EQ(each[2].send, 5);
    EXPECT_EQ(each[2].reduce, 6);
    EXPECT_EQ(each[2].step, 7);
}

TEST(PlanOptions, RejectMalformedCosts) {
    const std::string costs =
        "--cost expects costs such as F=1,I=1,W=1,send=0,reduce=0,step=0, with ; between stages, not ";

    EXPECT_EQ(plan_complaint("--cost fast"), costs + "'fast'");
    EXPECT_EQ(plan_complaint("--cost F=1,B=2"), costs + "'F=1,B=2'");
    EXPECT_EQ(plan_complaint("--cost F=1;"), costs + "'F=1;'");
    EXPECT_EQ(plan_complaint("--cost F=1,clocked=1.5"),
              "--cost clocked expects a number from 0 to 1, not '1.5'");
    EXPECT_EQ(plan_complaint("--cost F=-1"), "--cost F expects a number from 0 to 1000000000000, not '-1'");
    EXPECT_EQ(plan_complaint("--cost send="), "--cost send expects a number from 0 to 1000000000000, not ''");
    EXPECT_EQ(plan_complaint("--cost W=nan"), "--cost W expects a number from 0 to 1000000000000, not 'nan'");
    for (const std::string absurd : {"1e308", "1e13", "inf", "1e999"}) {
        EXPECT_EQ(plan_complaint("--cost F=" + absurd),
                  "--cost F expects a number from 0 to 1000000000000, not '" + absurd + "'");
    }
}

TEST(PlanOptions, SuggestTheNearestNameAndListTheValidValues) {
    EXPECT_EQ(plan_complaint("--formats csv"), "unknown option --formats; did you mean --format?");
    EXPECT_EQ(plan_complaint("--format png"), "--format expects one of text, json, csv, svg, not 'png'");
    EXPECT_EQ(plan_complaint("gpt2"),
              "plan takes options only, but 'gpt2' is neither an option nor the value of one; see trireme plan "
              "--help");
}

}  // namespace
}  // namespace trireme::app
