#include "trireme/setup/model_flops.hpp"

namespace trireme::setup {
namespace {

// Logits of classes and tokens are computed only for rows with a target; an answer is searched in every row.
bool needs_targets_alone(const model::Layer& layer) {
    return std::holds_alternative<model::Head>(layer) || std::holds_alternative<model::HeadTransform>(layer);
}

}  // namespace

ModelFlops model_flops(const model::ModelConfig& model) {
    ModelFlops flops{.attention_factor = static_cast<double>(model.layers * model.width),
                     .is_causal = model.is_causal()};
    for (const model::Layer& layer : build_layers(model)) {
        double& sum = needs_targets_alone(layer) ? flops.head_parameters : flops.body_parameters;
        sum += static_cast<double>(multiplying_parameters(layer, model));
    }
    return flops;
}

std::size_t multiplying_parameters(const model::Layer& layer, const model::ModelConfig& model) {
    if (std::holds_alternative<model::EmbeddingLayer>(layer)) return 0;
    if (std::holds_alternative<model::PatchEmbedding>(layer))
        return model.width * (model.image.patch_values() + 1);
    std::size_t sum = 0;
    for (const model::ParameterSpec& spec : parameters_of(layer)) sum += spec.size();
    return sum;
}

double ModelFlops::of_step(const StepSize& size, double attention) const {
    return 6 * body_parameters * static_cast<double>(size.tokens) +
           6 * head_parameters * static_cast<double>(size.targets) +
           attention * attention_factor * size.square_length_sum;
}

}  // namespace trireme::setup
