// A device that is slower than the machine makes it, so that people can try what slow ones do.
#pragma once

namespace trireme::device {

struct Cost;

// How many times as long kernels take, at least 1 each: all of them, and matrix products with weights beside
// that.
struct SlowFactors {
    double all = 1;
    double products = 1;

    friend bool operator==(const SlowFactors&, const SlowFactors&) = default;
};

// Kernels take so many times as long. What a kernel is to take longer is owed, and spent when that is worth a
// sleep: a sleep takes some 50 microseconds too long, which are taken off what is owed next. Where time is
// simulated it is spent at once.
class Slowness {
public:
    // From here on; of 1 and 1: as fast as the machine. Of other factors nothing is owed.
    void set(const SlowFactors& factors);

    // Behind a kernel that took `seconds`: what it takes on the slow device.
    double after_kernel(const Cost& cost, double seconds) {
        return factors_ == SlowFactors{} ? seconds : prolong(cost, seconds);
    }

    // Spends what is still owed: others may learn of what was computed when a slow device would have done it.
    void settle();

    double owed() const { return owed_; }  // seconds; below 0: spent in advance

private:
    double prolong(const Cost& cost, double seconds);

    SlowFactors factors_ = {};
    double owed_ = 0;
};

}  // namespace trireme::device
