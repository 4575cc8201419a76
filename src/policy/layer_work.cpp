#include "trireme/policy/layer_work.hpp"

#include <algorithm>

namespace trireme::policy {
namespace {

LayerWork append_layer(const LayerWork& run, const LayerWork& layer) {
    return {.matmuls = run.matmuls + layer.matmuls,
            .other_kernels = run.other_kernels + layer.other_kernels,
            .forward = run.forward + layer.forward,
            .backward_weight = run.backward_weight + layer.backward_weight,
            .state_bytes = run.state_bytes + layer.state_bytes,
            .activation_bytes = run.activation_bytes + layer.activation_bytes,
            .workspace_bytes = std::max(run.workspace_bytes, layer.workspace_bytes)};
}

}  // namespace

LayerRunWork::LayerRunWork(const std::vector<LayerWork>& layers) {
    for (std::size_t begin = 0; begin < layers.size(); ++begin) {
        std::vector<LayerWork>& runs = runs_.emplace_back();
        for (std::size_t last = begin; last < layers.size(); ++last)
            runs.push_back(runs.empty() ? layers[last] : append_layer(runs.back(), layers[last]));
    }
}

}  // namespace trireme::policy
