#include "trireme/stage/stage.hpp"

#include <algorithm>
#include <string_view>

#include "stage/cached_layers.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/model/model.hpp"
#include "trireme/model/tensor_group.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::stage {
namespace {

std::vector<model::Layer> make_layers(const model::ModelConfig& config, const StageSpec& spec) {
    return build_layers(config, spec.part, spec.layers);
}

// Groups layers: the two halves of a block form one range, and every other layer forms a range of its own.
// `kinds` has the kind of each layer.
std::vector<layout::Range> find_blocks(const std::vector<std::string_view>& kinds) {
    std::vector<layout::Range> blocks;
    for (std::size_t l = 0; l < kinds.size(); ++l) {
        const bool continues_block = l > 0 && kinds[l] == "mlp" && kinds[l - 1] == "attention";
        if (continues_block) {
            ++blocks.back().count;
        } else {
            blocks.push_back({l, 1});
        }
    }
    return blocks;
}

bool is_head_layer(const model::Layer& layer) {
    return std::visit([]<class L>(const L&) { return model::is_head<L>; }, layer);
}

// Calls use(layer, state) with the concrete types of a layer and its state.
template <class Use>
void visit_layer(const model::Layer& layer, model::LayerState& state, Use&& use) {
    std::visit([&]<class L>(const L& l) { use(l, std::get<typename L::State>(state)); }, layer);
}

}  // namespace

std::vector<layout::Range> list_blocks(const model::ModelConfig& config, layout::Range layers) {
    std::vector<layout::Range> blocks = find_blocks(list_kinds(config, layers));
    for (layout::Range& block : blocks) block.begin += layers.begin;
    return blocks;
}

Stage::Stage(const model::ModelConfig& config, const StageSpec& spec)
    : spec_(spec),
      layers_(make_layers(config, spec)),
      first_trained_(std::clamp(spec.first_trained_layer, spec.layers.begin, spec.layers.end()) -
                     spec.layers.begin),
      block_ranges_(find_blocks(list_kinds(config, spec.layers))),
      width_(config.width),
      is_last_(is_head_layer(layers_.back())) {
    for (std::size_t b = 0; b < block_ranges_.size(); ++b)
        block_of_layer_.insert(block_of_layer_.end(), block_ranges_[b].count, b);
}

bool Stage::is_trained_parameter(std::size_t l, const model::ParameterSpec& spec) const {
    return l >= first_trained_ && !(spec.is_tied && spec_.first_trained_layer > 0);
}

// If two layers share a parameter, it is tied, so that it is trained in both layers or in none.
std::vector<model::ParameterSpec> Stage::parameters() const {
    std::vector<model::ParameterSpec> all;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        for (model::ParameterSpec& spec : list_parameters(layers_[l])) {
            const bool is_known =
                spec.is_tied && std::ranges::find(all, spec.name, &model::ParameterSpec::name) != all.end();
            if (is_known) continue;
            spec.is_trained = is_trained_parameter(l, spec);
            all.push_back(std::move(spec));
        }
    }
    return all;
}

std::vector<model::ProjectionShape> Stage::projections() const {
    std::vector<model::ProjectionShape> all;
    for (std::size_t l = first_trained_; l < layers_.size(); ++l) {
        for (model::ProjectionShape& projection : list_projections(layers_[l]))
            all.push_back(std::move(projection));
    }
    return all;
}

std::vector<model::ProjectionShape> list_projections(const model::ModelConfig& config,
                                                     const std::vector<StageSpec>& specs) {
    std::vector<model::ProjectionShape> all;
    for (const StageSpec& spec : specs) {
        for (model::ProjectionShape& projection : Stage(config, spec).projections())
            all.push_back(std::move(projection));
    }
    return all;
}

std::vector<std::vector<model::ProjectionShape>> list_team_projections(const model::ModelConfig& config,
                                                                       const std::vector<StageSpec>& specs) {
    std::vector<std::vector<model::ProjectionShape>> all;
    for (std::size_t rank = 0; rank < specs.front().part.shares.size(); ++rank) {
        std::vector<StageSpec> rank_specs = specs;
        for (StageSpec& spec : rank_specs) spec.part.rank = static_cast<int>(rank);
        all.push_back(list_projections(config, rank_specs));
    }
    return all;
}

void Stage::bind(const LocalParameters& parameters) {
    std::vector<std::vector<std::size_t>> indices(layers_.size());  // per layer: of all parameters
    trained_parameters_.resize(layers_.size() - first_trained_);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        for (const model::ParameterSpec& spec : list_parameters(layers_[l])) {
            indices[l].push_back(parameters.find_index(spec.name));
            if (is_trained_parameter(l, spec))
                trained_parameters_[l - first_trained_].push_back(indices[l].back());
        }
    }
    const auto add_copy = [&](auto& copies, const model::ParameterTensors& tensors) {
        auto& copy = copies.emplace_back(indices.size());
        for (std::size_t l = 0; l < indices.size(); ++l) {
            for (const std::size_t i : indices[l]) copy[l].push_back(tensors[i]);
        }
    };
    const CopyCounts copies = parameters.copy_counts();
    for (std::size_t c = 0; c < copies.values; ++c) add_copy(weights_, parameters.values(c));
    for (std::size_t c = 0; c < copies.gradients; ++c) add_copy(gradients_, parameters.gradients(c));
}

void Stage::rebalance(const model::Rebalancing& rebalancing) {
    for (std::size_t l = first_trained_; l < layers_.size(); ++l) {
        std::visit(
            [&]<class L>(L& layer) {
                if constexpr (requires { layer.rebalance(rebalancing); }) layer.rebalance(rebalancing);
            },
            layers_[l]);
    }
}

std::vector<std::size_t> Stage::list_trained_parameter_uses() const {
    std::vector<std::size_t> all;
    for (const auto& indices : trained_parameters_) all.insert(all.end(), indices.begin(), indices.end());
    return all;
}

model::Pass Stage::make_layer_pass(const model::Pass& pass, std::size_t l, const ActivationStash& stash) const {
    model::Pass layer_pass = pass;
    layer_pass.recomputes_selectively =
        pass.is_training && find_level(stash, block_of_layer_[l]) == plan::Recompute::selective;
    return layer_pass;
}

void Stage::report_layer(const model::Pass& pass, std::size_t l) const {
    if (pass.stream.check != nullptr) pass.stream.check->begin_layer(to_string(layers_[l]));
}

// In training, successive blocks that are not recomputed in full run together, so that kernels can be fused
// across their boundaries. In an evaluation, every block runs by itself; frozen blocks run as in an evaluation.
device::Tensor Stage::forward(const model::Pass& pass, device::ConstTensor input, ActivationStash& stash,
                              Workspace& workspace, const PassEvents& events, const CacheUse* cache) const {
    stash.inputs.resize(layers_.size());
    for (const model::Layer& layer : layers_) stash.states.push_back(make_state(layer));
    const auto runs_alone = [&](std::size_t block) {
        return !pass.is_training || find_level(stash, block) == plan::Recompute::full;
    };
    device::Tensor output;
    if (first_trained_ > 0)
        output = cache == nullptr ? run_frozen_layers(pass, 0, input, stash, workspace, events)
                                  : run_with_cache(*this, *cache, pass, input, stash, workspace, events);
    for (std::size_t b = first_trained_block(); b < block_ranges_.size();) {
        if (b > 0) input = output;
        if (runs_alone(b)) {
            output = run_block(pass, b, input, stash, 0, workspace.block_activations, events);
            ++b;
        } else {
            layout::Range layers = block_ranges_[b++];
            for (; b < block_ranges_.size() && !runs_alone(b); ++b) layers.count += block_ranges_[b].count;
            output = run_layers(pass, layers, input, stash, stash.arena, events);
        }
    }
    pass.stream.layer_passes.forward += static_cast<double>(layers_.size());
    return output;
}

std::optional<model::NextNorm> Stage::find_input_norm(const model::Pass& pass, std::size_t l,
                                                      ActivationStash& stash) const {
    std::optional<model::NextNorm> norm;
    visit_layer(layers_[l], stash.states[l], [&]<class L>(const L& layer, typename L::State& state) {
        if constexpr (requires { layer.find_input_norm(pass, model::Weights{}, state); })
            if (auto found = layer.find_input_norm(pass, weights_[stash.weight_copy][l], state))
                norm.emplace(*found);
    });
    return norm;
}

device::Tensor Stage::run_layers(const model::Pass& pass, layout::Range layers, device::ConstTensor input,
                                 ActivationStash& stash, device::Arena& arena, const PassEvents& events) const {
    device::Tensor output;
    for (std::size_t l = layers.begin; l < layers.end(); ++l) {
        stash.inputs[l] = input;
        report_layer(pass, l);
        const model::Pass layer_pass = make_layer_pass(pass, l, stash);
        const std::optional<model::NextNorm> next_norm =
            l + 1 < layers.end() ? find_input_norm(make_layer_pass(pass, l + 1, stash), l + 1, stash)
                                 : std::nullopt;
        visit_layer(layers_[l], stash.states[l], [&]<class L>(const L& layer, typename L::State& state) {
            const model::Weights weights = weights_[stash.weight_copy][l];
            if constexpr (requires { layer.forward(layer_pass, weights, input, state, arena, &*next_norm); }) {
                output =
                    layer.forward(layer_pass, weights, input, state, arena, next_norm ? &*next_norm : nullptr);
            } else {
                device::Arena& layer_arena =
                    model::is_head<L> ? pass.scratch : arena;  // a head stashes nothing
                output = layer.forward(layer_pass, weights, input, state, layer_arena);
            }
        });
        events.after_layer();
        input = output;
    }
    return output;
}

// Frozen layers run as in an evaluation.
device::Tensor Stage::run_frozen_layers(const model::Pass& pass, std::size_t first_layer,
                                        device::ConstTensor input, ActivationStash& stash, Workspace& workspace,
                                        const PassEvents& events) const {
    model::Pass evaluation_pass = pass;
    evaluation_pass.is_training = false;
    const std::size_t stash_begin = stash.arena.mark();
    device::Tensor output;
    for (std::size_t b = block_of_layer_[first_layer]; b < first_trained_block(); ++b) {
        output = run_block(evaluation_pass, b, input, stash, stash_begin, workspace.block_activations, events);
        input = output;
    }
    return output;
}

std::optional<std::size_t> Stage::find_next_layer(int depth) const {
    const std::size_t layer = plan::find_first_trained_layer(depth);
    if (layer < spec_.layers.begin) return std::nullopt;
    return layer - spec_.layers.begin;
}

// Runs one block, and stashes only its output. An evaluation pass releases even the output of a block, which is
// at `stash_begin`, as soon as the next block has read it.
device::Tensor Stage::run_block(const model::Pass& pass, std::size_t b, device::ConstTensor input,
                                ActivationStash& stash, std::size_t stash_begin,
                                device::Arena& block_activations, const PassEvents& events) const {
    const device::ArenaScope scope(block_activations);
    const device::Tensor block_output =
        run_layers(pass, block_ranges_[b], input, stash, block_activations, events);
    if (is_head_layer(layers_[block_ranges_[b].begin])) return {};
    if (!pass.is_training) stash.arena.release(stash_begin);
    const device::Tensor output = stash.arena.tensor(pass.dtype, block_output.rows, block_output.columns);
    launch(pass.stream, kernels::Copy{.input = block_output, .output = output});
    return output;
}

void Stage::backward_layer(const model::Pass& pass, std::size_t l, device::ConstTensor grad_output,
                           device::Tensor grad_input, ActivationStash& stash) const {
    report_layer(pass, l);
    const device::ArenaScope scope(pass.scratch);  // holds the tensors that both backward halves use
    visit_layer(layers_[l], stash.states[l], [&]<class L>(const L& layer, typename L::State& state) {
        const device::ConstTensor input = stash.inputs[l];
        if constexpr (std::is_same_v<L, model::Head>) {
            layer.backward(pass, weights_[stash.weight_copy][l], input, grad_input, state,
                           gradients_[stash.gradient_copy][l], pass.scratch);
        } else {
            layer.backward_input(pass, weights_[stash.weight_copy][l], input, grad_output, grad_input, state,
                                 pass.scratch);
            layer.backward_weight(pass, weights_[stash.weight_copy][l], input, grad_output, state,
                                  gradients_[stash.gradient_copy][l], pass.scratch);
        }
    });
}

void Stage::backward(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                     ActivationStash& stash, Workspace& workspace, const PassEvents& events) const {
    const device::ArenaScope scope(pass.scratch);
    const std::size_t rows = find_own_rows(pass).count;
    // Each layer reads its output gradient from one buffer, and writes its input gradient to the other buffer.
    device::Tensor target_buffer = pass.scratch.tensor(pass.dtype, rows, width_);
    device::Tensor source_buffer = pass.scratch.tensor(pass.dtype, rows, width_);
    for (std::size_t b = block_ranges_.size(); b-- > block_of_layer_[first_trained_];) {
        const device::ArenaScope block_scope(workspace.block_activations);
        if (find_level(stash, b) == plan::Recompute::full) {
            run_layers(pass, block_ranges_[b], stash.inputs[block_ranges_[b].begin], stash,
                       workspace.block_activations, events);
        }
        for (std::size_t l = block_ranges_[b].end(); l-- > block_ranges_[b].begin;) {
            const bool is_caller_buffer = l == first_trained_ && grad_input.is_present();
            const device::Tensor target = is_caller_buffer ? grad_input : target_buffer;
            backward_layer(make_layer_pass(pass, l, stash), l, grad_output, target, stash);
            events.after_layer_gradients(trained_parameters_[l - first_trained_]);
            events.after_layer();
            grad_output = target;
            std::swap(target_buffer, source_buffer);
        }
    }
    pass.stream.layer_passes.backward += static_cast<double>(trained_parameters_.size());
}

void Stage::backward_input(const model::Pass& pass, device::ConstTensor grad_output, device::Tensor grad_input,
                           ActivationStash& stash, const PassEvents& events) const {
    for (std::size_t b = 0; b < block_ranges_.size(); ++b) {
        if (find_level(stash, b) == plan::Recompute::full)
            throw BugError("a stage with full recomputation cannot execute half of a backward pass");
    }
    stash.grad_outputs.resize(layers_.size());
    for (std::size_t l = layers_.size(); l-- > first_trained_;) {
        report_layer(pass, l);
        stash.grad_outputs[l] = grad_output;
        const bool is_caller_buffer = l == first_trained_ && grad_input.is_present();
        const device::Tensor target =
            is_caller_buffer ? grad_input : stash.arena.tensor(pass.dtype, find_own_rows(pass).count, width_);
        visit_layer(layers_[l], stash.states[l], [&](const auto& layer, auto& state) {
            layer.backward_input(make_layer_pass(pass, l, stash), weights_[stash.weight_copy][l],
                                 stash.inputs[l], grad_output, target, state, stash.arena);
        });
        events.after_layer();
        grad_output = target;
    }
}

void Stage::backward_weight(const model::Pass& pass, ActivationStash& stash, const PassEvents& events) const {
    for (std::size_t l = layers_.size(); l-- > first_trained_;) {
        report_layer(pass, l);
        const device::ArenaScope scope(pass.scratch);
        visit_layer(layers_[l], stash.states[l], [&](const auto& layer, auto& state) {
            layer.backward_weight(make_layer_pass(pass, l, stash), weights_[stash.weight_copy][l],
                                  stash.inputs[l], stash.grad_outputs[l], state,
                                  gradients_[stash.gradient_copy][l], pass.scratch);
        });
        events.after_layer_gradients(trained_parameters_[l - first_trained_]);
        events.after_layer();
    }
    pass.stream.layer_passes.backward += static_cast<double>(trained_parameters_.size());
}

}  // namespace trireme::stage
