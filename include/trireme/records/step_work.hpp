// The work of all ranks in a step, and the memory of the states that they keep.
#pragma once

namespace trireme::records {

// Sums over the ranks.
struct StepWorkCounts {
    double forward_layers = 0;   // layers times micro-batches, over all teams
    double backward_layers = 0;  // the same; frozen layers have no backward passes
    double cached_layers = 0;    // forward passes that were not computed, because samples were in a cache
    double reduced_bytes = 0;    // gradients that ranks sent to other ranks to sum them
    double moment_bytes = 0;     // optimizer moments
    double cache_hits = 0, cache_misses = 0;  // visits of samples that were in a cache, or not
    double cache_bytes = 0;                   // of all entries in the caches of all nodes

    StepWorkCounts& operator+=(const StepWorkCounts& other);
};

}  // namespace trireme::records
