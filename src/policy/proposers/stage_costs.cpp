#include "policy/proposers/stage_costs.hpp"

#include <functional>

namespace trireme::policy {

StageCosts::StageCosts(const CutProblem& problem)
    : is_divided_(problem.replica_work == ReplicaWork::divided),
      has_equal_teams_(std::ranges::adjacent_find(problem.slowness, std::not_equal_to<>()) ==
                       problem.slowness.end()),
      reduce_overlap_(problem.reduce_overlap),
      microbatches_(problem.microbatches),
      send_seconds_(problem.send_seconds),
      teams_(problem.slowness.size()),
      begins_(problem.cuts),
      work_(add_runs(problem.layer_seconds)),
      reduce_(add_runs(problem.reduce_seconds)),
      memory_limit_(problem.memory.limit),
      slowness_((teams_ + 1) * (teams_ + 1), 1) {
    begins_.push_back(problem.layer_seconds.size());
    if (memory_limit_ > 0) {
        held_bytes_ = add_runs(problem.memory.held_bytes);
        divided_bytes_ = add_runs(problem.memory.divided_bytes);
    }
    const CutBounds& bounds = problem.bounds;
    run_limits_ = {std::max<std::size_t>(1, bounds.min_runs), std::min(runs(), bounds.max_runs)};
    const auto microbatches = static_cast<std::size_t>(problem.microbatches);
    replica_limits_ = {std::max<std::size_t>(1, bounds.min_replicas),
                       std::min({teams_, microbatches, bounds.max_replicas}), bounds.replica_step};
    for (std::size_t r = 1; r <= replica_limits_.max; ++r) {
        const std::size_t executed = is_divided_ ? microbatches : (microbatches + r - 1) / r;
        later_microbatches_.push_back(static_cast<double>(executed - 1));
        reductions_.push_back(2 * static_cast<double>(r - 1) / static_cast<double>(r));
    }
    for (std::size_t team = 0; team < teams_; ++team) {
        double slowest = 0;
        for (std::size_t r = 1; team + r <= teams_; ++r) {
            slowest = std::max(slowest, problem.slowness[team + r - 1]);
            slowness_[team * (teams_ + 1) + r] = slowest;
        }
    }
}

std::vector<double> StageCosts::add_runs(const std::vector<double>& layer_seconds) const {
    std::vector<double> sums;
    double sum = 0;
    for (std::size_t layer = 0; layer < layer_seconds.size(); ++layer) {
        if (sums.size() < begins_.size() && begins_[sums.size()] == layer) sums.push_back(sum);
        sum += layer_seconds[layer];
    }
    sums.push_back(sum);
    return sums;
}

}  // namespace trireme::policy
