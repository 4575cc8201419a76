// Activation recomputation: what a forward pass keeps for the backward pass.
#pragma once

#include <cstdint>

#include "trireme/base/named_values.hpp"

namespace trireme::plan {

//   none        everything that the backward pass reads
//   selective   everything except what is cheap to recompute: outputs of norms and activation functions
//   full        only the input of each block; its forward pass is repeated (Chen et al., 2016)
enum class Recompute : std::uint8_t { none, selective, full };

inline constexpr NamedValue<Recompute> recompute_ways[]{
    {"none", Recompute::none, "keep all activations"},
    {"selective", Recompute::selective, "recompute the outputs of norms and activation functions"},
    {"full", Recompute::full, "keep the inputs of blocks only"}};

// Returns "full" for Recompute::full.
inline const char* name_of(Recompute recompute) { return word_of(recompute_ways, recompute); }

}  // namespace trireme::plan
