#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <set>

#include "unit/policy/depth_clock.hpp"

namespace trireme::policy {
namespace {

using schedule::Draw;

// Returns the numbers of micro-batches of a grid of K stages: K, 2 K, ... 6 K per pipeline, or fewer.
std::set<int> list_microbatches(const DepthProblem& problem, const StageRanks& grid) {
    const auto pipelines = static_cast<int>(grid.front().size());
    const int max_each = problem.max_microbatches() / pipelines;
    std::set<int> counts;
    for (int turn = 1; turn <= 6 && max_each > 0; ++turn)
        counts.insert(pipelines * std::min(max_each, turn * static_cast<int>(grid.size())));
    return counts;
}

// Finds the plan with the shortest step among all contiguous plans: on all ranks, with any number of replicas
// per stage, and grids that may leave ranks idle. Layers are cut anywhere if there are at most 4 blocks,
// otherwise at blocks. A plan that is not a grid may have the number of micro-batches of any grid.
class AllDepthPlans {
public:
    AllDepthPlans(const DepthProblem& problem, DepthClock& clock)
        : problem_(problem), clock_(clock), positions_(problem.rules.layers.cuts) {
        const int ranks = problem.ranks();
        const int fixed = static_cast<int>(problem.rules.fixed_pipelines);
        const int max_stages = std::min(ranks, static_cast<int>(problem.rules.max_stages));
        for (int stages = 1; stages <= max_stages && fixed * stages <= ranks; ++stages) {
            const int pipelines = fixed > 0 ? fixed : ranks / stages;
            for (const StageRanks& grid : list_grids(stages, pipelines)) placements_.push_back(grid);
            placements_.push_back(make_grid_within_nodes(problem.rules.nodes, static_cast<std::size_t>(stages),
                                                         static_cast<std::size_t>(pipelines)));
            const auto found = static_cast<int>(placements_.back().front().size());
            if (found == 0 || (fixed > 0 && found < fixed)) placements_.pop_back();
        }
        for (const StageRanks& grid : placements_) microbatches_.merge(list_microbatches(problem, grid));
        if (fixed == 0) {
            const std::vector<StageRanks> divisions = list_divisions(0, ranks, problem.rules.max_stages);
            placements_.insert(placements_.end(), divisions.begin(), divisions.end());
        }
        if (positions_.size() <= 6) {
            positions_.resize(problem.work.size());
            std::iota(positions_.begin(), positions_.end(), 0);
        }
        positions_.push_back(problem.work.size());
    }

    // Searches plans whose steps are shorter than `best_seconds` and, if there are any, keeps the best one.
    void find_shorter() {
        for (const int microbatches : microbatches_) {
            const LayerTable table(problem_, microbatches);
            for (const StageRanks& ranks : placements_) {
                const bool is_grid = has_equal_replicas(ranks);
                if (ranks.size() >= positions_.size()) continue;
                if (is_grid && !list_microbatches(problem_, ranks).contains(microbatches)) continue;
                if (set_placement(ranks, microbatches)) extend(table, 0, 0);
            }
        }
    }

    double best_seconds = std::numeric_limits<double>::infinity();
    DepthPlan best = {};

private:
    // Returns false if a stage has more replicas than there are micro-batches.
    bool set_placement(const StageRanks& ranks, int microbatches) {
        plan_ = {.ranks = ranks, .microbatches = microbatches};
        exchange_ = list_exchange_seconds(problem_, plan_);
        loads_.clear();
        for (const std::vector<int>& replicas : ranks) {
            const auto size = static_cast<int>(replicas.size());
            if (size > microbatches) return false;
            loads_.push_back(0);
            for (int replica = 0; replica < size; ++replica) {
                const int turns = microbatches / size + (replica < microbatches % size ? 1 : 0);
                const double slowness = problem_.find_slowness(replicas[static_cast<std::size_t>(replica)]);
                loads_.back() = std::max(loads_.back(), turns * slowness);
            }
        }
        return true;
    }

    // Returns a lower bound of the seconds of a step, from one stage: the first micro-batch must arrive, a team
    // executes all its passes, and the last micro-batch must pass the stages that remain.
    double find_min_seconds(const LayerTable& table, std::size_t begin, std::size_t end,
                            int trained_stages) const {
        const std::size_t stage = plan_.ends.size();
        const LayerSums before = table.sum(0, begin);
        const LayerSums sums = table.sum(begin, end);
        const double passes = before.forward + static_cast<double>(stage) * table.send_seconds +
                              loads_[stage] * (sums.forward + sums.backward);
        const LayerSums after = table.sum(end, table.layers());
        if (sums.trained == 0) return passes + after.forward + after.backward;
        return passes + before.backward + trained_stages * table.send_seconds + exchange_[stage] * sums.bytes;
    }

    bool fits_memory(std::size_t begin, std::size_t end) const {
        const double limit = problem_.rules.memory_limit;
        const std::size_t replicas = plan_.ranks[plan_.ends.size()].size();
        return limit == 0 || find_state_bytes(problem_.rules, begin, end, replicas) <= limit;
    }

    // Adds stages from the layer at a position on.
    void extend(const LayerTable& table, std::size_t position, int trained_stages) {
        const std::size_t later_stages = plan_.ranks.size() - plan_.ends.size() - 1;
        const std::size_t begin = positions_[position];
        const std::size_t first = later_stages == 0 ? positions_.size() - 1 : position + 1;
        for (std::size_t next = first; next + later_stages < positions_.size(); ++next) {
            const std::size_t end = positions_[next];
            if (find_min_seconds(table, begin, end, trained_stages) >= best_seconds) continue;
            if (!fits_memory(begin, end)) continue;
            plan_.ends.push_back(end);
            if (later_stages == 0) {
                judge(table);
            } else {
                extend(table, next, trained_stages + (end > problem_.first_trained_layer() ? 1 : 0));
            }
            plan_.ends.pop_back();
        }
    }

    void judge(const LayerTable& table) {
        const double seconds = clock_.predict_seconds(table, plan_);
        if (seconds >= best_seconds) return;
        best_seconds = seconds;
        best = plan_;
    }

    const DepthProblem& problem_;
    DepthClock& clock_;
    std::vector<std::size_t> positions_;  // layers at which stages begin, and the number of layers
    std::vector<StageRanks> placements_;
    std::set<int> microbatches_;
    DepthPlan plan_;
    std::vector<double> exchange_;  // per stage: at least these seconds per byte
    std::vector<double> loads_;     // per stage: the most micro-batches of a replica, times its slowness
};

// Compares the best candidates of problems with the best plans of all.
class Comparison {
public:
    void compare(std::uint64_t seed, const DepthProblem& problem) {
        AllDepthPlans all(problem, clock_);
        for (const Candidate& candidate : propose_depth(problem, clock_)) {
            const LayerTable table(problem, candidate.microbatches);
            all.best_seconds =
                std::min(all.best_seconds, clock_.predict_seconds(table, make_depth_plan(candidate)));
        }
        const double seconds = all.best_seconds;
        all.find_shorter();
        if (all.best_seconds == std::numeric_limits<double>::infinity())
            return;  // too few samples for any plan
        ratios_.push_back(seconds / all.best_seconds);
        EXPECT_LE(ratios_.back(), max_ratio) << "seed " << seed << ": the best plan is " << to_string(all.best);
    }

    void record() {
        std::ranges::sort(ratios_);
        const std::size_t count = ratios_.size();
        const auto close = std::ranges::upper_bound(ratios_, max_ratio) - ratios_.begin();
        std::cout << "    best candidate to best plan: median " << ratios_[count / 2] << ", 95 % "
                  << ratios_[count * 95 / 100] << ", worst " << ratios_.back() << "; " << close << " of "
                  << count << " are at most " << max_ratio << "\n";
        testing::Test::RecordProperty("worst_ratio_to_best_plan", cat(ratios_.back()));
    }

private:
    static constexpr double max_ratio = 1.02;

    DepthClock clock_;
    std::vector<double> ratios_;
};

TEST(ExhaustiveDepth, ComesCloseToTheBestPlan) {
    Comparison comparison;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        Draw draw(RandomKey{seed}.then("depth"));
        comparison.compare(seed, draw_depth_problem(draw));
    }
    comparison.record();
}

TEST(ExhaustiveDepth, ComesCloseToTheBestPlanOfAFixedNumberOfPipelines) {
    Comparison comparison;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Draw draw(RandomKey{seed}.then("depth"));
        DepthProblem problem = draw_depth_problem(draw);
        problem.rules.fixed_pipelines = 1 + draw.below(problem.rules.nodes.size());
        comparison.compare(seed, problem);
    }
    comparison.record();
}

}  // namespace
}  // namespace trireme::policy
