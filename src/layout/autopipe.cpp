#include "trireme/layout/autopipe.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

// Returns the bound of cut_trained_layers(), in parameters. `rest` has the layers that no stage has yet.
double compute_bound(std::span<const LayerFacts> rest, std::size_t stages) {
    if (stages == 1) return std::numeric_limits<double>::infinity();
    constexpr double million = 1e6;
    const auto count = static_cast<double>(rest.size());
    double sum = 0;
    for (const LayerFacts& layer : rest) sum += static_cast<double>(layer.parameters);
    double squares = 0;
    for (const LayerFacts& layer : rest) {
        const double deviation = static_cast<double>(layer.parameters) - sum / count;
        squares += deviation * deviation;
    }
    return (sum + squares / count / million) / static_cast<double>(stages);
}

// Adds the replicas and the idle ranks of a node to a layout that has all stages.
void add_node(const std::vector<int>& node, const AutopipeRules& rules, Layout& layout) {
    const std::size_t stages = layout.stages.size();
    const std::size_t spacing = rules.adds_replicas ? stages : rules.initial_stages;
    const std::size_t initial_ranks = node.size() / rules.initial_stages * rules.initial_stages;
    const std::size_t pipelines = initial_ranks / spacing;
    for (std::size_t r = 0; r < node.size(); ++r) {
        if (r / spacing < pipelines && r % spacing < stages) {
            layout.stages[r % spacing].replicas.push_back({.ranks = {node[r]}, .shares = {1}});
        } else {
            layout.idle.push_back(node[r]);
        }
    }
}

}  // namespace

AutopipeCut cut_trained_layers(const std::vector<LayerFacts>& layers, std::size_t first_trained,
                               std::size_t stages, const FrozenWeight& frozen_weight) {
    AutopipeCut cut;
    std::size_t size = 0;  // of the current stage, in units of AutopipeCut::largest
    for (std::size_t l = 0; l < first_trained; ++l) size += frozen_weight.numerator * layers[l].parameters;
    std::size_t begin = 0;
    std::size_t end = first_trained;
    for (std::size_t s = 0; s < stages; ++s) {
        const double bound = static_cast<double>(frozen_weight.denominator) *
                             compute_bound(std::span(layers).subspan(end), stages - s);
        for (; end < layers.size(); ++end) {
            const std::size_t grown_size = size + frozen_weight.denominator * layers[end].parameters;
            if (static_cast<double>(grown_size) >= bound) break;
            size = grown_size;
        }
        if (begin < end) {
            cut.layers.push_back(end - begin);
            cut.trained_layers.push_back(end - std::max(begin, first_trained));
            cut.largest = std::max(cut.largest, size);
        }
        begin = end;
        size = 0;
    }
    return cut;
}

AutopipeCut compress_pipeline(const std::vector<LayerFacts>& layers, std::size_t first_trained,
                              std::size_t stages, const AutopipeRules& rules) {
    const std::size_t budget = cut_trained_layers(layers, 0, rules.initial_stages, rules.frozen_weight).largest;
    AutopipeCut cut = cut_trained_layers(layers, first_trained, stages, rules.frozen_weight);
    while (stages >= 2) {
        stages /= 2;
        AutopipeCut shorter = cut_trained_layers(layers, first_trained, stages, rules.frozen_weight);
        if (shorter.largest > budget) break;
        cut = std::move(shorter);
    }
    return cut;
}

std::size_t count_pipeline_microbatches(std::size_t stages) {
    switch (stages) {
        case 8:
            return 2 * stages;
        case 2:
            return 8 * stages;
        default:
            return 4 * stages;
    }
}

Layout place_pipelines(const std::vector<std::size_t>& stage_layers, const AutopipeRules& rules) {
    const std::size_t stages = stage_layers.size();
    if (stages > rules.initial_stages) {
        throw BugError(
            cat("a pipeline of ", rules.initial_stages, " stages cannot shrink to ", stages, " stages"));
    }
    Layout layout;
    for (const std::size_t count : stage_layers) {
        layout.stages.push_back({.layers = {layout.layers, count}});
        layout.layers += count;
    }
    for (const std::vector<int>& node : rules.nodes) add_node(node, rules, layout);
    if (layout.stages.front().replicas.empty()) {
        throw ConfigError(cat("PipeTransformer keeps each pipeline within a node, but no node has ",
                              rules.initial_stages, " ranks for --pipe ", rules.initial_stages,
                              "; lower --pipe, or start more ranks per node"));
    }
    std::ranges::sort(layout.idle);
    return layout;
}

}  // namespace trireme::layout
