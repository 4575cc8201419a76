// Predicts which samples of a step the cache of frozen outputs has, from the number of visits alone.
#pragma once

#include <compare>
#include <cstddef>

#include "trireme/layout/links.hpp"

namespace trireme::setup {

// When the samples were visited that have valid entries. Visits to training samples are numbered from the start
// of the run: those from `begin` on wrote entries with `earlier_depth` frozen blocks, and those from
// `depth_begin` on write entries with all frozen blocks of the plan.
struct CachedVisits {
    std::size_t begin = 0;
    std::size_t depth_begin = 0;
    int earlier_depth = 0;  // 0 if there are only entries with all frozen blocks

    // Returns the visits after the number of frozen blocks has changed from `from` to `to`; `visit` is the next
    // one. If blocks thaw, no entry remains. If more blocks freeze, entries of a depth before `from` do not
    // count.
    CachedVisits change_depth(std::size_t visit, int from, int to) const;
};

// The expected fractions of the samples of a step that
struct CachedShares {
    double placed = 0;            // have a place in the cache; 0 without a cache
    double at_depth = 0;          // have an entry with all frozen blocks
    double at_earlier_depth = 0;  // have an entry with the first `earlier_depth` blocks
    int earlier_depth = 0;

    friend auto operator<=>(const CachedShares&, const CachedShares&) = default;
};

// Returns the probability that the sample of visit number `visit` was also visited in the visits from `begin`
// to `end` - 1, if the order of the samples is random.
double predict_visited_share(std::size_t begin, std::size_t end, std::size_t visit, std::size_t samples);

struct Job;
struct StepSamples;

// Returns the fraction of the training samples that have a place in a cache: those that fit into
// --cache-memory, or all if it is unset; 0 without a cache.
double predict_placed_share(const Job& job);

// Returns the link between a device and the cache. Without bandwidth, the device itself copies the rows.
layout::Link find_cache_link(const Job& job);

// Predicts the fractions for a step, if the fraction `placed` of all `samples` training samples has a place.
// Each node is assumed to visit its own samples only: see --sample-homes.
CachedShares predict_cached_shares(const StepSamples& step_samples, std::size_t step, std::size_t samples,
                                   double placed);

}  // namespace trireme::setup
