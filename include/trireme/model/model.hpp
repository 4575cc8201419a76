// A model is a list of layers: the embedding, for each block its attention half and its MLP half, the final
// norm and the head (27 for gpt2).
#pragma once

#include <variant>
#include <vector>

#include "trireme/model/attention_half.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/embedding_layer.hpp"
#include "trireme/model/final_norm.hpp"
#include "trireme/model/head.hpp"
#include "trireme/model/mlp_half.hpp"

namespace trireme {

using Layer = std::variant<EmbeddingLayer, AttentionHalf, MlpHalf, FinalNorm, Head>;
using LayerState =
    std::variant<EmbeddingLayer::State, AttentionHalf::State, MlpHalf::State, FinalNorm::State, Head::State>;

std::vector<Layer> build_layers(const ModelConfig& config);
std::vector<ParameterSpec> parameters_of(const Layer& layer);
LayerState make_state(const Layer& layer);

// Every parameter of some layers once, in order of first use: a tied table belongs to two layers.
std::vector<ParameterSpec> unique_parameters(const std::vector<Layer>& layers);

std::size_t parameter_count(const ModelConfig& config);

}  // namespace trireme
