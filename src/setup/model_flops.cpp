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
                     .width = static_cast<double>(model.width),
                     .is_causal = model.is_causal()};
    const std::vector<model::Layer> layers = build_layers(model);
    const auto count = [&](std::size_t l) {
        return static_cast<double>(count_matmul_parameters(layers[l], model));
    };
    for (std::size_t l = 0; l < layers.size(); ++l)
        (needs_only_target_rows(layers[l]) ? flops.head_parameters : flops.body_parameters) += count(l);
    flops.embedding_parameters = count(0);
    flops.block_parameters = count(1) + count(2);
    for (const model::ParameterSpec& spec : list_parameters(layers.back()))
        if (spec.is_tied) flops.tied_parameters = static_cast<double>(spec.size());
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
    const double frozen_blocks = size.frozen_blocks;
    const double frozen_body = frozen_blocks > 0 ? embedding_parameters + frozen_blocks * block_parameters : 0;
    const double frozen_head = frozen_blocks > 0 ? tied_parameters : 0;
    // A frozen layer has no backward pass, and a cached one has no forward pass either.
    const double left_out = (2 + size.cached_fraction) / 3;
    return (6 * body_parameters - 6 * left_out * frozen_body) * static_cast<double>(size.tokens) +
           (6 * head_parameters - 2 * frozen_head) * static_cast<double>(size.targets) +
           attention * (attention_factor - left_out * frozen_blocks * width) * size.square_length_sum;
}

}  // namespace trireme::setup
