// Slows a device down artificially, so that users can try how runs deal with stragglers.
#pragma once

namespace trireme::device {

struct Cost;

// Factors by which kernels take longer; each is at least 1. Matmuls with weights have the factor all * matmuls.
// Other kernels have the factor `all`.
struct SlowFactors {
    double all = 1;
    double matmuls = 1;

    friend bool operator==(const SlowFactors&, const SlowFactors&) = default;
};

// Multiplies the time of kernels. The extra time of kernels accumulates as owed time. Once the owed time is
// long enough for a sleep, the rank sleeps. A sleep takes about 50 microseconds too long; the excess is
// subtracted from the owed time. In a simulation, owed time is spent after each kernel, by advancing the
// simulated time.
class Slowness {
public:
    // Sets the factors of later kernels. If they differ from the current factors, owed time is cancelled.
    void set(const SlowFactors& factors);

    // Called after a kernel that took `seconds`. Returns the time of the kernel on the slow device.
    double add_kernel(const Cost& cost, double seconds) {
        return factors_ == SlowFactors{} ? seconds : prolong(cost, seconds);
    }

    // Spends the owed time. Called before results are sent, so that other ranks receive them no sooner than
    // from a slow device.
    void spend_owed_time();

    double owed_seconds() const { return owed_seconds_; }  // seconds; negative if a sleep took too long

private:
    double prolong(const Cost& cost, double seconds);

    SlowFactors factors_ = {};
    double owed_seconds_ = 0;
};

}  // namespace trireme::device
