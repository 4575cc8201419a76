#include "schedule/search/activation_budget.hpp"

#include <algorithm>

namespace trireme::schedule {

ActivationBudget::ActivationBudget(const std::vector<int>& needed_activations) {
    for (const int needed : needed_activations) {
        microbatch_uses_.push_back({.remaining = needed});
        max_needed_ = std::max(max_needed_, needed);
    }
}

bool ActivationBudget::may_stash(std::size_t microbatch) const {
    int available = limit_ - stashed_ - 1;  // number of activations that fit after this one
    // No loop is needed if this activation does not fit, or if `available` suffices for every micro-batch.
    if (available < 0 || available >= max_needed_) return available >= 0;
    for (std::size_t earlier = first_unfinished_; earlier < microbatch; ++earlier) {
        if (microbatch_uses_[earlier].remaining > available) return false;
        available += microbatch_uses_[earlier].stashed;
    }
    return true;
}

void ActivationBudget::stash_activation(std::size_t microbatch) {
    ++microbatch_uses_[microbatch].stashed;
    --microbatch_uses_[microbatch].remaining;
    peak_ = std::max(peak_, ++stashed_);
}

void ActivationBudget::release_activation(std::size_t microbatch) {
    --microbatch_uses_[microbatch].stashed;
    --stashed_;
    const auto is_finished = [](const MicrobatchUse& use) { return use.stashed == 0 && use.remaining == 0; };
    while (first_unfinished_ < microbatch_uses_.size() && is_finished(microbatch_uses_[first_unfinished_]))
        ++first_unfinished_;
}

}  // namespace trireme::schedule
