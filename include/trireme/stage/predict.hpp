// Predicts the memory and the work of a stage by executing its passes with ghost tensors, which have shapes but
// no values.
#pragma once

#include <optional>
#include <vector>

#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// The shape of a micro-batch.
struct BatchShape {
    std::vector<kernels::Segment> segments;  // the rows of each sample, without padding
    std::size_t rows = 0;                    // with padding
    // Number of rows with a target; empty if every row has one, which takes the most memory.
    std::optional<std::size_t> predicted_rows = {};
};

// Returns a ghost micro-batch of that shape. `inputs` is a ghost arena; `shape` outlives the batch.
model::TokenBatch make_ghost_batch(const model::ModelConfig& config, const BatchShape& shape,
                                   device::Arena& inputs);

// Order of the backward halves (input gradients, weight gradients). The gradients are equal, but the stashes
// differ.
//   together   backward_input and backward_weight of a layer follow each other
//   apart      all input halves come before all weight halves
enum class BackwardHalves : std::uint8_t { together, apart };

// Properties of a pass that change its memory or its work.
struct PassVariant {
    device::DType dtype = device::DType::f32;
    bool cuts_rows = false;  // sequence parallelism
    BackwardHalves halves = BackwardHalves::together;
    double resizing_limit = 0;  // maximum skipped fraction of the channels of a projection, see Resizing
    std::vector<layout::Migration> migrations = {};  // within the team
    layout::Spread spread = layout::Spread::tree;
};

// Returns the maximum memory of a training pass and an evaluation pass. The copies of the kept channels grow as
// fewer channels are skipped. Therefore, if there is a resizing limit, the passes skip as few channels as
// possible.
StageMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                    const PassVariant& variant);

// Returns the work of a training pass (forward and backward) by kernel and shape, without seconds.
device::Ledger predict_pass_work(const model::ModelConfig& config, const StageSpec& spec,
                                 const BatchShape& shape, const PassVariant& variant);

}  // namespace trireme::stage
