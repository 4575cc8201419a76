#include "trireme/model/model.hpp"

#include <array>
#include <unordered_set>

#include "model/family.hpp"

namespace trireme {

std::vector<Layer> build_layers(const ModelConfig& config, const TensorPart& part) {
    std::vector<Layer> layers;
    layers.reserve(2 * config.layers + 3);
    if (config.reads_images()) {
        layers.emplace_back(PatchEmbedding(config, part));
    } else {
        layers.emplace_back(EmbeddingLayer(config, part));
    }
    for (std::size_t block = 0; block < config.layers; ++block) {
        layers.emplace_back(AttentionHalf(config, part, block));
        layers.emplace_back(MlpHalf(config, part, block));
    }
    if (!traits_of(config.family).final_norm.empty()) layers.emplace_back(FinalNorm(config));
    if (config.family == Family::bert && config.task != Task::span) layers.emplace_back(HeadTransform(config));
    if (config.task == Task::span) {
        layers.emplace_back(SpanHead(config, part));
    } else {
        layers.emplace_back(Head(config, part));
    }
    return layers;
}

const char* kind_of(const Layer& layer) {
    constexpr std::array<const char*, std::variant_size_v<Layer>> kinds{
        // in the order of Layer
        "embedding", "patches", "attention", "mlp", "norm", "transform", "head", "span head"};
    return kinds[layer.index()];
}

// The halves of a block begin the names of all their parameters with the block's.
std::string name_of(const Layer& layer) {
    const bool is_in_block =
        std::holds_alternative<AttentionHalf>(layer) || std::holds_alternative<MlpHalf>(layer);
    if (!is_in_block) return kind_of(layer);
    const std::string name = parameters_of(layer).front().name;
    const std::size_t number = name.find_first_of("0123456789");
    return name.substr(0, name.find('.', number) + 1) + kind_of(layer);
}

std::vector<ParameterSpec> parameters_of(const Layer& layer) {
    return std::visit([](const auto& l) { return l.parameters(); }, layer);
}

std::vector<ProjectionShape> projections_of(const Layer& layer) {
    return std::visit(
        []<class L>(const L& l) -> std::vector<ProjectionShape> {
            if constexpr (std::is_same_v<L, AttentionHalf> || std::is_same_v<L, MlpHalf>) {
                return l.projections();
            } else {
                return {};
            }
        },
        layer);
}

LayerState make_state(const Layer& layer) {
    return std::visit([]<class L>(const L&) -> LayerState { return typename L::State{}; }, layer);
}

const LossState& loss_state(const LayerState& state) {
    return std::visit(
        []<class S>(const S& s) -> const LossState& {
            if constexpr (std::is_base_of_v<LossState, S>) {
                return s;
            } else {
                throw BugError("a layer that is no head was asked for a loss");
            }
        },
        state);
}

std::vector<ParameterSpec> unique_parameters(const std::vector<Layer>& layers) {
    std::vector<ParameterSpec> unique;
    std::unordered_set<std::string> known;
    for (const Layer& layer : layers) {
        for (ParameterSpec& spec : parameters_of(layer)) {
            if (known.insert(spec.name).second) unique.push_back(std::move(spec));
        }
    }
    return unique;
}

std::size_t parameter_count(const ModelConfig& config) {
    std::size_t sum = 0;
    for (const ParameterSpec& spec : unique_parameters(build_layers(config))) sum += spec.size();
    return sum;
}

}  // namespace trireme
