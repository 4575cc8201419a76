// Tracks the activation stash of a team, and decides which further activations the team may store without a
// deadlock.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::schedule {

class ActivationBudget {
public:
    // `needed_activations` has, per micro-batch of the team in order, the number of stages of the team that the
    // micro-batch passes: each stores one activation. The other functions identify a micro-batch by its index
    // in `needed_activations`.
    explicit ActivationBudget(const std::vector<int>& needed_activations);

    // Sets the largest number of stored activations, which must suffice for any one micro-batch. Must be called
    // before any activation is stored.
    void set_limit(int limit) { limit_ = limit; }

    // True if another activation of this micro-batch may be stored. Then all micro-batches can still be
    // completed, one after the other: the activations that a micro-batch still needs fit into the memory that
    // is available now or released by earlier micro-batches (banker's algorithm; Dijkstra, 1965).
    bool may_stash(std::size_t microbatch) const;

    void stash_activation(std::size_t microbatch);
    void release_activation(std::size_t microbatch);

    int peak() const { return peak_; }  // largest number of activations stored so far

private:
    struct MicrobatchUse {
        int stashed = 0;    // activations stored now
        int remaining = 0;  // activations still to be stored
    };

    std::vector<MicrobatchUse> microbatch_uses_;
    std::size_t first_unfinished_ = 0;  // index of the first micro-batch that is not finished
    int max_needed_ = 0;                // largest entry of needed_activations
    int limit_ = 0;
    int stashed_ = 0;  // activations stored now
    int peak_ = 0;     // largest value of stashed_ so far
};

}  // namespace trireme::schedule
