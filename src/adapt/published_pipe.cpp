#include "adapt/published_pipe.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/autopipe.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::adapt {
namespace {

layout::AutopipeRules make_rules(const setup::Job& job) {
    layout::AutopipeRules rules{.initial_stages = static_cast<std::size_t>(job.config.layout.pipe),
                                .adds_replicas = may_use_freed_ranks(job.config.policy)};
    std::map<int, std::vector<int>> ranks_by_node;
    for (std::size_t rank = 0; rank < job.nodes.size(); ++rank)
        ranks_by_node[job.nodes[rank]].push_back(static_cast<int>(rank));
    for (auto& [node, ranks] : ranks_by_node) rules.nodes.push_back(std::move(ranks));
    return rules;
}

// Returns the number of stages that the rule has reached, of which some may have no layer in `current`. It is
// --pipe if the rule has not made the layout of `current`.
std::size_t find_reached_stages(const std::vector<layout::LayerFacts>& layers, const plan::Plan& current,
                                const layout::AutopipeRules& rules) {
    const std::size_t first_trained = current.first_trained_layer();
    for (std::size_t stages = rules.initial_stages; stages > 0; stages /= 2) {
        const auto cut = cut_trained_layers(layers, first_trained, stages, rules.frozen_weight);
        const bool is_current =
            std::ranges::equal(cut.layers, current.layout.stages, {}, {},
                               [](const layout::StageLayout& stage) { return stage.layers.count; });
        if (is_current) return stages;
    }
    return rules.initial_stages;
}

}  // namespace

std::optional<plan::Decision> decide_published_pipe(const setup::Job& job, const setup::PlanState& current,
                                                    int frozen, std::size_t step) {
    const layout::AutopipeRules rules = make_rules(job);
    const std::vector<layout::LayerFacts> layers = setup::list_layer_facts(job.model);
    const layout::AutopipeCut first = cut_trained_layers(layers, 0, rules.initial_stages, rules.frozen_weight);
    layout::AutopipeCut cut = first;
    if (frozen > 0) {
        const std::size_t stages = find_reached_stages(layers, current.plan, rules);
        cut = compress_pipeline(layers, plan::find_first_trained_layer(frozen), stages, rules);
    }
    plan::Decision decision{
        .step = step, .layout = place_pipelines(cut.layers, rules), .frozen = frozen, .policy = "auto-pipe"};
    const std::size_t pipelines = decision.layout.stages.front().replicas.size();
    const std::size_t samples =
        may_grow_batch(job.config.policy) ? current.samples.grow_batch(pipelines) : current.samples.batch;
    const std::size_t per_pipeline =
        std::min(layout::count_pipeline_microbatches(cut.layers.size()), samples / pipelines);
    decision.microbatches = static_cast<int>(std::max<std::size_t>(1, per_pipeline) * pipelines);
    if (decision.layout == current.plan.layout && *decision.microbatches == current.plan.microbatches())
        return std::nullopt;
    decision.reason = cat(format_count(pipelines, "pipeline"), " of ", format_count(cut.layers.size(), "stage"),
                          ": the largest stage trains ", format_with_commas(cut.largest),
                          " parameters, and the budget of the rule is ", format_with_commas(first.largest));
    decision.terms = {{"largest_parameters", static_cast<double>(cut.largest)},
                      {"parameter_budget", static_cast<double>(first.largest)}};
    return decision;
}

}  // namespace trireme::adapt
