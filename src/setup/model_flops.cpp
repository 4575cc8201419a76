#include "trireme/setup/model_flops.hpp"

namespace trireme::setup {
namespace {

// True for a Head and the HeadTransform before it: logits of classes or tokens are needed only for rows with a
// target. A SpanHead needs all rows, because any row may be the start or the end of an answer.
bool needs_only_target_rows(const model::Layer& layer) {
    return std::holds_alternative<model::Head>(layer) || std::holds_alternative<model::HeadTransform>(layer);
}

}  // namespace

ModelFlops count_model_flops(const model::ModelConfig& model) {
    ModelFlops flops{.attention_factor = static_cast<double>(model.layers * model.width),
                     .is_causal = model.is_causal()};
    for (const model::Layer& layer : build_layers(model)) {
        double& parameters = needs_only_target_rows(layer) ? flops.head_parameters : flops.body_parameters;
        parameters += static_cast<double>(count_matmul_parameters(layer, model));
    }
    return flops;
}

std::size_t count_matmul_parameters(const model::Layer& layer, const model::ModelConfig& model) {
    if (std::holds_alternative<model::EmbeddingLayer>(layer)) return 0;
    if (std::holds_alternative<model::PatchEmbedding>(layer))
        return model.width * (model.image.count_patch_values() + 1);
    std::size_t parameters = 0;
    for (const model::ParameterSpec& spec : list_parameters(layer)) parameters += spec.size();
    return parameters;
}

double ModelFlops::compute_step_flops(const StepSize& size, double attention) const {
    return 6 * body_parameters * static_cast<double>(size.tokens) +
           6 * head_parameters * static_cast<double>(size.targets) +
           attention * attention_factor * size.square_length_sum;
}

}  // namespace trireme::setup
