// Predicts the memory and the work of a stage. It walks through the passes with ghost tensors, whose sizes
// count but whose addresses are never dereferenced.
#pragma once

#include <vector>

#include "trireme/layout/circle.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Sizes of a micro-batch.
struct BatchShape {
    std::vector<kernels::Segment> segments;
    std::size_t rows = 0;
};

// Returns the largest batch of that shape, with a target in every row. `inputs` is a ghost arena; `shape`
// outlives the batch.
model::TokenBatch ghost_batch(const model::ModelConfig& config, const BatchShape& shape, device::Arena& inputs);

// Order of the backward halves. The gradients are equal, but the kept tensors differ.
//   together   backward_input and backward_weight of a layer follow each other
//   apart      all input halves come before all weight halves
enum class BackwardHalves : std::uint8_t { together, apart };

struct PassKind {
    device::DType dtype = device::DType::f32;
    bool cuts_rows = false;  // sequence parallelism
    BackwardHalves halves = BackwardHalves::together;
    double resizing_limit = 0;  // maximum skipped fraction of the channels of a projection, see Resizing
    std::vector<layout::Migration> migrations = {};  // within the team
    layout::Spread spread = layout::Spread::tree;
};

// Returns the maxima over a training pass and an evaluation pass, with a target in every row. Compact copies
// grow as fewer channels are skipped, so with a resizing limit the walk skips as few channels as possible.
StageMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                    const PassKind& kind);

// Returns the work of a training pass by kernel and shape, without seconds.
device::Ledger work_of_pass(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                            const PassKind& kind);

}  // namespace trireme::stage
