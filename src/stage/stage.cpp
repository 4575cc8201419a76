#include "trireme/stage/stage.hpp"

#include <algorithm>

#include "trireme/kernels/rows.hpp"
#include "trireme/model/model.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {
namespace {

std::vector<model::Layer> layers_of(const model::ModelConfig& config, const StageSpec& spec) {
    return build_layers(config, spec.part, spec.layers);
}

// Groups the layers: the halves of a block form one range, every other layer its own.
std::vector<layout::Range> blocks_of(const std::vector<model::Layer>& layers) {
    std::vector<layout::Range> blocks;
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const bool goes_on = l > 0 && std::holds_alternative<model::MlpHalf>(layers[l]) &&
                             std::holds_alternative<model::AttentionHalf>(layers[l - 1]);
        if (goes_on) {
            ++blocks.back().count;
        } else {
            blocks.push_back({l, 1});
        }
    }
    return blocks;
}

bool is_of_head(const model::Layer& layer) {
    return std::visit([]<class L>(const L&) { return model::is_head<L>; }, layer);
}

// Calls use(layer, state) with the layer's type and its State.
template <class Use>
void visit_layer(const model::Layer& layer, model::LayerState& state, Use&& use) {
    std::visit([&]<class L>(const L& l) { use(l, std::get<typename L::State>(state)); }, layer);
}

}  // namespace

StageMemory larger_of(const StageMemory& a, const StageMemory& b) {
    return {.activations = std::max(a.activations, b.activations),
            .scratch = std::max(a.scratch, b.scratch),
            .again = std::max(a.again, b.again),
            .exchange = std::max(a.exchange, b.exchange)};
}

Stage::Stage(const model::ModelConfig& config, const StageSpec& spec)
    : spec_(spec),
      layers_(layers_of(config, spec)),
      blocks_(blocks_of(layers_)),
      width_(config.width),
      is_last_(is_of_head(layers_.back())) {}

std::vector<model::ParameterSpec> Stage::parameters() const { return unique_parameters(layers_); }

std::vector<model::ProjectionShape> Stage::projections() const {
    std::vector<model::ProjectionShape> all;
    for (const model::Layer& layer : layers_) {
        for (model::ProjectionShape& projection : projections_of(layer)) all.push_back(std::move(projection));
    }
    return all;
}

std::vector<model::ProjectionShape> projections_of(const model::ModelConfig& config,
                                                   const std::vector<StageSpec>& specs) {
    std::vector<model::ProjectionShape> all;
    for (const StageSpec& spec : specs) {
        for (model::ProjectionShape& projection : Stage(config, spec).projections())
            all.push_back(std::move(projection));
    }
    return all;
}

std::vector<std::vector<model::ProjectionShape>> projections_of_team(const model::ModelConfig& config,
                                                                     const std::vector<StageSpec>& specs) {
    std::vector<std::vector<model::ProjectionShape>> all;
    for (std::size_t rank = 0; rank < specs.front().part.shares.size(); ++rank) {
        std::vector<StageSpec> of_rank = specs;
        for (StageSpec& spec : of_rank) spec.part.rank = static_cast<int>(rank);
        all.push_back(projections_of(config, of_rank));
    }
    return all;
}

void Stage::bind(const LocalParameters& parameters) {
    for (const model::Layer& layer : layers_) {
        auto& numbers = numbers_.emplace_back();
        for (const model::ParameterSpec& spec : parameters_of(layer))
            numbers.push_back(parameters.number_of(spec.name));
    }
    const auto add_copy = [&](auto& copies, const model::ParameterTensors& tensors) {
        auto& copy = copies.emplace_back(numbers_.size());
        for (std::size_t l = 0; l < numbers_.size(); ++l) {
            for (const std::size_t i : numbers_[l]) copy[l].push_back(tensors[i]);
        }
    };
    const Copies copies = parameters.copies();
    for (std::size_t c = 0; c < copies.values; ++c) add_copy(weights_, parameters.values(c));
    for (std::size_t c = 0; c < copies.gradients; ++c) add_copy(gradients_, parameters.gradients(c));
}

void Stage::rebalance(const model::Rebalancing& rebalancing) {
    for (model::Layer& layer : layers_) {
        std::visit(
            [&]<class L>(L& l) {
                if constexpr (requires { l.rebalance(rebalancing); }) l.rebalance(rebalancing);
            },
            layer);
    }
}

std::vector<std::size_t> Stage::parameter_uses() const {
    std::vector<std::size_t> all;
    for (const auto& numbers : numbers_) all.insert(all.end(), numbers.begin(), numbers.end());
    return all;
}

bool Stage::keeps_inputs_alone(const model::Pass& pass) const {
    return !pass.is_training || spec_.recompute == plan::Recompute::full;
}

void Stage::name_layer(const model::Pass& pass, std::size_t l) const {
    if (pass.stream.check != nullptr) pass.stream.check->begin_layer(name_of(layers_[l]));
}

device::Tensor Stage::forward(const model::Pass& pass, device::ConstTensor input, Flight& flight,
                              Workspace& workspace, const PassEvents& events) const {
    flight.inputs.resize(layers_.size());
    for (const model::Layer& layer : layers_) flight.states.push_back(make_state(layer));
    if (keeps_inputs_alone(pass)) return run_blocks(pass, input, flight, workspace.again, events);
    model::Pass own = pass;
    own.keeps_little = spec_.recompute == plan::Recompute::selective;
    return run_layers(own, {0, layers_.size()}, input, flight, flight.kept, events);
}

std::optional<model::NextNorm> Stage::norm_of_input(const model::Pass& pass, std::size_t l,
                                                    Flight& flight) const {
    std::optional<model::NextNorm> norm;
    visit_layer(layers_[l], flight.states[l], [&]<class L>(const L& layer, typename L::State& state) {
        if constexpr (requires { layer.norm_of_input(pass, model::Weights{}, state); })
            if (auto found = layer.norm_of_input(pass, weights_[flight.weights][l], state))
                norm.emplace(*found);
    });
    return norm;
}

device::Tensor Stage::run_layers(const model::Pass& pass, layout::Range layers, device::ConstTensor input,
                                 Flight& flight, device::Arena& kept, const PassEvents& events) const {
    device::Tensor output;
    for (std::size_t l = layers.begin; l < layers.end(); ++l) {
        flight.inputs[l] = input;
        name_layer(pass, l);
        const std::optional<model::NextNorm> next_norm =
            l + 1 < layers.end() ? norm_of_input(pass, l + 1, flight) : std::nullopt;
        visit_layer(layers_[l], flight.states[l], [&]<class L>(const L& layer, typename L::State& state) {
            const model::Weights weights = weights_[flight.weights][l];
            if constexpr (requires { layer.forward(pass, weights, input, state, kept, &*next_norm); }) {
                output = layer.forward(pass, weights, input, state, kept, next_norm ? &*next_norm : nullptr);
            } else {
                device::Arena& arena = model::is_head<L> ? pass.scratch : kept;  // a head keeps nothing
                output = layer.forward(pass, weights, input, state, arena);
            }
        });
        events.after_layer();
        input = output;
    }
    return output;
}

// Runs block after block and keeps only the outputs of blocks. An evaluation pass releases even these once the
// next block has read them.
device::Tensor Stage::run_blocks(const model::Pass& pass, device::ConstTensor input, Flight& flight,
                                 device::Arena& again, const PassEvents& events) const {
    device::Tensor output;
    for (const layout::Range& block : blocks_) {
        const device::ArenaScope scope(again);
        const device::Tensor made = run_layers(pass, block, input, flight, again, events);
        if (is_of_head(layers_[block.begin])) return {};
        if (!pass.is_training) flight.kept.release(0);
        output = flight.kept.tensor(pass.dtype, made.rows, made.columns);
        launch(pass.stream, kernels::Copy{.input = made, .output = output});
        input = output;
    }
    return output;
}

void Stage::backward_layer(const model::Pass& pass, std::size_t l, device::ConstTensor grad_output,
                           device::Tensor grad_input, Flight& flight) const {
    name_layer(pass, l);
    const device::ArenaScope scope(pass.scratch);  // the halves of a layer share temporaries
    visit_layer(layers_[l], flight.states[l], [&]<class L>(const L& layer, typename L::State& state) {
        const device::ConstTensor input = flight.inputs[l];
        if constexpr (std::is_same_v<L, model::Head>) {
            layer.backward(pass, weights_[flight.weights][l], input, grad_input, state,
                           gradients_[flight.gradients][l], pass.scratch);
        } else {
            layer.backward_input(pass, weights_[flight.weights][l], input, grad_output, grad_input, state,
                                 pass.scratch);
            layer.backward_weight(pass, weights_[flight.weights][l], input, grad_output, state,
                                  gradients_[flight.gradients][l], pass.scratch);
        }
    });
}

void Stage::backward(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                     Flight& flight, Workspace& workspace, const PassEvents& events) const {
    const device::ArenaScope scope(pass.scratch);
    const std::size_t rows = own_rows(pass).count;
    device::Tensor next = pass.scratch.tensor(pass.dtype, rows, width_);
    device::Tensor spare = pass.scratch.tensor(pass.dtype, rows, width_);
    model::Pass own = pass;
    own.keeps_little = spec_.recompute == plan::Recompute::selective;
    for (std::size_t b = blocks_.size(); b-- > 0;) {
        const device::ArenaScope block_scope(workspace.again);
        if (spec_.recompute == plan::Recompute::full) {
            run_layers(own, blocks_[b], flight.inputs[blocks_[b].begin], flight, workspace.again, events);
        }
        for (std::size_t l = blocks_[b].end(); l-- > blocks_[b].begin;) {
            const device::Tensor target = l == 0 && grad_input.is_present() ? grad_input : next;
            backward_layer(own, l, grad_output, target, flight);
            events.left(numbers_[l]);
            events.after_layer();
            grad_output = target;
            std::swap(next, spare);
        }
    }
}

void Stage::backward_input(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                           Flight& flight, const PassEvents& events) const {
    if (spec_.recompute == plan::Recompute::full) {
        throw BugError("a stage that computes its activations again was asked for half a backward pass");
    }
    model::Pass own = pass;
    own.keeps_little = spec_.recompute == plan::Recompute::selective;
    flight.grad_outputs.resize(layers_.size());
    for (std::size_t l = layers_.size(); l-- > 0;) {
        name_layer(pass, l);
        flight.grad_outputs[l] = grad_output;
        const bool is_given = l == 0 && grad_input.is_present();
        const device::Tensor target =
            is_given ? grad_input : flight.kept.tensor(pass.dtype, own_rows(pass).count, width_);
        visit_layer(layers_[l], flight.states[l], [&](const auto& layer, auto& state) {
            layer.backward_input(own, weights_[flight.weights][l], flight.inputs[l], grad_output, target, state,
                                 flight.kept);
        });
        events.after_layer();
        grad_output = target;
    }
}

void Stage::backward_weight(const model::Pass& pass, Flight& flight, const PassEvents& events) const {
    model::Pass own = pass;
    own.keeps_little = spec_.recompute == plan::Recompute::selective;
    for (std::size_t l = layers_.size(); l-- > 0;) {
        name_layer(pass, l);
        const device::ArenaScope scope(pass.scratch);
        visit_layer(layers_[l], flight.states[l], [&](const auto& layer, auto& state) {
            layer.backward_weight(own, weights_[flight.weights][l], flight.inputs[l], flight.grad_outputs[l],
                                  state, gradients_[flight.gradients][l], pass.scratch);
        });
        events.left(numbers_[l]);
        events.after_layer();
    }
}

}  // namespace trireme::stage
