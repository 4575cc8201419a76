#include "trireme/policy/clock_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/policy/clocks.hpp"

namespace trireme::policy {
namespace {

double average(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// True if the joules have risen at each of the last five clocks.
bool has_risen_for_long(const std::vector<plan::ClockCost>& measured) {
    constexpr std::size_t rises = 5;
    if (measured.size() <= rises) return false;
    const auto falls = [](const plan::ClockCost& one, const plan::ClockCost& next) {
        return next.joules <= one.joules;
    };
    return std::adjacent_find(measured.end() - rises - 1, measured.end(), falls) == measured.end();
}

}  // namespace

double average_typical(const std::vector<double>& values) {
    const double mean = average(values);
    if (values.size() <= 3) return mean;
    double square_sum = 0;
    for (const double value : values) square_sum += (value - mean) * (value - mean);
    const double deviation = std::sqrt(square_sum / static_cast<double>(values.size()));
    std::vector<double> typical = values;
    std::erase_if(typical, [&](double value) { return std::abs(value - mean) > deviation; });
    return typical.empty() ? mean : average(typical);  // equal values may differ from their rounded mean
}

plan::ClockCost average_costs(const std::vector<plan::ClockCost>& steps) {
    plan::ClockCost costs = steps.front();
    for (double plan::ClockCost::*field :
         {&plan::ClockCost::forward, &plan::ClockCost::backward, &plan::ClockCost::update,
          &plan::ClockCost::idle_watts, &plan::ClockCost::busy_watts, &plan::ClockCost::joules,
          &plan::ClockCost::step_seconds}) {
        std::vector<double> values;
        for (const plan::ClockCost& step : steps) values.push_back(step.*field);
        costs.*field = average_typical(values);
    }
    return costs;
}

std::optional<int> find_next_clock(const plan::ReplicaCosts& costs) {
    const std::vector<int> candidates = list_candidate_clocks(costs.clocks);
    if (costs.measured.size() >= candidates.size() || has_risen_for_long(costs.measured)) return std::nullopt;
    return candidates[costs.measured.size()];
}

std::size_t count_sweep_steps(const std::vector<std::vector<int>>& clocks) {
    std::size_t most = 0;
    for (const std::vector<int>& of_device : clocks)
        most = std::max(most, list_candidate_clocks(of_device).size());
    return most * sweep_steps_per_clock;
}

}  // namespace trireme::policy
