#include "tools/plan/counted_costs.hpp"

#include <algorithm>

#include "trireme/setup/model_flops.hpp"

namespace trireme {
namespace {

// A product with weights takes as long in the forward pass as for the gradient of its input and for that of its
// weights. Attention has two products of each two samples' rows, and four for their gradients, all of which
// belong to the gradient of its input.
StageCost cost_of(const Layer& layer, const ModelConfig& model, const BatchShape& micro_batch) {
    constexpr double giga = 1e-9;
    double squares = 0;
    for (const Segment& segment : micro_batch.segments)
        squares += static_cast<double>(segment.length) * static_cast<double>(segment.length);
    const double weights = giga * 2 * static_cast<double>(multiplying_parameters(layer, model)) *
                           static_cast<double>(micro_batch.rows);
    const bool attends = std::holds_alternative<AttentionHalf>(layer);
    const double scores = attends ? giga * 4 * static_cast<double>(model.width) * squares : 0;
    return {.forward = weights + scores, .backward_input = weights + 2 * scores, .backward_weight = weights};
}

}  // namespace

std::vector<StageCost> counted_costs(const ModelConfig& model, const Layout& layout,
                                     const BatchShape& micro_batch) {
    const std::vector<Layer> layers = build_layers(model);
    std::vector<StageCost> costs;
    for (const StageLayout& stage : layout.stages) {
        std::size_t ranks = stage.replicas.front().ranks.size();
        for (const ReplicaLayout& replica : stage.replicas) ranks = std::min(ranks, replica.ranks.size());
        const double share = 1 / static_cast<double>(ranks);
        StageCost sum{.forward = 0, .backward_input = 0, .backward_weight = 0};
        for (std::size_t l = stage.layers.begin; l < stage.layers.end(); ++l) {
            const StageCost cost = cost_of(layers[l], model, micro_batch);
            sum.forward += share * cost.forward;
            sum.backward_input += share * cost.backward_input;
            sum.backward_weight += share * cost.backward_weight;
        }
        costs.push_back(sum);
    }
    return costs;
}

}  // namespace trireme
