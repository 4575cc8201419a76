// Activation recomputation: a backward pass computes activations that the forward pass did not keep.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/named_values.hpp"

namespace trireme::plan {

// The activations that a forward pass keeps:
//   none        keeps everything that the backward pass reads
//   selective   keeps everything except outputs of norms and activation functions, which are cheap to recompute
//   full        keeps only the input of each block, and repeats the block's forward pass before its backward
//               pass (Chen et al., 2016)
enum class Recompute : std::uint8_t { none, selective, full };

// The recomputation of one micro-batch, by stage of the pipeline and block of the stage. A block is a
// transformer block or another layer. Empty: every stage has the recomputation of the plan.
using MicrobatchLevels = std::vector<std::vector<Recompute>>;

// Returns the recomputation of a micro-batch per block of a stage. Empty: that of the plan. `levels` has one
// entry per micro-batch, or none if all micro-batches have the recomputation of the plan.
inline std::vector<Recompute> find_levels(const std::vector<MicrobatchLevels>& levels, std::size_t microbatch,
                                          int stage) {
    const bool has_levels = !levels.empty() && !levels[microbatch].empty();
    return has_levels ? levels[microbatch][static_cast<std::size_t>(stage)] : std::vector<Recompute>{};
}

inline constexpr NamedValue<Recompute> recompute_values[]{
    {"none", Recompute::none, "keep all activations"},
    {"selective", Recompute::selective, "recompute the outputs of norms and activation functions"},
    {"full", Recompute::full, "keep only the inputs of blocks"}};

// Returns e.g. "full" for Recompute::full.
inline const char* to_string(Recompute recompute) { return find_name(recompute_values, recompute); }

}  // namespace trireme::plan
