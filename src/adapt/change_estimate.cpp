#include "trireme/adapt/change_estimate.hpp"

#include <algorithm>

namespace trireme {

void ChangeEstimate::add(std::size_t moved_bytes, double seconds) {
    const auto bytes = static_cast<double>(moved_bytes);
    const double before = bytes - mean_bytes_;
    count_ += 1;
    mean_bytes_ += before / count_;
    mean_seconds_ += (seconds - mean_seconds_) / count_;
    square_bytes_ += before * (bytes - mean_bytes_);
    product_ += before * (seconds - mean_seconds_);
}

// More bytes never take less time; what says so was disturbed by something else.
double ChangeEstimate::slope() const { return square_bytes_ > 0 ? std::max(0.0, product_ / square_bytes_) : 0; }

std::optional<double> ChangeEstimate::seconds(std::size_t moved_bytes) const {
    if (count_ == 0) return std::nullopt;
    return std::max(0.0, mean_seconds_ + slope() * (static_cast<double>(moved_bytes) - mean_bytes_));
}

}  // namespace trireme
