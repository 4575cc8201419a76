// A model is a list of layers: the embedding, for each block its attention half and its MLP half, the final
// norm or what bert has in its place, and the head (27 for gpt2).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/model/attention_half.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/embedding_layer.hpp"
#include "trireme/model/head.hpp"
#include "trireme/model/head_transform.hpp"
#include "trireme/model/mlp_half.hpp"
#include "trireme/model/norm.hpp"
#include "trireme/model/patch_embedding.hpp"
#include "trireme/model/span_head.hpp"

namespace trireme::model {

using Layer = std::variant<EmbeddingLayer, PatchEmbedding, AttentionHalf, MlpHalf, FinalNorm, HeadTransform,
                           Head, SpanHead>;
using LayerState =
    std::variant<EmbeddingLayer::State, PatchEmbedding::State, AttentionHalf::State, MlpHalf::State,
                 FinalNorm::State, HeadTransform::State, Head::State, SpanHead::State>;

// Ends a model: gives a loss instead of rows, and keeps no tensor of the forward pass.
template <class L>
inline constexpr bool is_head = std::is_same_v<L, Head> || std::is_same_v<L, SpanHead>;

// All layers of the model, or a tensor rank's part of each.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part = {});
const char* kind_of(const Layer& layer);  // "attention"
std::string name_of(const Layer& layer);  // "h.5.attention"; of a layer outside the blocks, its kind
std::vector<ParameterSpec> parameters_of(const Layer& layer);
std::vector<ProjectionShape> projections_of(const Layer& layer);  // those of a block's halves; others have none
LayerState make_state(const Layer& layer);
const LossState& loss_state(const LayerState& state);  // of a head

// Every parameter of some layers once, in order of first use: a tied table belongs to two layers.
std::vector<ParameterSpec> unique_parameters(const std::vector<Layer>& layers);

std::size_t parameter_count(const ModelConfig& config);

// build_layers() for the layers in `wanted` alone: of a deep model, much less work.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part, layout::Range wanted);

}  // namespace trireme::model
