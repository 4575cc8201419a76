#include "policy/step_seconds.hpp"

#include <algorithm>
#include <optional>

#include "trireme/layout/best_cut.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme::policy {
namespace {

struct Programs {
    schedule::Phases phases;
    schedule::PipelineShape shape;
};

// Returns programs with as many slots as can be used. A search would take too long, so 1F1B stands in for
// searched schedules, even for the current layout, whose programs are known: otherwise the comparison would be
// unfair.
std::optional<Programs> programs_for(const layout::Layout& layout, const plan::Plan& current) {
    const schedule::PipelineShape& now = current.training.shape;
    const plan::PlanWish wish{.layout = layout, .microbatches = now.microbatches, .is_each = false};
    if (!obstacle_to_shape(wish, teams_of(layout)).empty()) return std::nullopt;
    schedule::PipelineShape shape = shape_of(wish, teams_of(layout));
    const bool is_as_now = shape.executor == now.executor && shape.holders == now.holders;
    const bool is_stood_for =
        current.schedule == schedule::searched_schedule && has_one_stage_each(places_of(layout));
    if (is_as_now && !is_stood_for) return Programs{current.training.phases(), now};
    const schedule::Schedule* const schedule =
        schedule::find_schedule(is_stood_for ? "1f1b" : current.schedule);
    if (schedule == nullptr) return std::nullopt;  // programs from a file fit one layout only
    shape = with_updates_of(*schedule, std::move(shape));
    shape.ties_ends = now.ties_ends;
    shape.slots = shape.microbatches * shape.stages() + shape.stages();
    if (!obstacle_to_phases(*schedule, shape).empty()) return std::nullopt;
    const schedule::Phases compute = generate_phases(*schedule, shape);
    if (!obstacle_to_lowering(compute, shape).empty()) return std::nullopt;
    return Programs{lower_phases(compute, shape), shape};
}

double slowest(const std::vector<TeamPace>& paces, const LayerWork& run) {
    double seconds = 0;
    for (const TeamPace& pace : paces) seconds = std::max(seconds, pace.seconds(run));
    return seconds;
}

// Returns the costs of the slowest replica. A third of a micro-batch's time is its forward pass.
std::vector<schedule::StageCost> costs_of(const layout::Layout& layout, const StagePaces& paces,
                                          const RunWork& work) {
    std::vector<schedule::StageCost> costs;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const double third = slowest(paces[s], work.of(layout.stages[s].layers)) / 3;
        costs.push_back({.forward = third, .backward_input = third, .backward_weight = third});
    }
    return costs;
}

schedule::TeamFactors factors_of(const layout::Layout& layout, const StagePaces& paces, const RunWork& work,
                                 const schedule::PipelineShape& shape) {
    schedule::TeamFactors factors(layout.stages.size(),
                                  std::vector<double>(static_cast<std::size_t>(shape.teams), 1));
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const LayerWork& run = work.of(layout.stages[s].layers);
        const double most = slowest(paces[s], run);
        for (std::size_t r = 0; r < paces[s].size() && most > 0; ++r)
            factors[s][static_cast<std::size_t>(shape.holders[s][r])] = paces[s][r].seconds(run) / most;
    }
    return factors;
}

}  // namespace

double step_seconds(const layout::Layout& layout, const StagePaces& paces, const RunWork& work,
                    const plan::Plan& current) {
    const std::optional<Programs> programs = programs_for(layout, current);
    if (!programs) return layout::impossible;
    return predict_step(programs->phases, programs->shape, costs_of(layout, paces, work),
                        factors_of(layout, paces, work, programs->shape))
        .seconds;
}

}  // namespace trireme::policy
