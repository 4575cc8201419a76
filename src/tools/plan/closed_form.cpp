#include "tools/plan/closed_form.hpp"

#include <algorithm>

namespace trireme::tools {
namespace {

// Returns true if stages cost the same and only compute takes time.
bool are_even(const std::vector<schedule::StageCost>& costs) {
    const schedule::StageCost& first = costs.front();
    return std::all_of(costs.begin(), costs.end(), [&](const schedule::StageCost& cost) {
        return cost.forward == first.forward && cost.backward_input == first.backward_input &&
               cost.backward_weight == first.backward_weight && cost.send == 0 && cost.reduce == 0 &&
               cost.step == 0;
    });
}

schedule::EqualRow row_of(const plan::Plan& plan) {
    const auto rows = static_cast<double>(plan.layout.stages.front().replicas.size());
    const double pipe = static_cast<double>(plan.teams.size()) / rows;
    return {.pipe = pipe,
            .chunks = static_cast<double>(plan.layout.stages.size()) / pipe,
            .microbatches = static_cast<double>(plan.microbatches()) / rows};
}

// Returns true if all rows of teams execute the same number of micro-batches.
bool has_equal_rows(const plan::Plan& plan) {
    const auto rows = static_cast<int>(plan.layout.stages.front().replicas.size());
    return plan.microbatches() % rows == 0 && takes_even_turns(plan.layout);
}

// Returns true if the schedule validates updates and the first and last team share a table. The first team's
// updates then wait for the last team.
bool waits_for_tied_end(const schedule::PipelineShape& shape) {
    return shape.validates && shape.ties_ends && shape.holders.front() != shape.holders.back();
}

}  // namespace

std::optional<double> closed_form_bubble(const plan::Plan& plan,
                                         const std::vector<schedule::StageCost>& costs) {
    const bool is_regular = (is_grid(plan.layout) || is_v(plan.layout)) && plan.layout.idle.empty();
    const schedule::Schedule* const schedule = schedule::find_schedule(plan.schedule);
    if (schedule == nullptr || !is_regular || !are_even(costs)) return std::nullopt;
    if (!has_equal_rows(plan)) return std::nullopt;
    if (waits_for_tied_end(plan.training.shape)) return std::nullopt;
    const schedule::StageCost& cost = costs.front();
    const double pass = cost.pass();
    if (pass <= 0) return std::nullopt;
    const schedule::EqualRow row = row_of(plan);
    const std::optional<double> idle = schedule->idle(row, cost);
    if (!idle) return std::nullopt;
    return *idle / (row.microbatches * row.chunks * pass + *idle);
}

}  // namespace trireme::tools
