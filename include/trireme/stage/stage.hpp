// A run of layers on one rank: its part of each, and what it does with a micro-batch.
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

// A micro-batch on its way through a stage: what its forward pass leaves for its backward pass.
struct Flight {
    Flight(std::size_t bytes, device::MemorySpace place) : kept("activation", bytes, place) {}

    device::Arena kept;
    std::size_t weights = 0;  // which copies of the parameters it uses, and where it leaves their gradients
    std::size_t gradients = 0;
    std::vector<model::LayerState> states = {};    // per layer
    std::vector<device::ConstTensor> inputs = {};  // (own rows, width) per layer; absent for the embedding
    std::vector<device::ConstTensor> grad_outputs = {};  // (own rows, width) per layer, between backward halves

    // For the next micro-batch.
    void clear() {
        kept.release(0);
        states.clear();
        inputs.clear();
        grad_outputs.clear();
    }
};

// Bytes that a stage holds while it works.
struct StageMemory {
    std::size_t activations = 0;  // kept of one micro-batch
    std::size_t scratch = 0;      // within one layer's pass
    std::size_t again = 0;     // of a block whose forward pass is done again, or whose activations nobody reads
    std::size_t exchange = 0;  // with the other tensor ranks
};

// The larger of each.
StageMemory larger_of(const StageMemory& a, const StageMemory& b);

struct Workspace {
    // Capacities are `memory`'s.
    Workspace(const StageMemory& memory, device::MemorySpace place)
        : scratch("scratch", memory.scratch, place),
          again("recompute", memory.again, place),
          exchange("tensor exchange", memory.exchange, place) {}

    device::Arena scratch;
    device::Arena again;
    device::Arena exchange;
};

struct StageSpec {
    layout::Range layers;  // of the model's list
    model::TensorPart part = {};
    plan::Recompute recompute = plan::Recompute::none;
};

// Functions that a pass calls on its way.
struct PassEvents {
    // Called after each layer, so that messages go on.
    std::function<void()> after_layer = [] {};
    // Called after a layer's backward pass, with the numbers of its parameters among the rank's.
    std::function<void(const std::vector<std::size_t>& parameters)> left = [](const auto&) {};
};

class Stage {
public:
    Stage(const model::ModelConfig& config, const StageSpec& spec);

    std::vector<model::ParameterSpec> parameters() const;
    std::vector<model::ProjectionShape> projections() const;  // of its blocks
    // Where they are; before the first pass. `parameters` outlives the stage.
    void bind(const LocalParameters& parameters);

    // From here on, training passes rebalance the projections of its blocks.
    void rebalance(const model::Rebalancing& rebalancing);

    // The numbers of the parameters that each layer uses, layer by layer: all that `left` is called with.
    std::vector<std::size_t> parameter_uses() const;

    // Likewise, for each layer.
    const std::vector<std::vector<std::size_t>>& layer_parameters() const { return numbers_; }

    bool is_first() const { return spec_.layers.begin == 0; }
    bool is_last() const { return is_last_; }
    std::size_t width() const { return width_; }

    // (own rows, width), in the flight's memory; absent of the last stage. `input` stays until the backward
    // pass; it is absent of the first stage. When evaluating nothing but the output is kept.
    device::Tensor forward(const model::Pass& pass, device::ConstTensor input, Flight& flight,
                           Workspace& workspace, const PassEvents& events = {}) const;

    // Both halves of the backward pass, layer by layer. `grad_output` is absent of the last stage, `grad_input`
    // of the first.
    void backward(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                  Flight& flight, Workspace& workspace, const PassEvents& events = {}) const;

    // The halves apart: all layers' input halves, and later their weight halves. `grad_output` stays until
    // then. Not of a stage that recomputes in full.
    void backward_input(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                        Flight& flight, const PassEvents& events = {}) const;
    void backward_weight(const model::Pass& pass, Flight& flight, const PassEvents& events = {}) const;

    const model::LossState& outcome(const Flight& flight) const { return loss_state(flight.states.back()); }

private:
    bool keeps_inputs_alone(const model::Pass& pass) const;
    // Names the layer to the check of values, if the stream has one.
    void name_layer(const model::Pass& pass, std::size_t layer) const;
    // Of a layer that begins with a norm, which the layer before it may make.
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
    std::vector<layout::Range>
        blocks_;  // layers that are computed again together; counted from the stage's first
    std::size_t width_;
    bool is_last_;
    std::vector<std::vector<std::size_t>>
        numbers_;  // per layer, in the order of its parameters: among the rank's
    std::vector<std::vector<std::vector<device::ConstTensor>>> weights_;  // per copy and layer, likewise
    std::vector<std::vector<std::vector<device::Tensor>>> gradients_;     // likewise
};

// Of all stages of a rank; and of each rank of its team.
std::vector<model::ProjectionShape> projections_of(const model::ModelConfig& config,
                                                   const std::vector<StageSpec>& specs);
std::vector<std::vector<model::ProjectionShape>> projections_of_team(const model::ModelConfig& config,
                                                                     const std::vector<StageSpec>& specs);

}  // namespace trireme::stage
