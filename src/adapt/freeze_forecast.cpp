#include "trireme/adapt/freeze_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "adapt/freeze_chooser.hpp"
#include "trireme/policy/freeze.hpp"

namespace trireme::adapt {
namespace {

constexpr std::size_t max_periods = 1000;  // that a forecast lists

// Returns the number of periods that end before the last step; the largest number if it is not known.
std::size_t count_periods(const config::RunConfig& config) {
    const std::size_t every = config.policy.freeze.every;
    if (every > 0 && config.run.steps > 0) return (config.run.steps - 1) / every;
    if (every == 0 && config.data.epochs > 0)
        return static_cast<std::size_t>(std::max(0.0, std::ceil(config.data.epochs) - 1));
    return std::numeric_limits<std::size_t>::max();
}

}  // namespace

std::vector<int> list_scheduled_depths(const config::RunConfig& config, int blocks) {
    if (!may_freeze(config.policy)) return {};
    const policy::FreezeRules rules{.blocks = blocks, .alpha = config.policy.freeze.alpha};
    const std::size_t last_period = count_periods(config);
    std::vector<int> depths{config.layout.frozen};
    while (depths.back() < blocks && depths.size() <= std::min(last_period, max_periods))
        depths.push_back(std::max(depths.back(), find_scheduled_depth(rules, depths.size())));
    return depths;
}

std::size_t count_first_steps(const setup::Job& job, const setup::PlanState& current) {
    return FreezeChooser(job, current).find_next_period_end(0);
}

}  // namespace trireme::adapt
