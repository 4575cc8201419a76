// Predictions of the durations of changes of plan, from the durations of earlier changes.
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
        const double bytes_deviation = bytes - mean_bytes_;
        count_ += 1;
        mean_bytes_ += bytes_deviation / count_;
        mean_seconds_ += (seconds - mean_seconds_) / count_;
        square_deviation_sum_ += bytes_deviation * (bytes - mean_bytes_);
        deviation_product_sum_ += bytes_deviation * (seconds - mean_seconds_);
    }

    // Returns the predicted seconds of a change that moves `moved_bytes` bytes; empty before the first call of
    // add().
    std::optional<double> predict_seconds(std::size_t moved_bytes) const {
        if (count_ == 0) return std::nullopt;
        return std::max(0.0,
                        mean_seconds_ + compute_slope() * (static_cast<double>(moved_bytes) - mean_bytes_));
    }

private:
    // Returns the fitted seconds per byte. Returns 0 if all changes moved the same number of bytes, or if the
    // fit is negative because a measurement was disturbed.
    double compute_slope() const {
        return square_deviation_sum_ > 0 ? std::max(0.0, deviation_product_sum_ / square_deviation_sum_) : 0;
    }

    double count_ = 0;
    double mean_bytes_ = 0, mean_seconds_ = 0;
    double square_deviation_sum_ = 0;   // sum of (bytes - mean_bytes_)^2
    double deviation_product_sum_ = 0;  // sum of (bytes - mean_bytes_) * (seconds - mean_seconds_)
};

// Corrects predicted durations of changes by the ratio between measured and predicted durations.
class ChangeCorrection {
public:
    void add(double predicted_seconds, double measured_seconds) {
        predicted_sum_ += predicted_seconds;
        measured_sum_ += measured_seconds;
    }
    double correct(double predicted_seconds) const {
        return predicted_sum_ > 0 ? predicted_seconds * measured_sum_ / predicted_sum_ : predicted_seconds;
    }

private:
    double predicted_sum_ = 0, measured_sum_ = 0;
};

}  // namespace trireme::adapt
