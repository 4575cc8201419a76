// The layouts that `trireme plan` shows for the numbers of frozen blocks.
#include <numeric>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

class PipeTrajectory : public Simulate {
protected:
    static constexpr std::size_t blocks = 12;

    // Returns the plan of vit-base for 10 periods on two nodes of eight ranks.
    Outcome plan(const std::string& options) const {
        json cluster = abacus();
        cluster["devices_per_node"] = 8;
        cluster["nodes"] = 2;
        cluster["device"]["flops"]["f32"] = 1e13;
        cluster["device"]["memory"] = 16000000000;
        cluster["between"] = {{"latency", 1e-5}, {"bandwidth", 1e10}};
        write("nodes.json", cluster.dump());
        const Outcome outcome =
            run("plan --cluster nodes.json --ranks 16 --model vit-base --labels 1000 --batch 400 --pipe 8 "
                "--dtype f32 "
                "--microbatches 16 --freeze schedule --freeze-alpha 0.3333333333 --epochs 10 " +
                options);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome;
    }

    json trajectory(const std::string& options) const {
        return json::parse(plan("--format json " + options).out).at("trajectory");
    }

    static std::size_t sum(const json& counts) {
        const auto all = counts.get<std::vector<std::size_t>>();
        return std::accumulate(all.begin(), all.end(), std::size_t{0});
    }
};

// The halves of the blocks, the norm and the head are trained, and without frozen blocks the embedding.
TEST_F(PipeTrajectory, HasTheTrainedLayersOfEachStage) {
    for (const std::string rule : {"published", "on"}) {
        SCOPED_TRACE(rule);
        const json rows = trajectory("--auto-pipe " + rule);
        ASSERT_EQ(rows.size(), 8U);  // later periods freeze no more blocks
        std::size_t parameters = 1'000'000'000;
        for (std::size_t period = 0; period < rows.size(); ++period) {
            const json& row = rows[period];
            const auto frozen = row.at("frozen").get<std::size_t>();
            EXPECT_EQ(row.at("epoch"), period);
            EXPECT_EQ(row.at("layers").size(), row.at("pipe"));
            EXPECT_EQ(row.at("parameters").size(), row.at("pipe"));
            EXPECT_EQ(sum(row.at("layers")), frozen == 0 ? 2 * blocks + 3 : 2 * (blocks - frozen) + 2);
            EXPECT_LE(sum(row.at("parameters")), parameters);
            parameters = sum(row.at("parameters"));
            EXPECT_GT(row.at("seconds"), 0);
            EXPECT_GE(row.at("moved_bytes"), 0);
            EXPECT_LE(row.at("peak_bytes"), 16e9);
            const bool changes = period == 0 || rows[period - 1].at("frozen") != frozen;
            EXPECT_EQ(row.at("reason") != "", changes);
        }
        EXPECT_EQ(rows.front().at("frozen"), 0);
        EXPECT_EQ(rows.back().at("frozen"), 12);
    }
}

// The published pipelines of PipeTransformer on two nodes of eight devices.
TEST_F(PipeTrajectory, FollowsThePublishedRule) {
    const json rows = trajectory("--auto-pipe published");
    std::vector<std::array<std::size_t, 4>> shapes;
    for (const json& row : rows)
        shapes.push_back({row.at("frozen"), row.at("pipe"), row.at("data"), row.at("microbatches")});
    EXPECT_EQ(shapes, (std::vector<std::array<std::size_t, 4>>{{0, 8, 2, 2 * 16},
                                                               {4, 8, 2, 2 * 16},
                                                               {7, 4, 4, 4 * 16},
                                                               {9, 2, 8, 8 * 16},
                                                               {10, 2, 8, 8 * 16},
                                                               {11, 1, 16, 16 * 4},
                                                               {11, 1, 16, 16 * 4},
                                                               {12, 1, 16, 16 * 4}}));
    for (const json& row : trajectory("--auto-pipe published --auto-dp off")) EXPECT_EQ(row.at("data"), 2);
}

TEST_F(PipeTrajectory, IsShownAsTextAndAsAPicture) {
    EXPECT_TRUE(has(plan("--auto-pipe published").out, "trained layers"));
    EXPECT_TRUE(has(plan("--auto-pipe published --format svg").out, "</svg>"));
}

}  // namespace
}  // namespace trireme::messages
