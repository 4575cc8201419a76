// Tracks the activation stash of a team, and decides whether the team may stash another activation without
// risking a deadlock.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::schedule {

class ActivationBudget {
public:
    // `needed_activations` has one entry per micro-batch that the team executes: the number of the team's
    // stages that the micro-batch passes. The micro-batches are in ascending order. A micro-batch stashes one
    // activation in each of these stages. The other functions identify a micro-batch by its index in
    // `needed_activations`.
    explicit ActivationBudget(const std::vector<int>& needed_activations);

    // Sets the maximum number of activations in the stash, summed over the team's stages. The limit must be at
    // least the largest entry of `needed_activations`. Must be called before any activation is stashed.
    void set_limit(int limit) { limit_ = limit; }

    // True if the team may stash another activation of this micro-batch. This is safe if the team can complete
    // its micro-batches in ascending order afterwards. For this, the remaining activations of each micro-batch
    // must fit into memory that is free or is released by earlier micro-batches (banker's algorithm; Dijkstra,
    // 1965).
    bool may_stash(std::size_t microbatch) const;

    void stash_activation(std::size_t microbatch);
    void release_activation(std::size_t microbatch);

    int peak() const { return peak_; }  // largest stash so far, in activations

private:
    struct MicrobatchUse {
        int stashed = 0;    // activations in the stash now
        int remaining = 0;  // activations that the micro-batch has yet to stash
    };

    std::vector<MicrobatchUse> microbatch_uses_;
    std::size_t first_unfinished_ = 0;  // index of the first micro-batch with activations to stash or release
    int max_needed_ = 0;                // largest entry of needed_activations
    int limit_ = 0;
    int stashed_ = 0;  // activations in the stash now, of all micro-batches
    int peak_ = 0;     // largest value of stashed_ so far
};

}  // namespace trireme::schedule
