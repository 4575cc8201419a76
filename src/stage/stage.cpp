#include "trireme/stage/stage.hpp"

#include <unordered_map>

namespace trireme {

struct Stage::Passage {
    Pass pass;
    std::vector<LayerState> states;   // per layer
    std::vector<ConstTensor> inputs;  // (rows, width) per layer; absent for the embedding
};

namespace {

std::unordered_map<std::string, std::size_t> places_of(const std::vector<ParameterSpec>& specs) {
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < specs.size(); ++i) places[specs[i].name] = i;
    return places;
}

// Calls use(layer, state) with the types that belong together.
template <class Use>
void visit_layer(const Layer& layer, LayerState& state, Use&& use) {
    std::visit([&]<class L>(const L& l) { use(l, std::get<typename L::State>(state)); }, layer);
}

// The largest batch of that shape: every row predicted.
TokenBatch ghost_batch(const ModelConfig& config, const BatchShape& shape, Arena& inputs) {
    const auto numbers = [&](std::size_t rows, std::size_t columns) {
        return inputs.tensor(DType::i32, rows, columns);
    };
    const std::size_t patches = config.reads_images() ? shape.segments.size() * config.image.patches() : 0;
    return {.tokens = numbers(1, shape.rows),
            .positions = numbers(1, shape.rows),
            .types = numbers(1, shape.rows),
            .visits = inputs.tensor(DType::i64, 1, shape.rows),
            .segments = shape.segments,
            .predicted = numbers(1, shape.rows),
            .targets = numbers(1, shape.rows),
            .answers = numbers(shape.segments.size(), 2),
            .contexts = numbers(shape.segments.size(), 2),
            .pixels = inputs.tensor(DType::f32, patches, config.image.patch_values())};
}

}  // namespace

Stage::Stage(const ModelConfig& config, DType dtype, Place place, const StageMemory& memory)
    : layers_(build_layers(config)),
      specs_(unique_parameters(layers_)),
      dtype_(dtype),
      values_(specs_, dtype, place),
      gradients_(specs_, dtype, place),
      activations_("activation", memory.activations, place),
      scratch_("scratch", memory.scratch, place) {
    const auto places = places_of(specs_);
    for (const Layer& layer : layers_) {
        auto& weights = layer_weights_.emplace_back();
        auto& gradients = layer_gradients_.emplace_back();
        for (const ParameterSpec& spec : parameters_of(layer)) {
            const std::size_t i = places.at(spec.name);
            weights.push_back(values_[i]);
            gradients.push_back(gradients_[i]);
        }
    }
}

Weights Stage::weights_of(std::size_t layer) const { return layer_weights_[layer]; }
Gradients Stage::gradients_of(std::size_t layer) const { return layer_gradients_[layer]; }

void Stage::forward(Passage& passage) {
    ConstTensor hidden;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        passage.inputs.push_back(hidden);
        passage.states.push_back(make_state(layers_[l]));
        visit_layer(layers_[l], passage.states[l], [&]<class L>(const L& layer, typename L::State& state) {
            Arena& kept = is_head<L> ? scratch_ : activations_;  // a head keeps nothing
            hidden = layer.forward(passage.pass, weights_of(l), hidden, state, kept);
        });
    }
}

LossState Stage::evaluate(Stream& stream, const TokenBatch& batch) {
    if (batch.rows() == 0) return {};
    const ArenaScope scope(activations_);
    Passage passage{.pass = {.stream = stream, .batch = batch, .dtype = dtype_}, .states = {}, .inputs = {}};
    forward(passage);
    return loss_state(passage.states.back());
}

double Stage::forward_backward(Stream& stream, const TokenBatch& batch, const PassOptions& options,
                               BackwardHalves halves) {
    if (batch.rows() == 0) return 0;
    const ArenaScope kept(activations_);
    const ArenaScope scope(scratch_);
    Passage passage{.pass = {.stream = stream,
                             .batch = batch,
                             .dtype = dtype_,
                             .is_training = true,
                             .dropout_key = options.dropout_key,
                             .loss_scale = options.loss_scale,
                             .label_smoothing = options.label_smoothing},
                    .states = {},
                    .inputs = {}};
    forward(passage);
    halves == BackwardHalves::together ? backward(passage) : backward_apart(passage);
    return loss_state(passage.states.back()).loss;
}

void Stage::backward(Passage& passage) {
    const std::size_t rows = passage.pass.batch.rows();
    const std::size_t width = passage.inputs.back().columns;
    Tensor grad_output = scratch_.tensor(dtype_, rows, width);
    Tensor grad_input = scratch_.tensor(dtype_, rows, width);
    for (std::size_t l = layers_.size(); l-- > 0;) {
        const ArenaScope scope(scratch_);  // what the halves of one layer leave for each other
        visit_layer(layers_[l], passage.states[l], [&]<class L>(const L& layer, typename L::State& state) {
            const ConstTensor input = passage.inputs[l];
            if constexpr (std::is_same_v<L, Head>) {
                layer.backward(passage.pass, weights_of(l), input, grad_input, state, gradients_of(l),
                               scratch_);
            } else {
                layer.backward_input(passage.pass, weights_of(l), input, grad_output, grad_input, state,
                                     scratch_);
                layer.backward_weight(passage.pass, weights_of(l), input, grad_output, state, gradients_of(l),
                                      scratch_);
            }
        });
        std::swap(grad_output, grad_input);
    }
}

void Stage::backward_apart(Passage& passage) {
    const std::size_t rows = passage.pass.batch.rows();
    const std::size_t width = passage.inputs.back().columns;
    std::vector<Tensor> grad_outputs(layers_.size());  // per layer; absent for the head
    for (std::size_t l = layers_.size(); l-- > 0;) {
        const Tensor grad_input = activations_.tensor(dtype_, rows, width);
        visit_layer(layers_[l], passage.states[l], [&](const auto& layer, auto& state) {
            layer.backward_input(passage.pass, weights_of(l), passage.inputs[l], grad_outputs[l], grad_input,
                                 state, activations_);
        });
        if (l > 0) grad_outputs[l - 1] = grad_input;
    }
    for (std::size_t l = layers_.size(); l-- > 0;) {
        visit_layer(layers_[l], passage.states[l], [&](const auto& layer, auto& state) {
            layer.backward_weight(passage.pass, weights_of(l), passage.inputs[l], grad_outputs[l], state,
                                  gradients_of(l), scratch_);
        });
    }
}

StageMemory Stage::peak() const {
    return {.parameters = values_.bytes(),
            .gradients = gradients_.bytes(),
            .activations = activations_.peak(),
            .scratch = scratch_.peak()};
}

StageMemory predict(const ModelConfig& config, DType dtype, const BatchShape& shape, BackwardHalves halves) {
    Stage stage(config, dtype, Place::ghost, {});
    Stream stream{.backend = GhostStream{}};
    Arena inputs("input", 0, Place::ghost);
    const TokenBatch batch = ghost_batch(config, shape, inputs);
    stage.forward_backward(stream, batch, {}, halves);
    stage.evaluate(stream, batch);
    return stage.peak();
}

}  // namespace trireme
