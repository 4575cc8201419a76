// Rules that choose the number of frozen blocks (the depth) of coming steps: the schedule of PipeTransformer
// (He et al., 2021), its rule for gradient norms, and a rule that thaws blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace trireme::policy {

struct FreezeRules {
    int blocks = 0;                  // of the model
    double alpha = 0;                // fraction of the trained blocks that may be frozen after a period
    bool follows_gradients = false;  // the rule `gradient`; otherwise `schedule`
};

// The state of a rule between two steps.
struct FreezeState {
    std::size_t periods = 0;               // T: the completed periods that count
    std::size_t held_periods = 0;          // coming periods that do not count, because blocks have thawed
    std::vector<int> earlier_depths = {};  // before each freeze that no thaw has undone, the first one first
    // Per block, since the last change of depth or end of a period: the sum, over the steps, of the squared
    // norms of the gradient. Frozen blocks have 0. Empty before the first step that updates parameters.
    std::vector<double> block_squares = {};
    std::optional<double> best_loss = {};  // the lowest loss of all evaluations
    // The loss of an evaluation after which blocks must thaw. Set only if there is a freeze to undo.
    std::optional<double> thaw_loss = {};
};

// Returns the depth S(T) of the rule `schedule` after `periods` periods: ceil(L (1 - (1 - alpha)^T)) of L
// blocks, where the product is rounded to 1e-9 first.
int find_scheduled_depth(const FreezeRules& rules, std::size_t periods);

// Returns the largest depth that the rule allows after `periods` periods, if `depth` blocks are frozen now. It
// may be below `depth`.
int find_depth_bound(const FreezeRules& rules, std::size_t periods, int depth);

// Adds a step that has updated the parameters. `block_squares` has the squared gradient norm of each block.
void add_step(const std::vector<double>& block_squares, FreezeState& state);

// Adds the loss of an evaluation. A loss that is not finite is ignored.
void add_evaluation(double loss, FreezeState& state);

// Ends `count` periods, and returns the depth of the coming steps, which is never below `depth`, the current
// one. The rule `gradient` freezes the blocks up to the one with the smallest gradient norm, within
// find_depth_bound(), and changes nothing if no step has updated the parameters. Nothing freezes after a period
// that does not count.
int end_periods(const FreezeRules& rules, std::size_t count, int depth, FreezeState& state);

// Called if `thaw_loss` is set: clears it, and returns the depth before the last freeze. The number of periods
// falls by one, and the next two periods do not count.
int thaw(FreezeState& state);

}  // namespace trireme::policy
