// Keeps the ranks of a node from setting clocks after one of them has restored the clocks of the node.
#pragma once

#include <cstddef>
#include <span>

namespace trireme::device {

// A rank that ends because of an error or a signal closes the gate and then restores the clocks of all GPUs of
// its node. The other ranks may be killed at any moment, so they cannot be asked to do this.
class ClockGate {
public:
    // `slots` is memory that all ranks of the node share, of count_slots() numbers, which are 0 at first. It
    // must outlive this object. `own` is the index of this rank on its node.
    ClockGate(std::span<int> slots, std::size_t own) : slots_(slots), own_(own) {}
    static std::size_t count_slots(std::size_t ranks) { return ranks + 1; }

    // Returns false if the gate is closed. Otherwise this rank may set its clock before it calls leave().
    bool enter() noexcept;
    void leave() noexcept;

    // Closes the gate for all ranks, and waits until no rank is between enter() and leave(). The wait ends
    // after 0.2 seconds, because a rank may have been killed there. May be called from any thread.
    void close() noexcept;

private:
    std::span<int> slots_;  // 1 if the gate is closed; then per rank: 1 if it is between enter() and leave()
    std::size_t own_;
};

}  // namespace trireme::device
