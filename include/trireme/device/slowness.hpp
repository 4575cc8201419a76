// Slows a device down artificially, so that users can try how runs cope with stragglers.
#pragma once

namespace trireme::device {

struct Cost;

// Slowdown factors, at least 1: of all kernels, and an additional one of matmuls with weights.
struct SlowFactors {
    double all = 1;
    double products = 1;

    friend bool operator==(const SlowFactors&, const SlowFactors&) = default;
};

// Multiplies the time of kernels. The extra time is owed first, and spent once
// it is long enough for a sleep. A sleep overshoots by some 50 microseconds,
// which are subtracted from what is owed next. Simulated time is spent at once.
class Slowness {
public:
    // Sets the factors of later kernels. If they differ from the current ones, owed time is cancelled.
    void set(const SlowFactors& factors);

    // Called after a kernel that took `seconds`. Returns its time on the slow device.
    double after_kernel(const Cost& cost, double seconds) {
        return factors_ == SlowFactors{} ? seconds : prolong(cost, seconds);
    }

    // Spends the owed time. Called before other ranks may see
    // results, so that they see them no sooner than on a slow device.
    void settle();

    double owed() const { return owed_; }  // seconds; negative if a sleep took too long

private:
    double prolong(const Cost& cost, double seconds);

    SlowFactors factors_ = {};
    double owed_ = 0;
};

}  // namespace trireme::device
