// Tracks the activations of a team, and decides which further ones it may keep without a risk of getting stuck.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::schedule {

class ActivationRoom {
public:
    // `needed` is the total number of activations of each micro-batch of the team, oldest first. Other
    // functions name micro-batches by their indices there.
    explicit ActivationRoom(const std::vector<int>& needed);

    // Sets the limit, which is at least what one micro-batch needs. Called before any activation is kept.
    void set_most(int most) { most_ = most; }

    // True if another activation may be kept for a micro-batch. Then all micro-batches can still be completed
    // one after the other: what each still needs is free or kept by older ones (banker's algorithm; Dijkstra,
    // 1965).
    bool is_safe_for(std::size_t microbatch) const;

    void keep(std::size_t microbatch);
    void release(std::size_t microbatch);

    int peak() const { return peak_; }  // most activations kept so far

private:
    struct Claim {  // activations of a micro-batch
        int kept = 0;
        int to_come = 0;
    };

    std::vector<Claim> claims_;
    std::size_t oldest_ = 0;  // first micro-batch that is not done
    int largest_ = 0;         // largest number that a micro-batch needs
    int most_ = 0;
    int kept_ = 0;
    int peak_ = 0;
};

}  // namespace trireme::schedule
