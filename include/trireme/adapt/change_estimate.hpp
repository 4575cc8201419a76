// Estimates how long a change of plan takes from the changes that a run has made.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

namespace trireme::adapt {

// Fits seconds to moved bytes by least squares: a change takes a constant time plus a time per byte.
class ChangeEstimate {
public:
    void add(std::size_t moved_bytes, double seconds) {
        const auto bytes = static_cast<double>(moved_bytes);
        const double before = bytes - mean_bytes_;
        count_ += 1;
        mean_bytes_ += before / count_;
        mean_seconds_ += (seconds - mean_seconds_) / count_;
        square_bytes_ += before * (bytes - mean_bytes_);
        product_ += before * (seconds - mean_seconds_);
    }

    // Returns the predicted seconds; empty before the first change.
    std::optional<double> seconds(std::size_t moved_bytes) const {
        if (count_ == 0) return std::nullopt;
        return std::max(0.0, mean_seconds_ + slope() * (static_cast<double>(moved_bytes) - mean_bytes_));
    }

private:
    // The slope is never negative: more bytes do not take less time, so such a measurement was disturbed.
    double slope() const { return square_bytes_ > 0 ? std::max(0.0, product_ / square_bytes_) : 0; }

    double count_ = 0;
    double mean_bytes_ = 0, mean_seconds_ = 0;
    double square_bytes_ = 0;  // sum of (bytes - mean)^2
    double product_ = 0;       // sum of (bytes - mean) (seconds - mean)
};

}  // namespace trireme::adapt
