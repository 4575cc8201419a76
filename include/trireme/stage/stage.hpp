// The layers of one pipeline stage on one rank, and their forward and backward passes. "Rows of this rank" are
// all rows of a micro-batch or, with sequence parallelism, this rank's share of them.
#pragma once

#include <optional>
#include <vector>

#include "trireme/cache/sample_cache.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/model/model.hpp"
#include "trireme/stage/activation_stash.hpp"
#include "trireme/stage/local_parameters.hpp"
#include "trireme/stage/workspace.hpp"

namespace trireme::stage {

// A stage on one rank.
struct StageSpec {
    layout::Range layers;         // indices of the stage's layers in the model
    model::TensorPart part = {};  // the fraction of each layer that this tensor-parallel rank holds
    plan::Recompute recompute = plan::Recompute::none;  // of passes whose stash has no levels
    // Index in the model: the layers before it are frozen. In training, they run as in an evaluation and have
    // no backward pass. A tied token table is frozen if any layer is.
    std::size_t first_trained_layer = 0;
};

// Passes that read the outputs of frozen layers from a cache of samples.
struct CacheUse {
    cache::SampleCache& cache;
    cache::Split split = cache::Split::train;  // to which the samples of the passes belong
    // In simulated time, between the device and the cache. Without bandwidth, the device itself copies rows.
    layout::Link simulated_link = {};
};

// True if the last frozen layer of the model is in the stage, so that its passes may use a cache.
inline bool ends_frozen_layers(const StageSpec& spec) {
    return spec.first_trained_layer > spec.layers.begin && spec.first_trained_layer <= spec.layers.end();
}

class Stage {
public:
    Stage(const model::ModelConfig& config, const StageSpec& spec);

    std::vector<model::ParameterSpec> parameters() const;     // of all layers, each parameter once
    std::vector<model::ProjectionShape> projections() const;  // of all trained layers
    // Sets the weights and gradients that all passes use. Called once; `parameters` outlives all passes.
    void bind(const LocalParameters& parameters);

    // Makes later training passes skip channels and offload matmuls of the stage's projections.
    void rebalance(const model::Rebalancing& rebalancing);

    // Returns the indices in LocalParameters of the trained parameters of all layers. If two layers share a
    // parameter, its index occurs twice. trained_parameters() returns the same indices per trained layer.
    std::vector<std::size_t> list_trained_parameter_uses() const;
    const std::vector<std::vector<std::size_t>>& trained_parameters() const { return trained_parameters_; }
    bool is_first() const { return spec_.layers.begin == 0; }
    bool is_last() const { return is_last_; }
    bool is_trained() const { return first_trained_ < layers_.size(); }
    // True if no earlier stage is trained, so that backward passes compute no gradient of the stage's input.
    bool is_first_trained() const { return spec_.layers.begin <= spec_.first_trained_layer; }
    bool ends_frozen_layers() const { return stage::ends_frozen_layers(spec_); }
    std::size_t width() const { return width_; }
    std::size_t count_layers() const { return layers_.size(); }

    // All passes are collective over pass.group. Inputs, outputs and their gradients are (rows of this rank,
    // width). `input` is absent in the first stage, `grad_input` in the first trained stage, and the output and
    // `grad_output` are absent in the last stage. Only trained stages have backward passes.

    // Returns the output, which is in the stash. `input` must stay valid until the backward pass is done. An
    // evaluation pass, and the pass of a frozen stage, stash only the output. If `cache` is not null, the
    // output of the frozen layers comes from run_with_cache().
    device::Tensor forward(const model::Pass& pass, device::ConstTensor input, ActivationStash& stash,
                           Workspace& workspace, const PassEvents& events = {},
                           const CacheUse* cache = nullptr) const;
    // Runs the frozen layers from layer `first_layer` of the stage on, which begins a block or is 0, and
    // returns their output, the only tensor that is added to the stash.
    device::Tensor run_frozen_layers(const model::Pass& pass, std::size_t first_layer,
                                     device::ConstTensor input, ActivationStash& stash, Workspace& workspace,
                                     const PassEvents& events) const;
    // Returns the layer after the first `depth` blocks of the model, as an index in the stage. Returns nullopt
    // if that layer is in an earlier stage. `depth` is above 0.
    std::optional<std::size_t> find_next_layer(int depth) const;

    // Runs the backward pass: per layer, input gradients and then weight gradients. Writes `grad_input`.
    void backward(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                  ActivationStash& stash, Workspace& workspace, const PassEvents& events = {}) const;

    // Run the halves of the backward pass apart: first the input gradients of all layers, later their weight
    // gradients. `grad_output` must stay valid until backward_weight() is done. backward_input() throws
    // BugError if a block is recomputed in full.
    void backward_input(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                        ActivationStash& stash, const PassEvents& events = {}) const;
    void backward_weight(const model::Pass& pass, ActivationStash& stash, const PassEvents& events = {}) const;

    // Returns the results of the last stage's head; LossState says after which pass they are set.
    const model::LossState& outcome(const ActivationStash& stash) const {
        return find_loss_state(stash.states.back());
    }

private:
    std::size_t first_trained_block() const {  // index in block_ranges_; its size if all layers are frozen
        return is_trained() ? block_of_layer_[first_trained_] : block_ranges_.size();
    }
    bool is_trained_parameter(std::size_t layer, const model::ParameterSpec& spec) const;
    plan::Recompute find_level(const ActivationStash& stash, std::size_t block) const {
        return stash.levels.empty() ? spec_.recompute : stash.levels[block];
    }
    // Returns `pass` for a layer of a block with the level that the stash names.
    model::Pass make_layer_pass(const model::Pass& pass, std::size_t layer, const ActivationStash& stash) const;
    void report_layer(const model::Pass& pass, std::size_t layer) const;  // to the value check, if there is one
    // Returns the norm at the input of a layer, or nullopt if the previous layer cannot compute that norm.
    std::optional<model::NextNorm> find_input_norm(const model::Pass& pass, std::size_t layer,
                                                   ActivationStash& stash) const;
    device::Tensor run_layers(const model::Pass& pass, layout::Range layers, device::ConstTensor input,
                              ActivationStash& stash, device::Arena& arena, const PassEvents& events) const;
    device::Tensor run_block(const model::Pass& pass, std::size_t block, device::ConstTensor input,
                             ActivationStash& stash, std::size_t stash_begin, device::Arena& block_activations,
                             const PassEvents& events) const;
    void backward_layer(const model::Pass& pass, std::size_t layer, device::ConstTensor grad_output,
                        device::Tensor grad_input, ActivationStash& stash) const;

    StageSpec spec_;
    std::vector<model::Layer> layers_;
    std::size_t first_trained_;  // index in layers_; its size if all layers are frozen
    // Ranges of indices in layers_, each recomputed as a whole: a transformer block, or a single layer.
    std::vector<layout::Range> block_ranges_;
    std::vector<std::size_t> block_of_layer_;  // per layer: index in block_ranges_
    std::size_t width_;
    bool is_last_;
    std::vector<std::vector<std::size_t>> trained_parameters_;  // per trained layer: indices in LocalParameters
    std::vector<std::vector<std::vector<device::ConstTensor>>> weights_;  // per copy, layer and parameter
    std::vector<std::vector<std::vector<device::Tensor>>> gradients_;     // per copy, layer and parameter
};

// Returns the ranges of layers that are recomputed as a whole: each transformer block, and each other layer of
// `layers`. All ranges are indices in the model.
std::vector<layout::Range> list_blocks(const model::ModelConfig& config, layout::Range layers);

// Returns the projections of all stages of a rank; `specs` has one entry per stage.
std::vector<model::ProjectionShape> list_projections(const model::ModelConfig& config,
                                                     const std::vector<StageSpec>& specs);
// Returns the projections per rank of a team. `specs` are the stages of any rank of this team.
std::vector<std::vector<model::ProjectionShape>> list_team_projections(const model::ModelConfig& config,
                                                                       const std::vector<StageSpec>& specs);

}  // namespace trireme::stage
