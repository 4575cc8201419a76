// A contiguous run of layers on one rank, and its passes.
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

// The activation stash of an in-flight micro-batch in a stage.
struct Flight {
    Flight(std::size_t bytes, device::MemorySpace place) : kept("activation", bytes, place) {}

    device::Arena kept;
    std::size_t weights = 0;                       // copy of the parameters that the passes read
    std::size_t gradients = 0;                     // copy of the gradients that the backward pass adds to
    std::vector<model::LayerState> states = {};    // per layer
    std::vector<device::ConstTensor> inputs = {};  // (own rows, width) per layer; absent for the embedding
    std::vector<device::ConstTensor> grad_outputs = {};  // (own rows, width) per layer, between backward halves

    // Prepares for the next micro-batch.
    void clear() {
        kept.release(0);
        states.clear();
        inputs.clear();
        grad_outputs.clear();
    }
};

// Bytes that a stage holds while it works.
struct StageMemory {
    std::size_t activations = 0;  // activation stash of one micro-batch
    std::size_t scratch = 0;      // within the pass of one layer
    std::size_t again = 0;        // activations of a block that is recomputed or evaluated
    std::size_t exchange = 0;     // collectives with the other tensor ranks
};

// Returns the larger value of each field.
StageMemory larger_of(const StageMemory& a, const StageMemory& b);

struct Workspace {
    // Allocates arenas with the capacities in `memory`.
    Workspace(const StageMemory& memory, device::MemorySpace place)
        : scratch("scratch", memory.scratch, place),
          again("recompute", memory.again, place),
          exchange("tensor exchange", memory.exchange, place) {}

    device::Arena scratch;
    device::Arena again;
    device::Arena exchange;
};

struct StageSpec {
    layout::Range layers;  // indices in the model's list
    model::TensorPart part = {};
    plan::Recompute recompute = plan::Recompute::none;
};

// Functions that a pass calls.
struct PassEvents {
    // Called after each layer, to progress messages.
    std::function<void()> after_layer = [] {};
    // Called after a layer's backward pass, with the numbers of its parameters among the rank's.
    std::function<void(const std::vector<std::size_t>& parameters)> left = [](const auto&) {};
};

class Stage {
public:
    Stage(const model::ModelConfig& config, const StageSpec& spec);

    std::vector<model::ParameterSpec> parameters() const;
    std::vector<model::ProjectionShape> projections() const;  // of its blocks
    // Sets the memory of the parameters; called before the first pass. `parameters` outlives the stage.
    void bind(const LocalParameters& parameters);

    // Makes all later training passes rebalance the projections of its blocks.
    void rebalance(const model::Rebalancing& rebalancing);

    // Returns the numbers of the parameters that each layer uses, concatenated: all numbers that `left` gets.
    std::vector<std::size_t> parameter_uses() const;

    // Returns these numbers per layer.
    const std::vector<std::vector<std::size_t>>& layer_parameters() const { return numbers_; }

    bool is_first() const { return spec_.layers.begin == 0; }
    bool is_last() const { return is_last_; }
    std::size_t width() const { return width_; }

    // All passes are collective over pass.group.

    // Returns (own rows, width) in the flight's memory; absent for the last stage. `input` must stay until the
    // backward pass; it is absent for the first stage. In evaluation passes only the output is kept.
    device::Tensor forward(const model::Pass& pass, device::ConstTensor input, Flight& flight,
                           Workspace& workspace, const PassEvents& events = {}) const;

    // Runs both halves of the backward pass, layer by layer. `grad_output` is absent for the last stage,
    // `grad_input` for the first.
    void backward(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                  Flight& flight, Workspace& workspace, const PassEvents& events = {}) const;

    // Run the halves apart: the input halves of all layers, later their weight halves. `grad_output` must stay
    // until then. Throws BugError with full recomputation.
    void backward_input(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                        Flight& flight, const PassEvents& events = {}) const;
    void backward_weight(const model::Pass& pass, Flight& flight, const PassEvents& events = {}) const;

    const model::LossState& outcome(const Flight& flight) const { return loss_state(flight.states.back()); }

private:
    bool keeps_inputs_alone(const model::Pass& pass) const;
    // Names the layer to the value check of the stream, if it has one.
    void name_layer(const model::Pass& pass, std::size_t layer) const;
    // Returns the norm at the start of a layer if the layer before may compute it.
    std::optional<model::NextNorm> norm_of_input(const model::Pass& pass, std::size_t layer,
                                                 Flight& flight) const;
    device::Tensor run_layers(const model::Pass& pass, layout::Range layers, device::ConstTensor input,
                              Flight& flight, device::Arena& kept, const PassEvents& events) const;
    device::Tensor run_blocks(const model::Pass& pass, device::ConstTensor input, Flight& flight,
                              device::Arena& again, const PassEvents& events) const;
    void backward_layer(const model::Pass& pass, std::size_t layer, device::ConstTensor grad_output,
                        device::Tensor grad_input, Flight& flight) const;

    StageSpec spec_;
    std::vector<model::Layer> layers_;
    std::vector<layout::Range> blocks_;  // layers that are recomputed together; indices within the stage
    std::size_t width_;
    bool is_last_;
    std::vector<std::vector<std::size_t>> numbers_;  // per layer and parameter: its number on the rank
    std::vector<std::vector<std::vector<device::ConstTensor>>> weights_;  // per copy, layer and parameter
    std::vector<std::vector<std::vector<device::Tensor>>> gradients_;     // per copy, layer and parameter
};

// Return the projections of all stages of a rank, and those of each rank of its team.
std::vector<model::ProjectionShape> projections_of(const model::ModelConfig& config,
                                                   const std::vector<StageSpec>& specs);
std::vector<std::vector<model::ProjectionShape>> projections_of_team(const model::ModelConfig& config,
                                                                     const std::vector<StageSpec>& specs);

}  // namespace trireme::stage
