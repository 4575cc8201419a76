// How long a change of plan will take, by those that have been.
#pragma once

#include <cstddef>
#include <optional>

namespace trireme {

// The line of least squares through bytes moved and seconds: what a change takes whatever it moves, and what it
// takes for each byte.
class ChangeEstimate {
public:
    void add(std::size_t moved_bytes, double seconds);

    std::optional<double> seconds(std::size_t moved_bytes) const;  // none: there was no change yet

private:
    double slope() const;

    double count_ = 0;
    double mean_bytes_ = 0, mean_seconds_ = 0;
    double square_bytes_ = 0;  // sum of (bytes - mean)^2
    double product_ = 0;       // sum of (bytes - mean) (seconds - mean)
};

}  // namespace trireme
