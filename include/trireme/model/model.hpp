// A model is a list of layers: the embedding, an attention half and an MLP half per block, the final norm and
// the head. For example, gpt2 has 1 + 2 * 12 + 1 + 1 = 27 layers. In place of the final norm, bert has a
// HeadTransform or, for Task::span, no layer.
#pragma once

#include <limits>
#include <string>
#include <string_view>
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

// True for the types of layers that end a model. These layers compute a loss, and their forward() returns an
// absent tensor.
template <class L>
inline constexpr bool is_head = std::is_same_v<L, Head> || std::is_same_v<L, SpanHead>;

inline constexpr layout::Range all_layers{0, std::numeric_limits<std::size_t>::max()};

// Returns all layers of the model, with the slices of the tensor rank `part`.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part = {});
// Returns the name of the layer's type in profiles and messages, for example "attention".
const char* find_kind(const Layer& layer);
// Returns the name of a layer, for example "transformer.h.5.attention". Outside blocks, the name equals
// find_kind().
std::string to_string(const Layer& layer);
std::vector<ParameterSpec> list_parameters(const Layer& layer);
std::vector<ProjectionShape> list_projections(const Layer& layer);  // empty except for the halves of a block
LayerState make_state(const Layer& layer);
const LossState& find_loss_state(const LayerState& state);  // throws BugError if the layer is not a head

// Returns every parameter of the layers once, in order of first use. (A tied token table belongs to two layers,
// the embedding and the head.)
std::vector<ParameterSpec> list_unique_parameters(const std::vector<Layer>& layers);

std::size_t count_parameters(const ModelConfig& config);  // number of elements; a tied table counts once

// Returns only the layers whose indices in the model are in `range`. This is cheaper than building all layers.
std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part, layout::Range range);
// Returns find_kind() of the layers whose indices in the model are in `range`, without building the layers.
std::vector<std::string_view> list_kinds(const ModelConfig& config, layout::Range range = all_layers);

}  // namespace trireme::model
