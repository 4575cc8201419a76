// Predicts the memory and the work of a stage by executing its passes with ghost tensors, which have shapes but
// no values.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/layout/broadcast_tree.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// The shape of a micro-batch.
struct BatchShape {
    std::vector<kernels::Segment> segments;  // the rows of each sample, without padding
    std::size_t rows = 0;                    // number of rows, with padding
    // Number of rows with a target, on which work depends, but not memory. If unset, every row has a target.
    std::optional<std::size_t> predicted_rows = {};
};

BatchShape find_shape(const model::TokenBatch& batch);

// Returns a ghost micro-batch of shape `shape`, which must outlive the result. Allocates its tensors from
// `inputs`, a ghost arena.
model::TokenBatch make_ghost_batch(const model::ModelConfig& config, const BatchShape& shape,
                                   device::Arena& inputs);

// Order of the two halves of a backward pass, input gradients and weight gradients. Both orders compute equal
// gradients, but stash different tensors.
//   together   each layer computes both of its halves before the next layer begins
//   apart      all layers compute their input halves, and then all layers compute their weight halves
enum class BackwardHalves : std::uint8_t { together, apart };

// Properties of a pass on which its memory or its work depends.
struct PassVariant {
    device::DType dtype = device::DType::f32;
    bool cuts_rows = false;  // sequence parallelism
    BackwardHalves halves = BackwardHalves::together;
    bool uses_cache = false;    // the last frozen stage reads samples from a cache
    double resizing_limit = 0;  // maximum skipped fraction of the channels of a projection, see Resizing
    std::vector<layout::Migration> migrations = {};  // offloaded matmuls; ranks are numbered within the team
    layout::Spread spread = layout::Spread::tree;    // of messages between a slow rank and its helper ranks

    // True if channels are skipped or offloaded.
    bool changes_matmuls() const { return resizing_limit != 0 || !migrations.empty(); }
};

// The memory of the training passes of a stage, for one micro-batch.
struct TrainingMemory {
    StageMemory peak = {};  // the largest size of each buffer
    // The workspace of each pass, by schedule::Op: forward, backward, backward_input and backward_weight. The
    // workspace of a pass that is not predicted is empty.
    std::array<StageMemory, 4> workspaces = {};
    // Bytes of the activation stash after the forward pass, and after the first half of a split backward pass.
    std::size_t stash_after_forward = 0;
    std::size_t stash_after_input_half = 0;
};

// Returns the memory of training passes. A projection that skips channels copies its kept channels, and the
// copies are largest if it skips few channels. Therefore, if `variant.resizing_limit` is not 0, the passes skip
// as few channels as possible.
TrainingMemory predict_training(const model::ModelConfig& config, const StageSpec& spec,
                                const BatchShape& shape, const PassVariant& variant);
// Predicts training passes of the same stage for one micro-batch after the other. Makes the stage only once, so
// that this takes less time.
class TrainingPredictor {
public:
    TrainingPredictor();
    ~TrainingPredictor();
    TrainingPredictor(TrainingPredictor&&) noexcept;
    TrainingPredictor& operator=(TrainingPredictor&&) noexcept;

    // Same as predict_training(). All arguments but the shape must be those of the first call.
    TrainingMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                           const PassVariant& variant);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Returns the memory of the pass of an evaluation.
StageMemory predict_evaluation(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                               const PassVariant& variant);
// Returns the maximum over training and evaluation, per field.
StageMemory predict(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                    const PassVariant& variant);

// A kernel call of a pass.
struct PassKernel {
    device::Cost cost;
    bool is_block_matmul = false;  // a matmul with weights in a transformer block
};

// The work of a pass on one rank: the kernel calls in order, and what the rank sends to its tensor group.
struct PassWork {
    std::vector<PassKernel> kernels = {};
    std::uint64_t bytes_sent = 0;
    std::uint64_t messages_sent = 0;
};

// The work of the training passes of a micro-batch. A frozen stage has only `forward`. With full recomputation,
// `backward_input` and `backward_weight` are empty, because backward passes are not split.
struct TrainingWork {
    PassWork forward;
    PassWork backward;
    PassWork backward_input;
    PassWork backward_weight;
};

// Returns the work of training passes of a micro-batch of shape `shape`. Ignores `variant.halves`.
TrainingWork list_work(const model::ModelConfig& config, const StageSpec& spec, const BatchShape& shape,
                       const PassVariant& variant);
// Returns the same for several micro-batches. Makes the stage only once if no channels are skipped or
// offloaded.
std::vector<TrainingWork> list_works(const model::ModelConfig& config, const StageSpec& spec,
                                     const std::vector<BatchShape>& shapes, const PassVariant& variant);

// Returns the numbers of elements of the trained parameters on one rank, in the order of Stage::parameters().
// Takes less time.
std::vector<std::size_t> list_trained_sizes(const model::ModelConfig& config, const StageSpec& spec);

}  // namespace trireme::stage
