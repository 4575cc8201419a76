#include "policy/proposers/cut_stages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>

#include "trireme/base/error.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::policy {
namespace {

using schedule::Draw;
using Counts = std::vector<std::size_t>;

constexpr double unreachable = std::numeric_limits<double>::infinity();

// The seconds of a step while stages are added one by one.
struct StepSum {
    double sum = 0;
    double max = 0;

    StepSum with_stage(const CutProblem& problem, std::size_t layer, std::size_t layers, std::size_t team,
                       std::size_t replicas) const {
        double work = 0;
        double reduction = 0;
        for (std::size_t i = layer; i < layer + layers; ++i) {
            work += problem.layer_seconds[i];
            reduction += problem.reduce_seconds[i];
        }
        double slowest = 0;
        for (std::size_t i = team; i < team + replicas; ++i) slowest = std::max(slowest, problem.slowness[i]);
        double seconds = slowest * work;
        if (layer + layers < problem.layer_seconds.size()) seconds += problem.send_seconds;
        std::size_t executed = static_cast<std::size_t>(problem.microbatches) / replicas;
        if (static_cast<std::size_t>(problem.microbatches) % replicas > 0) ++executed;
        const auto r = static_cast<double>(replicas);
        const double others = static_cast<double>(executed - 1) * seconds + reduction * (2 * (r - 1) / r);
        return {sum + seconds, std::max(max, others)};
    }
};

// Tries all cuts of the layers and all divisions of the teams.
class AllCuts {
public:
    explicit AllCuts(const CutProblem& problem)
        : problem_(problem), best_(problem.layer_seconds.size() + 1, unreachable) {
        extend(0, 0, 0, {});
    }

    // Returns the seconds of the best cut into `stages` stages.
    double find_best(std::size_t stages) const { return best_[stages]; }

private:
    bool may_begin(std::size_t layer) const {
        return std::ranges::find(problem_.cuts, layer) != problem_.cuts.end();
    }

    void extend(std::size_t layer, std::size_t team, std::size_t stages, const StepSum& step) {
        const std::size_t layers = problem_.layer_seconds.size() - layer;
        const std::size_t teams = problem_.slowness.size() - team;
        if (layers == 0 && teams == 0) best_[stages] = std::min(best_[stages], step.sum + step.max);
        if (layers == 0 || teams == 0) return;
        const std::size_t max_replicas = std::min(teams, static_cast<std::size_t>(problem_.microbatches));
        for (std::size_t count = 1; count <= layers; ++count) {
            if (count < layers && !may_begin(layer + count)) continue;
            for (std::size_t replicas = 1; replicas <= max_replicas; ++replicas) {
                if (count < layers && replicas % problem_.bounds.replica_step != 0) continue;
                extend(layer + count, team + replicas, stages + 1,
                       step.with_stage(problem_, layer, count, team, replicas));
            }
        }
    }

    const CutProblem& problem_;
    std::vector<double> best_;  // by number of stages
};

// Expects that a cut fits the problem and that its seconds are those of its stages.
void expect_valid(const CutProblem& problem, const StageCut& cut) {
    ASSERT_EQ(cut.layers.size(), cut.replicas.size());
    StepSum step;
    std::size_t layer = 0;
    std::size_t team = 0;
    for (std::size_t stage = 0; stage < cut.layers.size(); ++stage) {
        EXPECT_NE(std::ranges::find(problem.cuts, layer), problem.cuts.end()) << "a stage begins at " << layer;
        EXPECT_GE(cut.layers[stage], 1U);
        EXPECT_GE(cut.replicas[stage], 1U);
        EXPECT_LE(cut.replicas[stage], static_cast<std::size_t>(problem.microbatches));
        ASSERT_LE(layer + cut.layers[stage], problem.layer_seconds.size());
        ASSERT_LE(team + cut.replicas[stage], problem.slowness.size());
        step = step.with_stage(problem, layer, cut.layers[stage], team, cut.replicas[stage]);
        layer += cut.layers[stage];
        team += cut.replicas[stage];
    }
    EXPECT_EQ(layer, problem.layer_seconds.size());
    EXPECT_EQ(team, problem.slowness.size());
    EXPECT_NEAR(cut.seconds, step.sum + step.max, 1e-9 * cut.seconds);
}

// Returns a problem in which each layer takes a second, a stage may begin at each layer, and messages and
// all-reduces take no time.
CutProblem make_even_problem(std::size_t layers, std::size_t teams, int microbatches) {
    CutProblem problem{.layer_seconds = std::vector<double>(layers, 1),
                       .reduce_seconds = std::vector<double>(layers, 0),
                       .slowness = std::vector<double>(teams, 1),
                       .microbatches = microbatches,
                       .cuts = Counts(layers)};
    std::iota(problem.cuts.begin(), problem.cuts.end(), 0);
    return problem;
}

double draw_unit(Draw& draw) { return static_cast<double>(draw.within(1, 1000)) / 1000; }

CutProblem draw_problem(Draw& draw, std::size_t layers, std::size_t teams) {
    CutProblem problem = make_even_problem(layers, teams, draw.within(1, 12));
    if (!draw.one_in(4)) {
        for (double& seconds : problem.layer_seconds) seconds = draw.one_in(8) ? 0 : draw_unit(draw);
    }
    if (!draw.one_in(3)) {
        for (double& seconds : problem.reduce_seconds) seconds = 4 * draw_unit(draw);
    }
    const std::size_t slow_teams = draw.one_in(3) ? teams : draw.below(3);
    for (std::size_t i = 0; i < slow_teams; ++i) problem.slowness[draw.below(teams)] = 1 + 3 * draw_unit(draw);
    if (!draw.one_in(3)) problem.send_seconds = draw_unit(draw);
    if (draw.one_in(4)) problem.bounds.replica_step = 2 + draw.below(2);
    if (draw.one_in(2)) std::erase_if(problem.cuts, [&](std::size_t c) { return c > 0 && draw.one_in(3); });
    return problem;
}

void expect_best_cuts(const CutProblem& problem) {
    const AllCuts all(problem);
    std::map<std::size_t, double> seconds;  // by number of stages
    for (const StageCut& cut : find_best_cuts(problem)) {
        expect_valid(problem, cut);
        EXPECT_TRUE(seconds.empty() || seconds.rbegin()->first < cut.layers.size()) << "not in order";
        seconds[cut.layers.size()] = cut.seconds;
    }
    for (std::size_t stages = 1; stages <= problem.layer_seconds.size(); ++stages) {
        const double best = all.find_best(stages);
        ASSERT_EQ(seconds.contains(stages), best < unreachable) << stages << " stages";
        if (best < unreachable) {
            EXPECT_NEAR(seconds[stages], best, 1e-9 * best) << stages << " stages";
        }
    }
}

TEST(CutStages, FindsTheBestOfAllCutsOfFewLayers) {
    Draw draw(RandomKey{20261129}.then("few layers"));
    for (int repeat = 0; repeat < 1500; ++repeat) {
        SCOPED_TRACE(cat("repeat ", repeat));
        const std::size_t layers = 1 + draw.below(8);
        expect_best_cuts(draw_problem(draw, layers, 1 + draw.below(6)));
    }
}

TEST(CutStages, FindsTheBestOfAllCutsOfSixteenLayers) {
    Draw draw(RandomKey{20261129}.then("many layers"));
    for (int repeat = 0; repeat < 60; ++repeat) {
        SCOPED_TRACE(cat("repeat ", repeat));
        expect_best_cuts(draw_problem(draw, 16, 1 + draw.below(5)));
    }
    for (int repeat = 0; repeat < 20; ++repeat) {
        SCOPED_TRACE(cat("8 teams, repeat ", repeat));
        expect_best_cuts(draw_problem(draw, 16, 8));
    }
}

TEST(CutStages, DividesEqualLayersAmongEqualTeams) {
    const std::vector<StageCut> cuts = find_best_cuts(make_even_problem(8, 4, 16));

    ASSERT_EQ(cuts.size(), 4U);
    EXPECT_EQ(cuts[0].layers, (Counts{8}));
    EXPECT_EQ(cuts[0].replicas, (Counts{4}));
    EXPECT_DOUBLE_EQ(cuts[0].seconds, 8 + 3 * 8);
    EXPECT_EQ(cuts[1].layers, (Counts{4, 4}));
    EXPECT_EQ(cuts[1].replicas, (Counts{2, 2}));
    EXPECT_DOUBLE_EQ(cuts[1].seconds, 8 + 7 * 4);
    EXPECT_EQ(cuts[3].layers, (Counts{2, 2, 2, 2}));
    EXPECT_EQ(cuts[3].replicas, (Counts{1, 1, 1, 1}));
    EXPECT_DOUBLE_EQ(cuts[3].seconds, 8 + 15 * 2);
}

TEST(CutStages, GivesLongStagesMoreReplicas) {
    CutProblem problem = make_even_problem(3, 8, 12);
    problem.layer_seconds = {3, 3, 2};

    const std::vector<StageCut> cuts = find_best_cuts(problem);

    ASSERT_EQ(cuts.size(), 3U);
    EXPECT_EQ(cuts[2].replicas, (Counts{3, 3, 2}));
    EXPECT_DOUBLE_EQ(cuts[2].seconds, 8 + (12 / 2 - 1) * 2);
}

// Two and three replicas execute the same number of micro-batches each.
TEST(CutStages, DividesTeamsEvenlyAmongEquallyGoodCuts) {
    EXPECT_EQ(find_best_cuts(make_even_problem(3, 8, 4)).back().replicas, (Counts{3, 2, 3}));
}

TEST(CutStages, GivesSlowTeamsFewLayers) {
    CutProblem problem = make_even_problem(4, 2, 5);
    problem.slowness = {1, 3};

    const std::vector<StageCut> cuts = find_best_cuts(problem);

    ASSERT_EQ(cuts.size(), 2U);
    EXPECT_DOUBLE_EQ(cuts[0].seconds, 12 + (3 - 1) * 12);
    EXPECT_EQ(cuts[1].layers, (Counts{3, 1}));
    EXPECT_DOUBLE_EQ(cuts[1].seconds, 3 + 3 + (5 - 1) * 3);
}

TEST(CutStages, CountsMessagesAndReductions) {
    CutProblem problem = make_even_problem(4, 4, 8);
    problem.send_seconds = 0.25;
    problem.reduce_seconds = {1, 2, 3, 4};

    const std::vector<StageCut> cuts = find_best_cuts(problem);

    ASSERT_EQ(cuts.size(), 4U);
    EXPECT_DOUBLE_EQ(cuts[0].seconds, 4 + (2 - 1) * 4 + 10 * 2 * 3.0 / 4);
    // The first stage waits for 3 messages after its first micro-batch, and the second one for its all-reduce.
    EXPECT_EQ(cuts[1].layers, (Counts{2, 2}));
    EXPECT_DOUBLE_EQ(cuts[1].seconds, 4.25 + std::max(3 * 2.25 + 3, 3 * 2.0 + 7));
    EXPECT_DOUBLE_EQ(cuts[3].seconds, 4.75 + 7 * 1.25);
}

TEST(CutStages, OmitsStagesWithMoreReplicasThanMicrobatches) {
    const std::vector<StageCut> cuts = find_best_cuts(make_even_problem(5, 5, 2));

    ASSERT_EQ(cuts.size(), 3U);
    EXPECT_EQ(cuts.front().layers.size(), 3U);
    EXPECT_EQ(*std::ranges::max_element(cuts.front().replicas), 2U);
}

// A model with 40 blocks of two layers on 32 teams.
TEST(CutStages, CutsALargeModel) {
    Draw draw(RandomKey{20261129}.then("large"));
    CutProblem problem = make_even_problem(82, 32, 64);
    std::erase_if(problem.cuts, [](std::size_t layer) { return layer > 0 && layer % 2 == 0; });
    problem.layer_seconds.back() = 3;
    for (const std::size_t slow_teams : {0, 1, 3}) {
        for (std::size_t i = 0; i < slow_teams; ++i) problem.slowness[draw.below(32)] = 1 + draw_unit(draw);

        const std::vector<StageCut> cuts = find_best_cuts(problem);

        ASSERT_EQ(cuts.size(), 32U);
        for (const StageCut& cut : cuts) expect_valid(problem, cut);
        if (slow_teams > 0) continue;
        EXPECT_DOUBLE_EQ(cuts[0].seconds, 84 + (64 / 32 - 1) * 84);
        EXPECT_DOUBLE_EQ(cuts[1].seconds, 84 + (64 / 16 - 1) * 42);
    }
}

}  // namespace
}  // namespace trireme::policy
