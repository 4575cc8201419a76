#include "adapt/published_decisions.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "adapt/layout_rules.hpp"

namespace trireme::adapt {
namespace {

// Returns the first layer of each block. The embedding counts as a part of the first block, and the head as a
// part of the last one. `cuts` has the first layers of the embedding, of each block and of the head.
std::vector<std::size_t> list_block_cuts(std::vector<std::size_t> cuts) {
    cuts.erase(cuts.begin() + 1);
    if (cuts.size() > 1) cuts.pop_back();
    return cuts;
}

}  // namespace

PublishedDecisions::PublishedDecisions(const setup::Job& job, const setup::PlanState& current,
                                       policy::LengthRules rules, CandidateOutlook& outlook)
    : job_(job), current_(current), outlook_(outlook) {
    rules_.lengths = std::move(rules);
    rules_.lengths.cuts = list_block_cuts(std::move(rules_.lengths.cuts));
    rules_.team_bytes = static_cast<double>(std::ranges::min(job.memory_limits)) *
                        static_cast<double>(rules_.lengths.teams.front().size());
    rules_.peak_bytes = [this](const plan::StepAhead& step) { return predict_peak_bytes(step); };
    rules_.max_blocks = [this](const plan::StepAhead& step) { return count_max_blocks(step); };
}

policy::PublishedVerdict PublishedDecisions::decide(const plan::Observation& observed,
                                                    const policy::Candidate& current, double scale) {
    policy::PublishedRules rules = rules_;
    rules.lengths.costs = [&](const plan::StepAhead& step, int microbatches) {
        policy::LengthCosts costs = rules_.lengths.costs(step, microbatches);
        for (double& seconds : costs.layer_seconds) seconds *= scale;
        return costs;
    };
    rules.memory_plan_seconds = [&](const plan::StepAhead& step) {
        return outlook_.predict_memory_plan_seconds(current, step.step);
    };
    return decide_published(observed, current, rules, outlook_);
}

// Predicts equal micro-batches. The replicas of a stage may differ in their memory; the largest one counts.
double PublishedDecisions::predict_peak_bytes(const plan::StepAhead& step) {
    const plan::Plan& plan = current_.plan;
    if (!bytes_ || bytes_layout_ != plan.layout) {
        bytes_layout_ = plan.layout;
        bytes_.emplace(setup::SizedPlan{job_, current_}, job_.config.optimizer, current_.gradients,
                       static_cast<int>(job_.memory_limits.size()), job_.config.run.checkpoint_every > 0);
    }
    const int microbatches = plan.microbatches();
    const std::vector<std::vector<std::size_t>> bytes = bytes_->predict_bytes(std::vector(
        static_cast<std::size_t>(microbatches), make_typical_microbatch(job_, step.lengths, microbatches)));
    double sum = 0;
    for (const layout::StageLayout& stage : plan.layout.stages) {
        std::size_t largest = 0;
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            const auto& of_team = bytes[static_cast<std::size_t>(plan.find_team(replica.ranks.front()))];
            largest = std::max(largest, std::accumulate(of_team.begin(), of_team.end(), std::size_t{0}));
        }
        sum += static_cast<double>(largest);
    }
    return sum;
}

std::size_t PublishedDecisions::count_max_blocks(const plan::StepAhead& step) {
    const auto blocks = static_cast<double>(rules_.lengths.cuts.size());
    return static_cast<std::size_t>(std::max(1.0, rules_.team_bytes * blocks / predict_peak_bytes(step)));
}

}  // namespace trireme::adapt
