// What a stage will hold, before it holds anything: a walk through its passes with addresses that are counted
// and never followed.
#pragma once

#include <vector>

#include "trireme/layout/circle.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// What a micro-batch looks like, for sizing.
struct BatchShape {
    std::vector<kernels::Segment> segments;
    std::size_t rows = 0;
};

// The largest batch of that shape: every row predicted. `inputs` is a ghost arena; `shape` outlives the batch.
model::TokenBatch ghost_batch(const model::ModelConfig& config, const BatchShape& shape, device::Arena& inputs);

// Whether each layer's backward_input and backward_weight follow each other, or all input halves come first.
// The gradients are the same; what must be kept meanwhile is not.
enum class BackwardHalves : std::uint8_t { together, apart };

struct PassKind {
    device::DType dtype = device::DType::f32;
    bool cuts_rows = false;  // sequence parallelism
    BackwardHalves halves = BackwardHalves::together;
    double resizing_limit = 0;  // projections leave out up to so much of their channels, as Resizing has it
    std::vector<layout::Migration> migrations = {};  // within the team
    layout::Spread spread = layout::Spread::tree;
};

// Of a training pass and of an evaluating one, the larger of each. Every row counts as predicted. Compact
// copies are the larger the less is left out: with a limit, the least that can be left out is.
StageMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                    const PassKind& kind);

// What a training pass asks of a device, by kernel and shape; it takes no time.
device::Ledger work_of_pass(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                            const PassKind& kind);

}  // namespace trireme::stage
