// The activations of a team, and which more it may take so that it never gets stuck with those it has.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::schedule {

class ActivationRoom {
public:
    // `needed`: how many activations each micro-batch of the team needs altogether, the oldest first.
    // Micro-batches are named by their places there.
    explicit ActivationRoom(const std::vector<int>& needed);

    // From now on, before anything is kept: at least as many as a micro-batch needs.
    void set_most(int most) { most_ = most; }

    // Whether another activation may be kept for a micro-batch. All micro-batches can go on to their ends then,
    // one after the other: what each needs yet is free, or kept for older ones (Dijkstra, 1965: the banker).
    bool is_safe_for(std::size_t microbatch) const;

    void keep(std::size_t microbatch);
    void release(std::size_t microbatch);

    int peak() const { return peak_; }  // activations kept at most, until now

private:
    struct Claim {  // of a micro-batch
        int kept = 0;
        int to_come = 0;
    };

    std::vector<Claim> claims_;
    std::size_t oldest_ = 0;  // the first that is not done
    int largest_ = 0;         // of what micro-batches need
    int most_ = 0;
    int kept_ = 0;
    int peak_ = 0;
};

}  // namespace trireme::schedule
