#include <gtest/gtest.h>

#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

config::RunConfig resumed(int pipe, int tensor, int former, std::size_t microbatches) {
    config::RunConfig config;
    config.layout.pipe = pipe;
    config.layout.tensor = tensor;
    config.schedule.microbatches = microbatches;
    config.resumed_options = config::ResumedOptions{
        .saved = {.values = {}, .ranks = former}, .overridden_options = {}, .changes = {}};
    return config;
}

std::vector<int> grid(const config::LayoutConfig& layout) { return {layout.pipe, layout.data, layout.tensor}; }

TEST(ResumedLayout, KeepsStagesAndTensorRanksIfTheyFit) {
    config::RunConfig config = resumed(2, 2, 8, 6);
    config.layout.partition = "2,4";

    fit_resumed_layout(config, 12);

    EXPECT_EQ(grid(config.layout), (std::vector<int>{2, 3, 2}));
    EXPECT_EQ(config.schedule.microbatches, 4U);  // 12 per step, as before
    EXPECT_EQ(config.layout.partition, "2,4");
    EXPECT_NE(config.resumed_options->layout.find(
                  "the run had 8 ranks and now has 12, so it uses --pipe 2 --data 3 --tensor 2"),
              std::string::npos);
}

TEST(ResumedLayout, UsesFewerStagesIfTheFormerDoNotFit) {
    config::RunConfig config = resumed(4, 1, 4, 8);
    config.layout.partition = "2,2,2,2";
    config.layout.recompute = {plan::Recompute::none, plan::Recompute::full, plan::Recompute::none,
                               plan::Recompute::full};

    fit_resumed_layout(config, 6);

    EXPECT_EQ(grid(config.layout), (std::vector<int>{2, 3, 1}));
    EXPECT_EQ(config.schedule.microbatches, 2U);
    EXPECT_EQ(config.layout.partition, "uniform");
    EXPECT_EQ(config.layout.recompute.size(), 1U);
}

TEST(ResumedLayout, IsAGridIfTheLayoutFileHadADifferentRankCount) {
    config::RunConfig config = resumed(1, 1, 4, 8);
    config.layout.layout = "four.json";

    fit_resumed_layout(config, 2);

    EXPECT_EQ(grid(config.layout), (std::vector<int>{1, 2, 1}));
    EXPECT_EQ(config.schedule.microbatches, 4U);
    EXPECT_TRUE(config.layout.layout.empty());
}

TEST(ResumedLayout, KeepsOptionsThatAreGivenOnResume) {
    config::RunConfig config = resumed(1, 1, 4, 8);
    config.resumed_options->overridden_options = {"microbatches"};

    fit_resumed_layout(config, 2);

    EXPECT_EQ(grid(config.layout), (std::vector<int>{1, 2, 1}));
    EXPECT_EQ(config.schedule.microbatches, 8U);
}

TEST(ResumedLayout, IsUnchangedForEqualRanksOrAGivenLayout) {
    config::RunConfig same = resumed(2, 1, 4, 3);
    fit_resumed_layout(same, 4);
    config::RunConfig given = resumed(2, 1, 4, 3);
    given.resumed_options->overridden_options = {"data"};
    fit_resumed_layout(given, 6);

    for (const config::RunConfig* config : {&same, &given}) {
        EXPECT_EQ(grid(config->layout), (std::vector<int>{2, 0, 1}));
        EXPECT_EQ(config->schedule.microbatches, 3U);
        EXPECT_TRUE(config->resumed_options->layout.empty());
    }
}

}  // namespace
}  // namespace trireme::setup
