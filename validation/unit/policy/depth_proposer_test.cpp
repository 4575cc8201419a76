#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "unit/policy/depth_clock.hpp"

namespace trireme::policy {
namespace {

using schedule::Draw;

// Returns the longest stage of the cut that minimizes it.
int find_min_longest(const std::vector<int>& work, std::size_t begin, std::size_t stages) {
    int first = 0;
    if (stages == 1)
        return std::accumulate(work.begin() + static_cast<std::ptrdiff_t>(begin), work.end(), first);
    int shortest = std::numeric_limits<int>::max();
    for (std::size_t end = begin + 1; end + stages <= work.size() + 1; ++end) {
        first += work[end - 1];
        shortest = std::min(shortest, std::max(first, find_min_longest(work, end, stages - 1)));
    }
    return shortest;
}

int find_longest(const std::vector<int>& work, const DepthPlan& plan) {
    int longest = 0;
    for (std::size_t stage = 0; stage < plan.ends.size(); ++stage) {
        const auto begin = work.begin() + static_cast<std::ptrdiff_t>(plan.begin(stage));
        const auto end = work.begin() + static_cast<std::ptrdiff_t>(plan.ends[stage]);
        longest = std::max(longest, std::accumulate(begin, end, 0));
    }
    return longest;
}

TEST(DepthProposer, CutsEqualPipelinesExactly) {
    Draw draw(RandomKey{20261201}.then("cuts"));
    const DepthLimits limits{.send_percent = 0, .reduce_percent = 0, .max_slowness = 1, .min_samples = 16};
    for (int repeat = 0; repeat < 100; ++repeat) {
        const DepthProblem problem = draw_depth_problem(draw, limits);

        const std::vector<Candidate> candidates = propose_depth(problem);
        const auto best = std::ranges::find_if(candidates, [](const Candidate& candidate) {
            return has_equal_replicas(make_depth_plan(candidate).ranks);
        });
        if (best == candidates.end()) continue;
        const DepthPlan plan = make_depth_plan(*best);
        EXPECT_EQ(find_longest(problem.work, plan), find_min_longest(problem.work, 0, plan.ends.size()))
            << repeat << ": " << to_string(plan);
    }
}

TEST(DepthProposer, ProposesFewLayoutsThatPassTheCheck) {
    Draw draw(RandomKey{20261201}.then("layouts"));
    for (int repeat = 0; repeat < 200; ++repeat) {
        const DepthProblem problem = draw_depth_problem(draw);

        const std::vector<Candidate> candidates = propose_depth(problem);

        EXPECT_LE(candidates.size(), 8U);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            layout::check_layout(candidates[i].layout, problem.ranks(), problem.work.size(), "the candidate");
            EXPECT_LE(candidates[i].layout->stages.size(), problem.rules.max_stages);
            EXPECT_LE(candidates[i].microbatches, problem.max_microbatches());
            EXPECT_EQ(candidates[i].schedule, "1f1b");
            EXPECT_EQ(candidates[i].causes.back().proposer, "auto-pipe");
            for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(are_equal_plans(candidates[i], candidates[j]));
        }
    }
}

TEST(DepthProposer, LeavesRanksIdleIfTheNumberOfPipelinesIsFixed) {
    Draw draw(RandomKey{20261201}.then("fixed"));
    for (int repeat = 0; repeat < 100; ++repeat) {
        DepthProblem problem = draw_depth_problem(draw, {.min_samples = 8});
        problem.rules.fixed_pipelines = 1 + draw.below(problem.rules.nodes.size());

        const std::vector<Candidate> candidates = propose_depth(problem);

        EXPECT_FALSE(candidates.empty());
        for (const Candidate& candidate : candidates) {
            layout::check_layout(candidate.layout, problem.ranks(), problem.work.size(), "the candidate");
            const std::size_t stages = candidate.layout->stages.size();
            EXPECT_EQ(candidate.layout->idle.size() + problem.rules.fixed_pipelines * stages,
                      problem.rules.nodes.size());
            for (const layout::StageLayout& stage : candidate.layout->stages)
                EXPECT_EQ(stage.replicas.size(), problem.rules.fixed_pipelines);
        }
    }
}

bool is_within_nodes(const DepthProblem& problem, const DepthPlan& plan) {
    const std::vector<int>& nodes = problem.rules.nodes;
    for (std::size_t replica = 0; replica < plan.ranks.front().size(); ++replica) {
        const int node = nodes[static_cast<std::size_t>(plan.ranks.front()[replica])];
        for (const std::vector<int>& ranks : plan.ranks)
            if (nodes[static_cast<std::size_t>(ranks[replica])] != node) return false;
    }
    return true;
}

bool has_adjacent_replicas(const DepthPlan& plan) {
    return std::ranges::all_of(plan.ranks, [](const std::vector<int>& ranks) {
        return ranks.back() - ranks.front() == std::ssize(ranks) - 1;
    });
}

void set_nodes(DepthProblem& problem, const std::vector<int>& nodes) {
    problem.rules.nodes = nodes;
    problem.rules.layers.teams.clear();
    for (int rank = 0; rank < problem.ranks(); ++rank) problem.rules.layers.teams.push_back({rank});
    problem.observed.slowness.clear();
}

// The plans in which a pipeline crosses nodes are impossible.
TEST(DepthProposer, ProposesPipelinesWithinNodes) {
    Draw draw(RandomKey{20261201}.then("nodes"));
    for (int repeat = 0; repeat < 50; ++repeat) {
        DepthProblem problem = draw_depth_problem(draw, {.min_samples = 8});
        set_nodes(problem, {0, 0, 0, 0, 4, 4, 4, 4});
        problem.rules.max_stages = 4;

        EXPECT_FALSE(propose_depth(problem,
                                   [&](const Candidate& candidate) {
                                       const DepthPlan plan = make_depth_plan(candidate);
                                       return plan.ends.size() > 1 && has_equal_replicas(plan.ranks) &&
                                              is_within_nodes(problem, plan);
                                   })
                         .empty())
            << repeat;
    }
}

// Each node has enough ranks for one of the two pipelines.
TEST(DepthProposer, KeepsFixedPipelinesWithinNodesOfDifferentSizes) {
    Draw draw(RandomKey{20261201}.then("fixed nodes"));
    for (const std::vector<int>& nodes :
         {std::vector{0, 0, 0, 0, 4, 4, 4}, {0, 0, 0, 0, 0, 5, 5, 5}, {0, 0, 0, 3, 3}}) {
        DepthProblem problem = draw_depth_problem(draw, {.min_samples = 8});
        set_nodes(problem, nodes);
        problem.rules.max_stages = 2;
        problem.rules.fixed_pipelines = 2;

        for (const Candidate& candidate : propose_depth(problem)) {
            const DepthPlan plan = make_depth_plan(candidate);
            EXPECT_TRUE(is_within_nodes(problem, plan) || has_adjacent_replicas(plan)) << to_string(plan);
        }
    }
}

TEST(DepthProposer, ProposesOnlyPlansThatFitIntoMemory) {
    Draw draw(RandomKey{20261201}.then("memory"));
    int proposed = 0;
    for (int repeat = 0; repeat < 200; ++repeat) {
        DepthProblem problem = draw_depth_problem(draw, {.min_samples = 8});
        DepthRules& rules = problem.rules;
        const double held = std::accumulate(rules.held_bytes.begin(), rules.held_bytes.end(), 0.0);
        rules.memory_limit = held * (0.2 + draw_up_to(draw, 1));

        for (const Candidate& candidate : propose_depth(problem)) {
            ++proposed;
            EXPECT_TRUE(fits_memory(rules, make_depth_plan(candidate)));
        }
    }
    EXPECT_GT(proposed, 200);
}

// Pipelines of one or two stages need at least 9 or 13 bytes per rank.
TEST(DepthProposer, ProposesUnequalReplicasIfNothingElseFitsIntoMemory) {
    Draw draw(RandomKey{20261201}.then("unequal"));
    DepthProblem problem = draw_depth_problem(draw, {.min_samples = 8});
    set_nodes(problem, {0, 0, 0});
    problem.work = {1, 1, 1, 1, 3};
    set_costs(problem, 0, 0);
    problem.rules.layers.cuts = {0, 1, 3};
    problem.rules.layers.reduce_seconds = problem.rules.gradient_bytes = std::vector<double>(5, 0);
    problem.rules.held_bytes = {1, 1, 1, 1, 1};
    problem.rules.divided_bytes = {0, 0, 0, 0, 12};
    problem.rules.max_stages = 2;
    problem.rules.memory_limit = 8;

    const std::vector<Candidate> candidates = propose_depth(problem);

    ASSERT_FALSE(candidates.empty());
    EXPECT_EQ(make_depth_plan(candidates[0]).ends, (std::vector<std::size_t>{3, 5}));
    EXPECT_EQ(make_depth_plan(candidates[0]).ranks, (StageRanks{{0}, {1, 2}}));
}

// The possible plans are proposed even if others have shorter steps.
TEST(DepthProposer, ProposesOnlyPossiblePlans) {
    Draw draw(RandomKey{20261201}.then("possible"));
    for (int repeat = 0; repeat < 100; ++repeat) {
        DepthProblem problem = draw_depth_problem(draw, {.min_samples = 8});
        const std::size_t max_stages =
            std::min({problem.rules.max_stages, problem.rules.nodes.size(), problem.work.size()});
        const std::size_t stages = 1 + draw.below(max_stages);

        const std::vector<Candidate> candidates = propose_depth(
            problem, [&](const Candidate& candidate) { return candidate.layout->stages.size() == stages; });

        EXPECT_FALSE(candidates.empty()) << stages << " stages";
        for (const Candidate& candidate : candidates) EXPECT_EQ(candidate.layout->stages.size(), stages);
    }
}

TEST(DepthProposer, ConsidersTheStepWithTheMedianNumberOfTokens) {
    Draw draw(RandomKey{20261201}.then("median"));
    DepthProblem problem = draw_depth_problem(draw);
    std::set<std::size_t> asked;
    problem.rules.layers.costs = [&, costs = problem.rules.layers.costs](const plan::StepAhead& step,
                                                                         int count) {
        asked.insert(step.lengths.front());
        return costs(step, count);
    };
    problem.observed.ahead = {{0, {5000, 10}}, {1, {600, 600}}, {2, {900, 900}}};
    problem.step = problem.observed.ahead[2];

    EXPECT_FALSE(propose_depth(problem).empty());
    EXPECT_EQ(asked, (std::set<std::size_t>{900}));
    problem.observed.ahead.clear();
    EXPECT_TRUE(propose_depth(problem).empty());
}

}  // namespace
}  // namespace trireme::policy
