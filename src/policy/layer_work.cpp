#include "trireme/policy/layer_work.hpp"

#include <algorithm>

namespace trireme::policy {
namespace {

LayerWork joined(const LayerWork& run, const LayerWork& next) {
    return {.products = run.products + next.products,
            .others = run.others + next.others,
            .held_bytes = run.held_bytes + next.held_bytes,
            .kept_bytes = run.kept_bytes + next.kept_bytes,
            .workspace_bytes = std::max(run.workspace_bytes, next.workspace_bytes)};
}

}  // namespace

RunWork::RunWork(const std::vector<LayerWork>& layers) {
    for (std::size_t begin = 0; begin < layers.size(); ++begin) {
        std::vector<LayerWork>& runs = runs_.emplace_back();
        for (std::size_t end = begin; end < layers.size(); ++end)
            runs.push_back(runs.empty() ? layers[end] : joined(runs.back(), layers[end]));
    }
}

}  // namespace trireme::policy
