// A model is a list of layers: the embedding, an attention half and an MLP half per block, the final norm (bert
// has a HeadTransform in its place) and the head. gpt2 has 27 layers.
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

// True for the layers that end a model: they return a loss instead of rows and keep no forward tensor.
template <class L>
inline constexpr bool is_head = std::is_same_v<L, Head> || std::is_same_v<L, SpanHead>;

// Returns all layers of the model, or a tensor rank's part of each.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part = {});
const char* kind_of(const Layer& layer);  // "attention"
std::string name_of(const Layer& layer);  // "h.5.attention"; the kind for a layer outside the blocks
std::vector<ParameterSpec> parameters_of(const Layer& layer);
std::vector<ProjectionShape> projections_of(const Layer& layer);  // empty except for the halves of a block
LayerState make_state(const Layer& layer);
const LossState& loss_state(const LayerState& state);  // throws BugError if the layer is not a head

// Returns every parameter of the layers once, in order of first use. (A tied table belongs to two layers.)
std::vector<ParameterSpec> unique_parameters(const std::vector<Layer>& layers);

std::size_t parameter_count(const ModelConfig& config);

// Builds only the layers in the range `wanted`; much cheaper for deep models.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part, layout::Range wanted);

}  // namespace trireme::model
