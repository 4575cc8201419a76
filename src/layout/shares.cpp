#include "trireme/layout/shares.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

std::string list_of(std::span<const std::size_t> numbers) {
    std::string text;
    for (const std::size_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
}

void check_shares(std::size_t count, std::span<const std::size_t> weights, const std::string& what) {
    if (std::ranges::count(weights, 0U) > 0) {
        throw ConfigError(cat(what, " cannot be cut by the shares ", list_of(weights),
                              "; make every share at least 1, or leave out the rank whose share is 0"));
    }
    if (count < weights.size()) {
        throw ConfigError(cat(count, " ", what, " cannot be shared by ", weights.size(),
                              " ranks; each needs at least one: use --tensor ", count,
                              " or less, or replicas of at most ", count, " ranks"));
    }
}

// The units that remain, and the total weight of those that share them.
struct Rest {
    std::size_t count = 0;
    std::size_t weight = 0;
};

// Gives one unit to each weight whose proportion is less than one unit. This leaves less for the others, so it
// repeats until every other proportion is at least one unit.
Rest give_the_smallest_one_unit(std::vector<std::size_t>& units, Rest rest,
                                std::span<const std::size_t> weights) {
    for (bool is_settled = false; !is_settled;) {
        is_settled = true;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            if (units[i] > 0 || rest.count * weights[i] >= rest.weight) continue;
            units[i] = 1;
            rest = {rest.count - 1, rest.weight - weights[i]};
            is_settled = false;
        }
    }
    return rest;
}

// Shares the rest among the weights without units. Remaining units go one by one to the weight with the fewest
// units per weight. Ranks wait for the one with the most units per weight, which this minimizes.
void share_in_proportion(std::vector<std::size_t>& units, Rest rest, std::span<const std::size_t> weights) {
    std::vector<std::size_t> sharers;
    std::size_t left = rest.count;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (units[i] > 0) continue;
        sharers.push_back(i);
        units[i] = rest.count * weights[i] / rest.weight;
        left -= units[i];
    }
    const auto has_less_with_one_more = [&](std::size_t i, std::size_t other) {
        return (units[i] + 1) * weights[other] < (units[other] + 1) * weights[i];
    };
    for (; left > 0; --left) ++units[*std::ranges::min_element(sharers, has_less_with_one_more)];
}

// Assigns `count` items one after another. `done` has the items that each worker already has, and is updated.
std::vector<std::size_t> turns_from(std::vector<std::size_t>& done, const std::vector<double>& parts,
                                    std::size_t count) {
    std::vector<std::size_t> turns;
    const auto end_of_next = [&](std::size_t who) { return static_cast<double>(done[who] + 1) / parts[who]; };
    for (std::size_t piece = 0; piece < count; ++piece) {
        std::size_t first = 0;
        for (std::size_t who = 1; who < parts.size(); ++who) {
            if (end_of_next(who) < end_of_next(first)) first = who;
        }
        ++done[first];
        turns.push_back(first);
    }
    return turns;
}

}  // namespace

std::vector<Range> cut_in_shares(std::size_t count, std::span<const std::size_t> weights,
                                 const std::string& what) {
    check_shares(count, weights, what);
    std::vector<std::size_t> units(weights.size(), 0);
    const Rest whole{count, std::accumulate(weights.begin(), weights.end(), std::size_t{0})};
    share_in_proportion(units, give_the_smallest_one_unit(units, whole, weights), weights);

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

std::vector<std::size_t> take_turns(const std::vector<double>& parts, std::size_t count) {
    std::vector<std::size_t> done(parts.size());
    return turns_from(done, parts, count);
}

std::vector<std::size_t> count_turns(const std::vector<double>& parts, std::size_t count) {
    const bool are_enough = count >= parts.size();
    std::vector<std::size_t> done(parts.size(), are_enough ? 1 : 0);
    turns_from(done, parts, are_enough ? count - parts.size() : count);
    return done;
}

}  // namespace trireme::layout
