// A device that is slower than the machine makes it, so that people can try what slow ones do.
#pragma once

namespace trireme {

// Kernels take so many times as long. What a kernel is to take longer is owed, and spent when that is worth a
// sleep: a sleep takes some 50 microseconds too long, which are taken off what is owed next. Where time is
// simulated it is spent at once.
class Slowness {
public:
    // From here on, at least 1: as fast as the machine. Of another factor nothing is owed.
    void set(double factor);

    // Behind a kernel that took `seconds`: what it takes on the slow device.
    double after_kernel(double seconds) { return factor_ == 1 ? seconds : prolong(seconds); }

    // Spends what is still owed: others may learn of what was computed when a slow device would have done it.
    void settle();

    double owed() const { return owed_; }  // seconds; below 0: spent in advance

private:
    double prolong(double seconds);

    double factor_ = 1;
    double owed_ = 0;
};

}  // namespace trireme
