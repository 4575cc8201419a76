#include "train/closed_form.hpp"

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

// In passes of one micro-batch through one chunk. A row with fewer micro-batches than teams waits once more for
// each further chunk.
double idle_passes(ScheduleKind kind, double pipe, double chunks, double micro_batches) {
    if (kind == ScheduleKind::inter_layer) return micro_batches * (pipe - 1);
    return (pipe - 1) + (chunks - 1) * std::max(0.0, pipe - micro_batches);
}

}  // namespace

std::optional<double> closed_form_bubble(const Plan& plan, const std::vector<StageCost>& costs) {
    const bool has_formula = is_ours(plan.schedule) && is_grid(plan.layout) && are_even(costs);
    if (!has_formula || pass_of(costs.front()) <= 0) return std::nullopt;
    const std::size_t rows = plan.layout.stages.front().replicas.size();
    const auto pipe = static_cast<double>(plan.teams.size() / rows);
    const double chunks = static_cast<double>(plan.layout.stages.size()) / pipe;
    const double micro_batches = static_cast<double>(plan.micro_batches()) / static_cast<double>(rows);
    const double idle = idle_passes(schedule_named(plan.schedule), pipe, chunks, micro_batches);
    return idle / (micro_batches * chunks + idle);
}

}  // namespace trireme
