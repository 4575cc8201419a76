#include "trireme/adapt/observer.hpp"

#include <algorithm>
#include <utility>

namespace trireme::adapt {
namespace {

constexpr double last_step_weight = 0.3;  // weight of the last step in the moving average

void update_average(double& average, double measured) { average += last_step_weight * (measured - average); }

void update_average(plan::RankTimes& averages, const plan::RankTimes& measured) {
    update_average(averages.matmuls, measured.matmuls);
    update_average(averages.matmul_flops, measured.matmul_flops);
    update_average(averages.full_flops, measured.full_flops);
    update_average(averages.others, measured.others);
    averages.waits = averages.waits * (1 - last_step_weight);
    averages.waits += measured.waits * last_step_weight;
}

}  // namespace

void Observer::resume_from(const std::vector<double>& slowness, std::size_t steady_steps) {
    watch_.resume_from(slowness);
    steady_steps_ = steady_steps;
}

// A low clock is not slowness, so kernels count with their times at the highest clock. A change of slowness
// restarts the averages, because earlier steps no longer predict the next ones.
std::vector<policy::SlownessChange> Observer::add(records::StepOutcome& outcome) {
    std::vector<plan::RankTimes> ranks;
    for (const plan::RankTimes& times : outcome.ranks) ranks.push_back(times.at_highest_clock());
    std::vector<policy::SlownessChange> changes = watch_.add(ranks);
    steady_steps_ = changes.empty() ? steady_steps_ + 1 : 0;
    if (ranks_.empty() || !changes.empty()) {
        ranks_ = std::move(ranks);
        step_seconds_ = outcome.seconds;
    } else {
        update_average(step_seconds_, outcome.seconds);
        for (std::size_t r = 0; r < ranks_.size(); ++r) update_average(ranks_[r], ranks[r]);
    }
    const std::vector<double> factors = watch_.factors();
    if (std::ranges::any_of(factors, [](double factor) { return factor != 1; })) outcome.slowness = factors;
    return changes;
}

void Observer::begin_plan() { ranks_.clear(); }

plan::Observation Observer::make_observation(std::size_t step) const {
    return {.step = step,
            .step_seconds = step_seconds_,
            .ranks = ranks_,
            .slowness = watch_.factors(),
            .steady_steps = steady_steps_};
}

}  // namespace trireme::adapt
