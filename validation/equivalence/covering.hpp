// Few cases that stand for the product of many factors.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace trireme::equivalence {

// The level of each factor, or `open` where it is not chosen yet.
using Case = std::vector<int>;
inline constexpr int open = -1;

// False where the chosen levels contradict each other, whatever the open ones will be.
using Rule = std::function<bool(const Case&)>;

// `levels`: of each factor, how many it has.
class Product {
public:
    Product(std::vector<int> levels, Rule rule) : levels_(std::move(levels)), rule_(std::move(rule)) {}

    // With levels for the open factors that keep the rule, the lowest ones; none where there are none.
    std::optional<Case> completed(Case chosen) const;

    // Cases that keep the rule and have no open factor, such that every combination of levels of `ways` (2 or
    // more) factors that is in some case of the product is in one of these. Greedy: each case takes a
    // combination that is missing and then, factor by factor, the level that brings most missing ones (Cohen,
    // Dalal, Fredman and Patton, 1997). The same on every machine.
    std::vector<Case> covering(int ways) const;

    // Calls visit(case) for every case of the product, the last factor's level changing fastest.
    void for_each(const std::function<void(const Case&)>& visit) const;

    const std::vector<int>& levels() const { return levels_; }

private:
    void visit_from(std::size_t factor, Case& chosen, const std::function<void(const Case&)>& visit) const;

    std::vector<int> levels_;
    Rule rule_;
};

// Pairs of a factor and its level, one behind the other, the factors ascending.
using Combination = std::vector<int>;

// What a case holds of `ways` factors, open ones left out.
std::vector<Combination> combinations_of(const Case& chosen, int ways);

}  // namespace trireme::equivalence
