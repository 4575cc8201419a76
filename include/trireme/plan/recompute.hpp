// Activation recomputation: a backward pass computes activations that the forward pass did not keep.
#pragma once

#include <cstdint>

#include "trireme/base/named_values.hpp"

namespace trireme::plan {

// The activations that a forward pass keeps:
//   none        keeps everything that the backward pass reads
//   selective   keeps everything except outputs of norms and activation functions, which are cheap to recompute
//   full        keeps only the input of each block, and repeats the block's forward pass before its backward
//               pass (Chen et al., 2016)
enum class Recompute : std::uint8_t { none, selective, full };

inline constexpr NamedValue<Recompute> recompute_values[]{
    {"none", Recompute::none, "keep all activations"},
    {"selective", Recompute::selective, "recompute the outputs of norms and activation functions"},
    {"full", Recompute::full, "keep only the inputs of blocks"}};

// Returns e.g. "full" for Recompute::full.
inline const char* to_string(Recompute recompute) { return find_name(recompute_values, recompute); }

}  // namespace trireme::plan
