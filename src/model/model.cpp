#include "trireme/model/model.hpp"

#include <unordered_set>

namespace trireme {

std::vector<Layer> build_layers(const ModelConfig& config) {
    std::vector<Layer> layers;
    layers.reserve(2 * config.layers + 3);
    layers.emplace_back(EmbeddingLayer(config));
    for (std::size_t block = 0; block < config.layers; ++block) {
        layers.emplace_back(AttentionHalf(config, block));
        layers.emplace_back(MlpHalf(config, block));
    }
    layers.emplace_back(FinalNorm(config));
    layers.emplace_back(Head(config));
    return layers;
}

std::vector<ParameterSpec> parameters_of(const Layer& layer) {
    return std::visit([](const auto& l) { return l.parameters(); }, layer);
}

LayerState make_state(const Layer& layer) {
    return std::visit([]<class L>(const L&) -> LayerState { return typename L::State{}; }, layer);
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
