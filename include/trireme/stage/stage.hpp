// The layers of one pipeline stage on one rank, and their forward and backward passes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/model.hpp"
#include "trireme/plan/recompute.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::stage {

// The activation stash of an in-flight micro-batch in a stage: what the backward pass of the micro-batch needs.
struct ActivationStash {
    ActivationStash(std::size_t bytes, device::MemorySpace memory_space)
        : arena("activation", bytes, memory_space) {}

    device::Arena arena;
    std::size_t weight_copy = 0;  // index of the copy of the weights that the passes read (see LocalParameters)
    std::size_t gradient_copy = 0;  // index of the copy of the gradients to which the backward pass adds
    std::vector<model::LayerState> states = {};          // per layer
    std::vector<device::ConstTensor> inputs = {};        // per layer: (rows of this rank, width), or absent
    std::vector<device::ConstTensor> grad_outputs = {};  // like `inputs`; only between backward halves

    // Empties the stash for the next micro-batch.
    void clear() {
        arena.release(0);
        states.clear();
        inputs.clear();
        grad_outputs.clear();
    }
};

// Bytes of the buffers that a stage needs.
struct StageMemory {
    std::size_t activations = 0;        // activation stash of one micro-batch
    std::size_t scratch = 0;            // temporaries of the pass of one layer
    std::size_t block_activations = 0;  // within one transformer block that is recomputed or evaluated
    std::size_t exchange = 0;           // temporaries of collectives of the tensor group
};

StageMemory elementwise_max(const StageMemory& a, const StageMemory& b);  // per field, the larger value

// Buffers that the passes of all stages of a rank share.
struct Workspace {
    Workspace(const StageMemory& memory, device::MemorySpace memory_space)
        : scratch("scratch", memory.scratch, memory_space),
          block_activations("recompute", memory.block_activations, memory_space),
          exchange("tensor exchange", memory.exchange, memory_space) {}

    device::Arena scratch;
    device::Arena block_activations;
    device::Arena exchange;
};

// A stage on one rank.
struct StageSpec {
    layout::Range layers;         // range of indices in the layers of the model
    model::TensorPart part = {};  // the fraction of each layer that this tensor-parallel rank holds
    plan::Recompute recompute = plan::Recompute::none;
};

// Functions that passes call.
struct PassEvents {
    std::function<void()> after_layer = [] {};  // called after each layer, to progress messages
    // Called after a layer has added its gradients, with the rank's indices of the layer's parameters.
    std::function<void(const std::vector<std::size_t>& parameters)> after_layer_gradients = [](const auto&) {};
};

class Stage {
public:
    Stage(const model::ModelConfig& config, const StageSpec& spec);

    std::vector<model::ParameterSpec> parameters() const;
    std::vector<model::ProjectionShape> projections() const;  // of all blocks
    // Sets the weights and gradients that all passes use. `parameters` outlives the stage.
    void bind(const LocalParameters& parameters);

    // Makes later training passes skip channels and offload matmuls of the stage's projections.
    void rebalance(const model::Rebalancing& rebalancing);

    // Returns the rank's indices of the parameters of all layers. A parameter of two layers occurs twice.
    std::vector<std::size_t> list_parameter_uses() const;
    // Returns the same indices, per layer.
    const std::vector<std::vector<std::size_t>>& layer_parameters() const { return parameter_indices_; }

    bool is_first() const { return spec_.layers.begin == 0; }
    bool is_last() const { return is_last_; }
    std::size_t width() const { return width_; }

    // All passes are collective over pass.group. "Rows of this rank" are all rows of a micro-batch or, with
    // sequence parallelism, this rank's share of them.

    // Returns the output (rows of this rank, width), which is in the stash; absent for the last stage. `input`
    // must stay valid until the backward pass; it is absent for the first stage. In evaluation passes the stash
    // keeps only the output.
    device::Tensor forward(const model::Pass& pass, device::ConstTensor input, ActivationStash& stash,
                           Workspace& workspace, const PassEvents& events = {}) const;

    // Runs the backward pass: per layer, input gradients and then weight gradients. `grad_output` is absent for
    // the last stage, `grad_input` for the first.
    void backward(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                  ActivationStash& stash, Workspace& workspace, const PassEvents& events = {}) const;

    // Run the halves of the backward pass apart: first the input gradients of all layers, later their weight
    // gradients. `grad_output` must stay valid until backward_weight(). Throw BugError with full recomputation.
    void backward_input(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                        ActivationStash& stash, const PassEvents& events = {}) const;
    void backward_weight(const model::Pass& pass, ActivationStash& stash, const PassEvents& events = {}) const;

    // Returns the results of the last stage's head; LossState says after which pass they are set.
    const model::LossState& outcome(const ActivationStash& stash) const {
        return find_loss_state(stash.states.back());
    }

private:
    bool stashes_only_block_inputs(const model::Pass& pass) const;
    void report_layer(const model::Pass& pass, std::size_t layer) const;  // to the value check, if there is one
    // Returns the norm at the start of a layer if the previous layer can compute that norm with its own output.
    std::optional<model::NextNorm> find_input_norm(const model::Pass& pass, std::size_t layer,
                                                   ActivationStash& stash) const;
    device::Tensor run_layers(const model::Pass& pass, layout::Range layers, device::ConstTensor input,
                              ActivationStash& stash, device::Arena& arena, const PassEvents& events) const;
    device::Tensor run_blocks(const model::Pass& pass, device::ConstTensor input, ActivationStash& stash,
                              device::Arena& block_activations, const PassEvents& events) const;
    void backward_layer(const model::Pass& pass, std::size_t layer, device::ConstTensor grad_output,
                        device::Tensor grad_input, ActivationStash& stash) const;

    StageSpec spec_;
    std::vector<model::Layer> layers_;
    std::vector<layout::Range> block_ranges_;  // ranges of layer indices in the stage, each recomputed as a
                                               // whole: a transformer block, or a single layer outside blocks
    std::size_t width_;
    bool is_last_;
    std::vector<std::vector<std::size_t>>
        parameter_indices_;  // per layer and parameter: its index among the parameters of the rank
    std::vector<std::vector<std::vector<device::ConstTensor>>> weights_;  // per copy, layer and parameter
    std::vector<std::vector<std::vector<device::Tensor>>> gradients_;     // per copy, layer and parameter
};

// Return the projections of all stages of a rank, and the projections per rank of its team.
std::vector<model::ProjectionShape> list_projections(const model::ModelConfig& config,
                                                     const std::vector<StageSpec>& specs);
std::vector<std::vector<model::ProjectionShape>> list_team_projections(const model::ModelConfig& config,
                                                                       const std::vector<StageSpec>& specs);

}  // namespace trireme::stage
