#include "trireme/layout/shares.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::layout {
namespace {

std::string join_numbers(std::span<const std::size_t> numbers) {
    std::string text;
    for (const std::size_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
}

void check_shares(std::size_t count, std::span<const std::size_t> weights, const std::string& what) {
    if (std::ranges::count(weights, 0U) > 0) {
        throw ConfigError(cat(what, " cannot be divided by the shares ", join_numbers(weights),
                              "; make every share at least 1, or remove the rank whose share is 0"));
    }
    if (count < weights.size()) {
        throw ConfigError(cat("a replica of ", weights.size(), " ranks needs at least ", weights.size(), " ",
                              what, ", but the model has ", count, "; use --tensor ", count,
                              " or less, or replicas of at most ", format_count(count, "rank")));
    }
}

struct RemainingUnits {
    std::size_t count = 0;   // number of units that no weight has yet
    std::size_t weight = 0;  // sum of the weights that have no unit yet
};

// Gives one unit to each weight whose proportional number of units, remaining.count * weight /
// remaining.weight, is below one. Each such unit reduces the proportional numbers of the other weights, so the
// function repeats until all these numbers are at least one. `units` has the number of units per weight.
// Returns what remains for the weights without a unit.
RemainingUnits give_one_unit_to_small_weights(std::vector<std::size_t>& units, RemainingUnits remaining,
                                              std::span<const std::size_t> weights) {
    for (bool is_settled = false; !is_settled;) {
        is_settled = true;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            if (units[i] > 0 || remaining.count * weights[i] >= remaining.weight) continue;
            units[i] = 1;
            remaining = {remaining.count - 1, remaining.weight - weights[i]};
            is_settled = false;
        }
    }
    return remaining;
}

// Gives the remaining units to the weights that have none, in proportion, rounded down. Then gives each unit
// that rounding leaves to the weight with the smallest (units + 1) / weight, where `units` is the number of
// units that the weight has already. This rule minimizes the maximum of units / weight: the ranks of a team
// wait for the rank with this maximum.
void distribute_in_proportion(std::vector<std::size_t>& units, RemainingUnits remaining,
                              std::span<const std::size_t> weights) {
    std::vector<std::size_t> receivers;  // indices of the weights that have no unit yet
    std::size_t undistributed = remaining.count;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (units[i] > 0) continue;
        receivers.push_back(i);
        units[i] = remaining.count * weights[i] / remaining.weight;
        undistributed -= units[i];
    }
    // Compares (units + 1) / weight without rounding.
    const auto has_smaller_quotient = [&](std::size_t i, std::size_t other) {
        return (units[i] + 1) * weights[other] < (units[other] + 1) * weights[i];
    };
    for (; undistributed > 0; --undistributed)
        ++units[*std::ranges::min_element(receivers, has_smaller_quotient)];
}

// Assigns `count` items by the rule of assign_turns() and returns the worker of each item. `item_counts` has
// the number of items that each worker already has, and is updated.
std::vector<std::size_t> assign_more_turns(std::vector<std::size_t>& item_counts,
                                           const std::vector<double>& speeds, std::size_t count) {
    std::vector<std::size_t> workers;
    const auto compute_finish_time = [&](std::size_t worker) {
        return static_cast<double>(item_counts[worker] + 1) / speeds[worker];
    };
    for (std::size_t item = 0; item < count; ++item) {
        std::size_t earliest = 0;
        for (std::size_t worker = 1; worker < speeds.size(); ++worker) {
            if (compute_finish_time(worker) < compute_finish_time(earliest)) earliest = worker;
        }
        ++item_counts[earliest];
        workers.push_back(earliest);
    }
    return workers;
}

}  // namespace

std::vector<Range> cut_by_weights(std::size_t count, std::span<const std::size_t> weights,
                                  const std::string& what) {
    check_shares(count, weights, what);
    if (weights.size() == 1) return {{0, count}};
    std::vector<std::size_t> units(weights.size(), 0);
    const RemainingUnits all_units{count, std::accumulate(weights.begin(), weights.end(), std::size_t{0})};
    distribute_in_proportion(units, give_one_unit_to_small_weights(units, all_units, weights), weights);

    std::vector<Range> ranges;
    std::size_t begin = 0;
    for (const std::size_t length : units) {
        ranges.push_back({begin, length});
        begin += length;
    }
    return ranges;
}

std::vector<Range> cut_evenly(std::size_t count, std::size_t parts) {
    std::vector<Range> ranges;
    ranges.reserve(parts);
    std::size_t begin = 0;
    for (std::size_t p = 0; p < parts; ++p) {
        const std::size_t length = count / parts + (p < count % parts ? 1 : 0);
        ranges.push_back({begin, length});
        begin += length;
    }
    return ranges;
}

std::vector<std::size_t> assign_turns(const std::vector<double>& speeds, std::size_t count) {
    std::vector<std::size_t> item_counts(speeds.size());
    return assign_more_turns(item_counts, speeds, count);
}

std::vector<std::size_t> count_turns(const std::vector<double>& speeds, std::size_t count) {
    const bool has_item_for_each = count >= speeds.size();
    std::vector<std::size_t> item_counts(speeds.size(), has_item_for_each ? 1 : 0);
    assign_more_turns(item_counts, speeds, has_item_for_each ? count - speeds.size() : count);
    return item_counts;
}

}  // namespace trireme::layout
