#include "trireme/adapt/observer.hpp"

#include <algorithm>

namespace trireme::adapt {
namespace {

constexpr double weight_of_new = 0.3;  // weight of the last step in the moving average

void follow(double& value, double sample) { value += weight_of_new * (sample - value); }

void follow(plan::RankTimes& times, const plan::RankTimes& sample) {
    follow(times.products, sample.products);
    follow(times.product_flops, sample.product_flops);
    follow(times.whole_flops, sample.whole_flops);
    follow(times.others, sample.others);
    times.waits = times.waits * (1 - weight_of_new);
    times.waits += sample.waits * weight_of_new;
}

}  // namespace

void Observer::go_on_from(const std::vector<double>& slowness, std::size_t steady_steps) {
    watch_.go_on_from(slowness);
    steady_steps_ = steady_steps;
}

// A change of slowness restarts the averages, because earlier steps no longer predict the next ones.
std::vector<policy::SlownessChange> Observer::add(records::StepOutcome& outcome) {
    std::vector<policy::SlownessChange> changes = watch_.add(outcome.ranks);
    steady_steps_ = changes.empty() ? steady_steps_ + 1 : 0;
    if (ranks_.empty() || !changes.empty()) {
        ranks_ = outcome.ranks;
        step_seconds_ = outcome.seconds;
    } else {
        follow(step_seconds_, outcome.seconds);
        for (std::size_t r = 0; r < ranks_.size(); ++r) follow(ranks_[r], outcome.ranks[r]);
    }
    const std::vector<double> factors = watch_.factors();
    if (std::ranges::any_of(factors, [](double factor) { return factor != 1; })) outcome.slowness = factors;
    return changes;
}

void Observer::begin_plan() {
    ranks_.clear();
    watch_.shapes_change();
}

plan::Observation Observer::observed(std::size_t step) const {
    return {.step = step,
            .step_seconds = step_seconds_,
            .ranks = ranks_,
            .slowness = watch_.factors(),
            .steady_steps = steady_steps_};
}

}  // namespace trireme::adapt
