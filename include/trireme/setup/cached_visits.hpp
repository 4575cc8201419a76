// Predicts which samples of a step the cache of frozen outputs has, from the number of visits alone.
#pragma once

#include <compare>
#include <cstddef>

#include "trireme/layout/links.hpp"

namespace trireme::setup {

// The visits to training samples in which valid entries were written. Visits are counted from the start of the
// run.
struct CachedVisits {
    std::size_t begin = 0;        // the first visit with `earlier_depth`; the cache is empty before
    std::size_t depth_begin = 0;  // the first visit with the present number of frozen blocks
    int earlier_depth = 0;        // that number before; 0 if there are no entries with it

    // Returns the visits after the number of frozen blocks has changed before visit `visit`. Entries with more
    // blocks than `to` are not valid. Those from before an earlier change are assumed to have been replaced.
    CachedVisits change_depth(std::size_t visit, int from, int to) const;
};

// The expected parts of the samples of a step, from 0 to 1.
struct CachedShares {
    double placed = 0;            // have a place in the cache; 0 without a cache
    double at_depth = 0;          // have an entry with all frozen blocks
    double at_earlier_depth = 0;  // have an entry with the first `earlier_depth` blocks
    int earlier_depth = 0;

    friend auto operator<=>(const CachedShares&, const CachedShares&) = default;
};

// Returns the expected part of the samples, in random order, that were visited in the visits from `begin` to
// `end` - 1 and in an earlier epoch than that of visit number `visit`.
double predict_visited_share(std::size_t begin, std::size_t end, std::size_t visit, std::size_t samples);

struct Job;
struct StepSamples;

// Returns the part of the training samples that has a place in the cache: those that fit into --cache-memory,
// or all if it is unset; 0 without a cache.
double predict_placed_share(const Job& job);

// Returns the link between a device and the cache. Without bandwidth, the device itself copies the rows.
layout::Link find_cache_link(const Job& job);

// Returns the parts of the samples of a step, if the part `placed` of all `samples` samples has a place. Each
// node is assumed to visit its own samples only: see --sample-homes.
CachedShares predict_cached_shares(const StepSamples& step_samples, std::size_t step, std::size_t samples,
                                   double placed);

}  // namespace trireme::setup
