// Cuts a list into consecutive runs of minimal combined cost.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// The cost of a run that is not allowed.
inline constexpr double infinite_cost = std::numeric_limits<double>::infinity();

struct BestCut {
    double cost = infinite_cost;
    std::vector<std::size_t> lengths = {};  // items per run; meaningless if `cost` is infinite_cost
};

// Returns the cheapest way to cut `items` items into `runs` >= 1 runs of at least one item each. The cost of
// the result is infinite_cost if every cut has this cost, or if there are fewer items than runs.
//
// `cost(index, run)` is the cost of run number `index` (from 0) if this run consists of the range `run` of
// items. `join(a, b)` combines `a`, the cost of all previous runs, with `b`, the cost of the next run. The
// result of `join` must not decrease if `a` or `b` increases. The algorithm is dynamic programming.
template <class Cost, class Join>
BestCut find_best_cut(std::size_t items, std::size_t runs, const Cost& cost, const Join& join) {
    struct Choice {
        double cost = infinite_cost;
        std::size_t begin = 0;  // first item of the last run
    };
    // best[run][end] is the best cut of the first `end` items into run + 1 runs.
    std::vector<std::vector<Choice>> best(runs, std::vector<Choice>(items + 1));
    for (std::size_t end = 1; end <= items; ++end) best[0][end].cost = cost(0, Range{0, end});
    for (std::size_t run = 1; run < runs; ++run) {
        for (std::size_t end = run + 1; end <= items; ++end) {
            Choice& choice = best[run][end];
            for (std::size_t begin = run; begin < end; ++begin) {
                const double combined = join(best[run - 1][begin].cost, cost(run, Range{begin, end - begin}));
                if (combined < choice.cost) choice = {combined, begin};
            }
        }
    }
    BestCut found{best[runs - 1][items].cost, std::vector<std::size_t>(runs)};
    std::size_t end = items;
    for (std::size_t run = runs; run-- > 0;) {
        const std::size_t begin = best[run][end].begin;
        found.lengths[run] = end - begin;
        end = begin;
    }
    return found;
}

}  // namespace trireme::layout
