#include "trireme/policy/freeze.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trireme::policy {
namespace {

constexpr double max_loss_increase = 1.01;  // relative to the best loss
constexpr std::size_t periods_held_after_thaw = 2;

// Rounds up a number of blocks. Rounding errors must not add a block.
int round_up(double blocks) { return static_cast<int>(std::ceil(std::round(blocks * 1e9) / 1e9)); }

// Returns the trained block with the smallest sum of squares; the lowest one of several.
int find_quietest_block(const std::vector<double>& squares, int depth) {
    return static_cast<int>(std::min_element(squares.begin() + depth, squares.end()) - squares.begin());
}

}  // namespace

int find_scheduled_depth(const FreezeRules& rules, std::size_t periods) {
    return round_up(rules.blocks * (1 - std::pow(1 - rules.alpha, static_cast<double>(periods))));
}

int find_depth_bound(const FreezeRules& rules, std::size_t periods, int depth) {
    const int scheduled_depth = find_scheduled_depth(rules, periods);
    if (!rules.follows_gradients) return scheduled_depth;
    return std::min(scheduled_depth, round_up(depth + rules.alpha * (rules.blocks - depth)));
}

void add_step(const std::vector<double>& block_squares, FreezeState& state) {
    state.block_squares.resize(block_squares.size());
    for (std::size_t block = 0; block < block_squares.size(); ++block)
        state.block_squares[block] += block_squares[block];
}

void add_evaluation(double loss, FreezeState& state) {
    if (!std::isfinite(loss)) return;
    const bool has_risen = state.best_loss && loss > max_loss_increase * *state.best_loss;
    if (has_risen && !state.earlier_depths.empty()) state.thaw_loss = loss;
    state.best_loss = std::min(loss, state.best_loss.value_or(loss));
}

int end_periods(const FreezeRules& rules, std::size_t count, int depth, FreezeState& state) {
    const std::vector<double> block_squares = std::exchange(state.block_squares, {});
    const std::size_t held = std::min(count, state.held_periods);
    state.held_periods -= held;
    state.periods += count - held;
    if (held == count) return depth;
    int next_depth = find_depth_bound(rules, state.periods, depth);
    if (rules.follows_gradients) {
        if (block_squares.empty()) return depth;
        next_depth = std::min(next_depth, find_quietest_block(block_squares, depth) + 1);
    }
    if (next_depth <= depth) return depth;
    state.earlier_depths.push_back(depth);
    return next_depth;
}

int thaw(FreezeState& state) {
    state.thaw_loss.reset();
    const int earlier_depth = state.earlier_depths.back();
    state.earlier_depths.pop_back();
    state.periods -= std::min<std::size_t>(state.periods, 1);
    state.held_periods = periods_held_after_thaw;
    state.block_squares.clear();
    return earlier_depth;
}

}  // namespace trireme::policy
