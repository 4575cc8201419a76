#include "trireme/policy/reconfigure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::policy {
namespace {

constexpr double no_threshold = 0;

// A pipeline with the schedule `envpipe`, whose devices have clocks from 1530 to 900 MHz.
struct ReconfiguredPipeline {
    schedule::PipelineShape shape;
    std::vector<schedule::Program> programs;
    std::vector<ClockedTeam> teams;
};

ReconfiguredPipeline make_pipeline(schedule::PipelineShape shape, const std::vector<int>& extra_forwards,
                                   int mhz) {
    shape.extra_forwards = extra_forwards;
    shape.slots = shape.microbatches;
    const std::vector<schedule::Program> compute =
        remove_frozen_work(generate_phases(schedule::require_schedule("envpipe"), shape), shape).body;
    std::vector<ClockedTeam> teams;
    for (const schedule::Program& passes : compute) {
        ClockedTeam& team = teams.emplace_back(ClockedTeam{.passes = passes,
                                                           .mhz = std::vector<int>(passes.size(), mhz),
                                                           .clocks = {},
                                                           .group = teams.size()});
        for (int clock = 1530; clock >= 900; clock -= 30) team.clocks.push_back(clock);
    }
    return {shape, lower(compute, shape), teams};
}

ReconfiguredPipeline make_pipeline(int stages, int microbatches, const std::vector<int>& extra_forwards,
                                   int mhz) {
    return make_pipeline(schedule::make_grid_shape(stages, 1, 1, microbatches), extra_forwards, mhz);
}

std::vector<PassOfTeam> find_path(const ReconfiguredPipeline& pipeline, const schedule::StepCosts& costs) {
    const schedule::Prediction step = predict(pipeline.programs, pipeline.shape, costs);
    return find_critical_path(pipeline.shape, pipeline.teams, list_waits(step, pipeline.teams), no_threshold);
}

std::string to_text(const ReconfiguredPipeline& pipeline, const std::vector<PassOfTeam>& path) {
    schedule::Program passes;
    for (const auto& [team, pass] : path) passes.push_back(pipeline.teams[team].passes[pass]);
    return to_string(passes);
}

// Finds the longest path of the dependency graph. The nodes are passes; the edges lead from each pass to the
// next one of its team and to the pass that reads its result.
class DependencyGraph {
public:
    DependencyGraph(const ReconfiguredPipeline& pipeline, const schedule::StepCosts& costs)
        : pipeline_(pipeline), costs_(costs) {}

    std::vector<PassOfTeam> find_longest_path() {
        std::vector<PassOfTeam> path{{0, pipeline_.teams.front().passes.size() - 1}};
        while (true) {
            const auto [team, pass] = path.back();
            const auto producer = find_producer(path.back());
            const bool has_previous = pass > 0;
            if (!producer && !has_previous) return path;
            const double previous_end = has_previous ? find_end({team, pass - 1}) : -1;
            const bool is_late = producer && find_end(*producer) > previous_end;
            path.push_back(is_late ? *producer : PassOfTeam{team, pass - 1});
        }
    }

private:
    std::optional<PassOfTeam> find_producer(const PassOfTeam& each) const {
        schedule::Instruction input = pipeline_.teams[each.team].passes[each.pass];
        input.stage += input.op == schedule::Op::forward ? -1 : 1;
        for (std::size_t team = 0; team < pipeline_.teams.size(); ++team) {
            const schedule::Program& passes = pipeline_.teams[team].passes;
            const auto found = std::ranges::find(passes, input);
            if (found != passes.end())
                return PassOfTeam{team, static_cast<std::size_t>(found - passes.begin())};
        }
        return std::nullopt;
    }

    double find_end(const PassOfTeam& each) {
        const auto [found, is_new] = ends_.try_emplace({each.team, each.pass}, 0);
        if (!is_new) return found->second;
        double begin = each.pass > 0 ? find_end({each.team, each.pass - 1}) : 0;
        if (const auto producer = find_producer(each)) begin = std::max(begin, find_end(*producer));
        const schedule::Instruction& pass = pipeline_.teams[each.team].passes[each.pass];
        return found->second = begin + costs_.find(pass.stage, pass.microbatch).find_time(pass.op);
    }

    const ReconfiguredPipeline& pipeline_;
    const schedule::StepCosts& costs_;
    std::map<std::pair<std::size_t, std::size_t>, double> ends_;
};

TEST(CriticalPath, GoesThroughTheLastStageIfAllStagesAreEqual) {
    const ReconfiguredPipeline pipeline = make_pipeline(3, 2, {0, 0, 0}, 900);

    EXPECT_EQ(to_text(pipeline, find_path(pipeline, schedule::StepCosts(std::vector<schedule::StageCost>(3)))),
              "0B1 1B1 2B1 2F1 2B0 2F0 1F0 0F0");
}

TEST(CriticalPath, BeginsAtTheFirstTrainedStage) {
    schedule::PipelineShape shape = schedule::make_grid_shape(3, 1, 1, 2);
    shape.first_trained_stage = 1;
    const ReconfiguredPipeline pipeline = make_pipeline(shape, {0, 0, 0}, 900);

    EXPECT_EQ(to_text(pipeline, find_path(pipeline, schedule::StepCosts(std::vector<schedule::StageCost>(3)))),
              "1B1 2B1 2F1 2B0 2F0 1F0 0F0");
}

TEST(CriticalPath, GoesThroughTheSlowestStage) {
    const ReconfiguredPipeline pipeline = make_pipeline(3, 3, {0, 0, 0}, 900);
    std::vector<schedule::StageCost> costs(3);
    costs[1] = {.forward = 5, .backward_input = 5, .backward_weight = 5};

    EXPECT_EQ(to_text(pipeline, find_path(pipeline, schedule::StepCosts(costs))),
              "0B2 1B2 1B1 1F2 1B0 1F1 1F0 0F0");
}

TEST(CriticalPath, FromWaitsIsThatOfTheDependencyGraph) {
    std::mt19937 random(3);
    const auto draw_cost = [&] { return std::uniform_real_distribution(1.0, 2.0)(random); };
    for (int trial = 0; trial < 200; ++trial) {
        const int stages = 2 + trial % 4;
        const int microbatches = 1 + trial % 7;
        std::vector<std::vector<schedule::StageCost>> costs(static_cast<std::size_t>(stages));
        for (std::vector<schedule::StageCost>& of_stage : costs)
            for (int m = 0; m < microbatches; ++m)
                of_stage.push_back({.forward = draw_cost(), .backward_input = draw_cost()});
        std::vector<int> extra_forwards;
        for (int stage = 0; stage < stages; ++stage)
            extra_forwards.push_back((stages - 1 - stage) * (trial % 3));
        const ReconfiguredPipeline pipeline = make_pipeline(stages, microbatches, extra_forwards, 900);
        const schedule::StepCosts step_costs(costs);

        EXPECT_EQ(to_text(pipeline, find_path(pipeline, step_costs)),
                  to_text(pipeline, DependencyGraph(pipeline, step_costs).find_longest_path()));
    }
}

// The wait of team 3 is a measurement fault: its replica did not wait, and the mean is below the threshold.
TEST(CriticalPath, UsesTheMeanWaitOfAGroup) {
    ReconfiguredPipeline pipeline = make_pipeline(schedule::make_grid_shape(2, 2, 1, 1), {0, 0}, 900);
    pipeline.teams[2].group = 0;
    pipeline.teams[3].group = 1;
    const std::vector<plan::MeasuredPasses> waits{{{0, 0}, 2}, {{0, 0}, 3}, {{0, 0.5}, 4}, {{0, 0}, 3}};

    EXPECT_EQ(to_text(pipeline, find_critical_path(pipeline.shape, pipeline.teams, waits, 0.1)),
              "0B1 1B1 1F1 0F1");
    EXPECT_EQ(to_text(pipeline, find_critical_path(pipeline.shape, pipeline.teams, waits, 0.3)), "0B1 0F1");
}

TEST(RaisedClocks, AreThoseOfTheLastPassWithTheGreedyRule) {
    ReconfiguredPipeline pipeline = make_pipeline(2, 2, {0, 0}, 1200);
    pipeline.teams[0].mhz.back() = 1530;
    const std::vector<PassOfTeam> path{{0, 3}, {1, 3}, {1, 2}};

    EXPECT_EQ(raise_clocks(RaiseRule::greedy, path, pipeline.teams), 1200);
    EXPECT_EQ(pipeline.teams[1].mhz, (std::vector<int>{1200, 1200, 1200, 1290}));
    EXPECT_EQ(pipeline.teams[0].mhz, (std::vector<int>{1200, 1200, 1200, 1530}));
}

TEST(RaisedClocks, AreTheLowestOnesWithTheBalancedRule) {
    ReconfiguredPipeline pipeline = make_pipeline(2, 2, {0, 0}, 1200);
    pipeline.teams[1].mhz = {930, 900, 900, 1530};
    const std::vector<PassOfTeam> path{{0, 3}, {1, 3}, {1, 2}, {1, 1}, {1, 0}};

    EXPECT_EQ(raise_clocks(RaiseRule::balanced, path, pipeline.teams), 900);
    EXPECT_EQ(pipeline.teams[1].mhz, (std::vector<int>{930, 930, 930, 1530}));
    EXPECT_EQ(raise_clocks(RaiseRule::balanced, path, pipeline.teams), 930);
    EXPECT_EQ(pipeline.teams[1].mhz, (std::vector<int>{960, 960, 960, 1530}));
}

TEST(RaisedClocks, AreListedAndEqualInAGroup) {
    ReconfiguredPipeline pipeline = make_pipeline(schedule::make_grid_shape(1, 2, 1, 1), {0}, 1000);
    for (ClockedTeam& team : pipeline.teams) {
        team.clocks = {1400, 1200, 1000};
        team.group = 0;
    }

    EXPECT_EQ(raise_clocks(RaiseRule::balanced, {{1, 1}, {1, 0}}, pipeline.teams), 1000);
    EXPECT_EQ(pipeline.teams[0].mhz, (std::vector<int>{1200, 1200}));
    EXPECT_EQ(pipeline.teams[1].mhz, (std::vector<int>{1200, 1200}));
    EXPECT_EQ(raise_clocks(RaiseRule::greedy, {{1, 1}, {1, 0}}, pipeline.teams), 1200);
    EXPECT_EQ(pipeline.teams[0].mhz, (std::vector<int>{1200, 1400}));
    EXPECT_EQ(raise_clocks(RaiseRule::greedy, {{1, 1}}, pipeline.teams), std::nullopt);
}

}  // namespace
}  // namespace trireme::policy
