#include "policy/planner/published_search.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <limits>
#include <numeric>

#include "trireme/base/error.hpp"
#include "unit/policy/published_plans.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::policy {
namespace {

using schedule::Draw;

constexpr std::size_t block_limit = 16;
constexpr std::size_t team_limit = 8;
constexpr double no_cut = std::numeric_limits<double>::infinity();

// Limits of a stage of an exhaustive recursion.
struct StageRange {
    std::size_t min_blocks = 1;
    std::size_t max_blocks = block_limit;
    std::size_t min_teams = 1;
    std::size_t max_teams = team_limit;
};

// Returns the corrected bounds of the paper.
StageRange find_paper_range(std::size_t blocks, std::size_t teams, std::size_t stages, std::size_t fitting) {
    return {blocks / stages, std::min(blocks / stages + blocks % stages, fitting), teams / stages,
            teams / stages + teams % stages};
}

// Tries all cuts within a range, stage by stage, and times them by Eq. (1).
class AllPublishedCuts {
public:
    AllPublishedCuts(const CutProblem& costs, const StageRange& range) : costs_(costs), range_(range) {
        best_.fill(no_cut);
        extend(0, 0, 0, 0, 0);
    }

    // Returns the seconds of the best cut into `stages` stages.
    double find(std::size_t stages) const { return best_[stages]; }
    double find_best() const { return std::ranges::min(best_); }

private:
    void extend(std::size_t block, std::size_t team, std::size_t stages, double sum, double longest) {
        const std::size_t blocks = costs_.layer_seconds.size() - block;
        const std::size_t teams = costs_.slowness.size() - team;
        const double n = costs_.microbatches;
        if (blocks == 0 && teams == 0) best_[stages] = std::min(best_[stages], sum + (n - 1) * longest);
        double compute = 0;
        double reduce = 0;
        for (std::size_t i = 1; i <= std::min(blocks, range_.max_blocks); ++i) {
            compute += costs_.layer_seconds[block + i - 1];
            reduce += costs_.reduce_seconds[block + i - 1];
            if (i < range_.min_blocks) continue;
            double slowest = 0;
            for (std::size_t j = 1; j <= std::min(teams, range_.max_teams); ++j) {
                slowest = std::max(slowest, costs_.slowness[team + j - 1]);
                if (j < range_.min_teams || static_cast<int>(j) > costs_.microbatches) continue;
                const auto r = static_cast<double>(j);
                const double send = i < blocks ? costs_.send_seconds : 0;
                const double t = (slowest * compute + send) / r + reduce * 2 * (r - 1) / r / n;
                extend(block + i, team + j, stages + 1, sum + t, std::max(longest, t));
            }
        }
    }

    const CutProblem& costs_;
    StageRange range_;
    std::array<double, team_limit + 1> best_;  // by number of stages
};

double draw_seconds(Draw& draw) { return draw.within(1, 1000) / 1000.0; }

CutProblem draw_published_problem(Draw& draw, std::size_t blocks, std::size_t teams) {
    CutProblem problem{.microbatches = draw.one_in(4) ? draw.within(1, 8) : draw.within(8, 32),
                       .send_seconds = draw.one_in(2) ? 0 : draw_seconds(draw),
                       .cuts = std::vector<std::size_t>(blocks),
                       .replica_work = ReplicaWork::divided};
    std::iota(problem.cuts.begin(), problem.cuts.end(), 0);
    for (std::size_t block = 0; block < blocks; ++block) {
        problem.layer_seconds.push_back(draw_seconds(draw));
        problem.reduce_seconds.push_back(draw_seconds(draw));
    }
    for (std::size_t team = 0; team < teams; ++team)
        problem.slowness.push_back(draw.one_in(2) ? 1 : 1 + draw_seconds(draw));
    return problem;
}

void expect_best_cut(const CutProblem& problem, std::size_t stages, double best_seconds) {
    const std::optional<StageCut> cut = find_best_cut(problem, stages);
    ASSERT_EQ(cut.has_value(), best_seconds < no_cut) << stages << " stages";
    if (!cut) return;
    EXPECT_NEAR(cut->seconds, best_seconds, 1e-9 * best_seconds) << stages << " stages";
    EXPECT_EQ(cut->layers.size(), stages);
    EXPECT_EQ(std::accumulate(cut->layers.begin(), cut->layers.end(), 0U), problem.layer_seconds.size());
    EXPECT_EQ(std::accumulate(cut->replicas.begin(), cut->replicas.end(), 0U), problem.slowness.size());
    const layout::Layout layout = make_staged_layout(cut->layers, cut->replicas);
    EXPECT_NEAR(compute_published_seconds(layout, problem, problem.slowness), best_seconds,
                1e-9 * best_seconds);
    for (std::size_t stage = 0; stage < stages; ++stage) {
        EXPECT_GE(cut->layers[stage], problem.bounds.min_runs);
        EXPECT_LE(cut->layers[stage], problem.bounds.max_runs);
        EXPECT_GE(cut->replicas[stage], problem.bounds.min_replicas);
        EXPECT_LE(cut->replicas[stage], problem.bounds.max_replicas);
    }
}

// Calls visit(problem, blocks, teams) for random problems with all numbers of blocks and teams.
template <class Visit>
void visit_problems(const char* name, int repeats, Visit&& visit) {
    Draw draw(RandomKey{20261129}.then(name));
    for (int repeat = 0; repeat < repeats; ++repeat) {
        for (std::size_t blocks = 1; blocks <= block_limit; ++blocks) {
            for (std::size_t teams = 1; teams <= team_limit; ++teams)
                visit(draw_published_problem(draw, blocks, teams), blocks, teams);
        }
    }
}

TEST(PublishedSearch, FindsTheBestCutWithinTheBounds) {
    visit_problems("bounds", 8, [](CutProblem problem, std::size_t blocks, std::size_t teams) {
        SCOPED_TRACE(cat(blocks, " blocks on ", teams, " teams"));
        for (std::size_t stages = 1; stages <= std::min(blocks, teams); ++stages) {
            for (const std::size_t fitting : {blocks, blocks / stages, blocks / stages + 1}) {
                problem.bounds = make_published_bounds({blocks, teams, fitting}, stages);
                const StageRange range = find_paper_range(blocks, teams, stages, fitting);
                expect_best_cut(problem, stages, AllPublishedCuts(problem, range).find(stages));
            }
        }
        EXPECT_FALSE(find_best_cut(problem, std::min(blocks, teams) + 1));
    });
}

// The largest ratios of the best cut within the bounds of the paper and the best one without bounds.
struct WorstRatios {
    double to_equal_stages = 1;  // without bounds, but with the same number of stages
    double to_all = 1;           // with any number of stages
};

TEST(PublishedSearch, MeasuresTheCostOfTheBounds) {
    std::array<WorstRatios, team_limit + 1> worst;  // by number of stages
    visit_problems("gap", 4, [&](CutProblem problem, std::size_t blocks, std::size_t teams) {
        const AllPublishedCuts all(problem, {});
        for (std::size_t stages = 1; stages <= std::min(blocks, teams); ++stages) {
            problem.bounds = {};
            expect_best_cut(problem, stages, all.find(stages));
            problem.bounds = make_published_bounds({blocks, teams, blocks}, stages);
            const std::optional<StageCut> cut = find_best_cut(problem, stages);
            if (!cut) continue;
            WorstRatios& ratios = worst[stages];
            ratios.to_equal_stages = std::max(ratios.to_equal_stages, cut->seconds / all.find(stages));
            ratios.to_all = std::max(ratios.to_all, cut->seconds / all.find_best());
        }
    });

    for (std::size_t stages = 1; stages <= team_limit; ++stages) {
        const auto& [to_equal_stages, to_all] = worst[stages];
        std::cout << "    " << stages << " stages: at most " << to_equal_stages
                  << " times the best cut into as many stages, " << to_all << " times the best of all cuts\n";
        RecordProperty(cat("worst_ratio_of_", stages, "_stages"), cat(to_equal_stages));
        RecordProperty(cat("worst_ratio_of_", stages, "_stages_to_all_cuts"), cat(to_all));
    }
}

// Stage 0 takes (2 * 3 + 2) / 2 seconds at the pace of rank 1, and a fourth of an all-reduce of 4 seconds.
// Stage 1 takes 9 seconds. The cut with one replica of stage 0 would take 5 + 10 + 3 * 10 seconds.
TEST(PublishedSearch, TimesAStep) {
    CutProblem problem{.layer_seconds = {1, 2, 3, 6},
                       .reduce_seconds = {1, 3, 2, 2},
                       .slowness = {1, 2, 1},
                       .microbatches = 4,
                       .send_seconds = 2,
                       .cuts = {0, 2},
                       .replica_work = ReplicaWork::divided};

    EXPECT_EQ(compute_published_seconds(make_staged_layout({2, 2}, {2, 1}), problem, {1, 2, 1}), 5 + 9 + 3 * 9);
    EXPECT_EQ(compute_published_seconds(make_staged_layout({2, 2}, {1, 2}), problem, {1, 2, 1}),
              5 + 10 + 3 * 10);
    problem.bounds = make_published_bounds({.blocks = 2, .teams = 3, .max_blocks = 2}, 2);
    const std::optional<StageCut> cut = find_best_cut(problem, 2);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->replicas, (std::vector<std::size_t>{2, 1}));
    EXPECT_DOUBLE_EQ(cut->seconds, 41);
}

TEST(PublishedSearch, FindsTheFewestStagesWhoseMemoryExceedsThePeak) {
    EXPECT_EQ(find_fewest_stages(0, 10, 4), 1U);
    EXPECT_EQ(find_fewest_stages(10, 10, 4), 2U);
    EXPECT_EQ(find_fewest_stages(39, 10, 4), 4U);
    EXPECT_EQ(find_fewest_stages(1000, 10, 4), 4U);
}

}  // namespace
}  // namespace trireme::policy
