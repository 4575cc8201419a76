#include "schedule/search/activation_room.hpp"

#include <algorithm>

namespace trireme::schedule {

ActivationRoom::ActivationRoom(const std::vector<int>& needed) {
    for (const int count : needed) {
        claims_.push_back({.to_come = count});
        largest_ = std::max(largest_, count);
    }
}

bool ActivationRoom::is_safe_for(std::size_t microbatch) const {
    int free = most_ - kept_ - 1;
    if (free < 0 || free >= largest_) return free >= 0;
    for (std::size_t older = oldest_; older < microbatch; ++older) {
        if (claims_[older].to_come > free) return false;
        free += claims_[older].kept;
    }
    return true;
}

void ActivationRoom::keep(std::size_t microbatch) {
    ++claims_[microbatch].kept;
    --claims_[microbatch].to_come;
    peak_ = std::max(peak_, ++kept_);
}

void ActivationRoom::release(std::size_t microbatch) {
    --claims_[microbatch].kept;
    --kept_;
    const auto is_done = [](const Claim& claim) { return claim.kept == 0 && claim.to_come == 0; };
    while (oldest_ < claims_.size() && is_done(claims_[oldest_])) ++oldest_;
}

}  // namespace trireme::schedule
