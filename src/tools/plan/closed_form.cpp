#include "tools/plan/closed_form.hpp"

#include <algorithm>

#include "trireme/schedule/clocks.hpp"

namespace trireme::tools {
namespace {

// Returns true if all stages have equal costs and only compute instructions take time.
bool are_stages_equal(const std::vector<schedule::StageCost>& costs) {
    const schedule::StageCost& first = costs.front();
    return std::all_of(costs.begin(), costs.end(), [&](const schedule::StageCost& cost) {
        return cost.forward == first.forward && cost.backward_input == first.backward_input &&
               cost.backward_weight == first.backward_weight && cost.send == 0 && cost.reduce == 0 &&
               cost.step == 0;
    });
}

// Returns the sizes of one pipeline replica of a grid or of a V-shaped layout.
schedule::PipelineSizes make_pipeline_sizes(const plan::Plan& plan) {
    const auto pipelines = static_cast<double>(plan.layout.stages.front().replicas.size());
    const double pipe = static_cast<double>(plan.teams.size()) / pipelines;
    return {.pipe = pipe,
            .chunks = static_cast<double>(plan.layout.stages.size()) / pipe,
            .microbatches = static_cast<double>(plan.microbatches()) / pipelines};
}

// Returns true if all pipeline replicas execute the same number of micro-batches.
bool has_equal_pipelines(const plan::Plan& plan) {
    const auto pipelines = static_cast<int>(plan.layout.stages.front().replicas.size());
    return plan.microbatches() % pipelines == 0 && has_even_turns(plan.layout);
}

// Returns true if updates are speculative, and the first and the last stage share a tied token table but belong
// to different teams. The update of the first team then waits for the last team's gradient of the table.
bool first_team_waits_for_tied_table(const schedule::PipelineShape& shape) {
    return shape.has_speculative_updates && shape.has_tied_embeddings &&
           shape.holders.front() != shape.holders.back();
}

}  // namespace

std::optional<double> compute_closed_form_bubble(const plan::Plan& plan,
                                                 const std::vector<schedule::StageCost>& costs) {
    const bool is_regular = (is_grid(plan.layout) || is_v_shaped(plan.layout)) && plan.layout.idle.empty();
    const schedule::Schedule* const schedule = schedule::find_schedule(plan.schedule);
    if (schedule == nullptr || !is_regular || !are_stages_equal(costs)) return std::nullopt;
    if (sets_clocks(plan.training.phases())) return std::nullopt;  // teams may have different clocks
    if (plan.frozen > 0) return std::nullopt;                      // stages have different passes
    if (!has_equal_pipelines(plan)) return std::nullopt;
    if (first_team_waits_for_tied_table(plan.training.shape)) return std::nullopt;
    const schedule::StageCost& cost = costs.front();
    const double pass_time = cost.compute_pass_time();
    if (pass_time <= 0) return std::nullopt;
    const schedule::PipelineSizes sizes = make_pipeline_sizes(plan);
    const std::optional<double> idle_time = schedule->compute_idle_time(sizes, cost);
    if (!idle_time) return std::nullopt;
    return *idle_time / (sizes.microbatches * sizes.chunks * pass_time + *idle_time);
}

}  // namespace trireme::tools
