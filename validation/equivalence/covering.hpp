// Covering arrays: few cases that contain all combinations of levels of a few factors.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace trireme::equivalence {

// The level of each factor, or `open` if it is not chosen yet.
using Case = std::vector<int>;
inline constexpr int open = -1;

// Returns false if the chosen levels contradict each other for all levels of the open factors.
using Rule = std::function<bool(const Case&)>;

// All combinations of levels that keep a rule. `levels` has the number of levels per factor.
class CaseSpace {
public:
    CaseSpace(std::vector<int> levels, Rule rule) : levels_(std::move(levels)), rule_(std::move(rule)) {}

    // Returns the case with the lowest levels of the open factors that keep the rule; empty if there are none.
    std::optional<Case> completed(Case chosen) const;

    // Returns complete cases that keep the rule and contain every combination of levels of `ways` (2 or more)
    // factors that any case of the space contains. Greedy: each case starts with a missing combination. Then
    // each factor gets the level that adds the most missing combinations (Cohen, Dalal, Fredman and Patton,
    // 1997). The result is the same on every machine.
    std::vector<Case> covering(int ways) const;

    // Calls visit(case) for every case. The level of the last factor changes fastest.
    void for_each(const std::function<void(const Case&)>& visit) const;

    const std::vector<int>& levels() const { return levels_; }

private:
    void visit_from(std::size_t factor, Case& chosen, const std::function<void(const Case&)>& visit) const;

    std::vector<int> levels_;
    Rule rule_;
};

// A sequence of pairs (factor, level) with ascending factors.
using Combination = std::vector<int>;

// Returns all combinations of `ways` factors in a case, without open factors.
std::vector<Combination> find_combinations(const Case& chosen, int ways);

}  // namespace trireme::equivalence
