// Estimates the bytes that a change of layout moves, without planning the messages.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/layout.hpp"

namespace trireme::adapt {

// The bytes of a layer on one rank of a team.
struct LayerBytes {
    double values = 0;   // parameters
    double moments = 0;  // optimizer state
};

// Returns the bytes of the rank that sends and receives the most. `layers` has one entry per layer of the
// model. Both layouts must consist of the same teams, of equal size and with one stage each. If
// `shards_moments` is true, each replica of a stage holds an equal part of its moments. Replicas that hold the
// same bytes share the work to send them.
double estimate_max_moved_bytes(const std::vector<LayerBytes>& layers, bool shards_moments,
                                const layout::Layout& from, const layout::Layout& to);

}  // namespace trireme::adapt
