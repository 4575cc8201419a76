#include "tools/plan/closed_form.hpp"

#include <algorithm>

namespace trireme {
namespace {

double pass_of(const StageCost& cost) { return cost.forward + cost.backward_input + cost.backward_weight; }

// Equal stages, and nothing but compute takes time.
bool are_even(const std::vector<StageCost>& costs) {
    const StageCost& first = costs.front();
    return std::all_of(costs.begin(), costs.end(), [&](const StageCost& cost) {
        return cost.forward == first.forward && cost.backward_input == first.backward_input &&
               cost.backward_weight == first.backward_weight && cost.send == 0 && cost.reduce == 0 &&
               cost.step == 0;
    });
}

bool is_ours(const std::string& schedule) {
    const std::vector<std::string> known = known_schedules();
    return std::find(known.begin(), known.end(), schedule) != known.end();
}

// A row of teams.
struct Row {
    double pipe = 1;
    double chunks = 1;
    double micro_batches = 1;
};

Row row_of(const Plan& plan) {
    const auto rows = static_cast<double>(plan.layout.stages.front().replicas.size());
    const double pipe = static_cast<double>(plan.teams.size()) / rows;
    return {.pipe = pipe,
            .chunks = static_cast<double>(plan.layout.stages.size()) / pipe,
            .micro_batches = static_cast<double>(plan.micro_batches()) / rows};
}

// A row with fewer micro-batches than teams waits once more for each further chunk.
double idle_of_whole_passes(const Row& row, const StageCost& cost) {
    return ((row.pipe - 1) + (row.chunks - 1) * std::max(0.0, row.pipe - row.micro_batches)) * pass_of(cost);
}

// That execute as many micro-batches each.
bool has_equal_rows(const Plan& plan) {
    const auto rows = static_cast<int>(plan.layout.stages.front().replicas.size());
    return plan.micro_batches() % rows == 0 && takes_even_turns(plan.layout);
}

using Idle = std::optional<double>;

// With fewer micro-batches than teams, fewer weight halves fill the gaps.
double idle_of_zb_h1(const Row& row, const StageCost& cost) {
    const double hidden = std::min(cost.forward, cost.backward_weight);
    const double filled = std::min(row.micro_batches, row.pipe) - 1;
    return (row.pipe - 1) * (cost.forward + cost.backward_input) - filled * hidden;
}

Idle idle_of_zb_h2(const Row& row, const StageCost& cost) {
    if (row.micro_batches < 2 * row.pipe - 1) return std::nullopt;
    const double unfilled = cost.forward + cost.backward_input - 2 * cost.backward_weight;
    return (row.pipe - 1) * std::max({0.0, unfilled, cost.backward_input - cost.forward});
}

Idle idle_of_zb_v(const Row& row, const StageCost& cost) {
    const bool are_equal = cost.forward == cost.backward_input && cost.forward == cost.backward_weight;
    if (!are_equal || row.micro_batches < 2 * row.pipe - 1) return std::nullopt;
    return 0;
}

Idle idle_of(ScheduleKind kind, const Row& row, const StageCost& cost) {
    switch (kind) {
        case ScheduleKind::inter_layer:
            return row.micro_batches * (row.pipe - 1) * pass_of(cost);
        case ScheduleKind::gpipe:
        case ScheduleKind::one_f_one_b:
        case ScheduleKind::interleaved:
        case ScheduleKind::looped_bfs:
            return idle_of_whole_passes(row, cost);
        case ScheduleKind::zb_h1:
            return idle_of_zb_h1(row, cost);
        case ScheduleKind::zb_h2:
            return idle_of_zb_h2(row, cost);
        case ScheduleKind::zb_v:
            return idle_of_zb_v(row, cost);
        case ScheduleKind::pipedream:
        case ScheduleKind::pipedream_vertical:
        case ScheduleKind::pipedream_2bw:
            return 0;  // once the pipeline is full
    }
    return std::nullopt;
}

// Then the first team's updates wait for the last team after all.
bool waits_for_tied_end(const PipelineShape& shape) {
    return shape.validates && shape.ties_ends && shape.holders.front() != shape.holders.back();
}

}  // namespace

std::optional<double> closed_form_bubble(const Plan& plan, const std::vector<StageCost>& costs) {
    const bool is_regular = (is_grid(plan.layout) || is_v(plan.layout)) && plan.layout.idle.empty();
    if (!is_ours(plan.schedule) || !is_regular || !are_even(costs)) return std::nullopt;
    if (!has_equal_rows(plan)) return std::nullopt;
    if (waits_for_tied_end(plan.training.shape)) return std::nullopt;
    const StageCost& cost = costs.front();
    if (pass_of(cost) <= 0) return std::nullopt;
    const Row row = row_of(plan);
    const Idle idle = idle_of(schedule_named(plan.schedule), row, cost);
    if (!idle) return std::nullopt;
    return *idle / (row.micro_batches * row.chunks * pass_of(cost) + *idle);
}

}  // namespace trireme
