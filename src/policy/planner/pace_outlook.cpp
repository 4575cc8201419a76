#include "trireme/policy/pace_outlook.hpp"

#include <map>
#include <utility>
#include <vector>

#include "policy/distribute_layers.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme::policy {
namespace {

struct Programs {
    schedule::Phases phases;
    schedule::PipelineShape shape;
};

// Returns the programs for a layout; empty if the schedule does not support the layout. A search takes too long
// here, so 1F1B replaces a searched schedule if each team has one stage. To be fair, this also applies to the
// current layout, although its programs are known. Without such a replacement, a layout keeps the current
// programs if its teams execute the same micro-batches as in the current plan. Generated programs get enough
// slots that channels never block.
std::optional<Programs> make_programs(const layout::Layout& layout, const plan::Plan& current) {
    const schedule::PipelineShape& current_shape = current.training.shape;
    const plan::PlanWish wish{.layout = layout,
                              .microbatches = current_shape.microbatches,
                              .is_per_replica = false,
                              .frozen = current.frozen};
    if (!find_shape_obstacle(wish, make_teams(layout)).empty()) return std::nullopt;
    schedule::PipelineShape shape = make_shape(wish, make_teams(layout));
    const bool is_current_shape =
        shape.executor == current_shape.executor && shape.holders == current_shape.holders;
    const bool uses_1f1b_instead =
        current.schedule == schedule::searched_schedule_name && have_teams_one_stage(find_placement(layout));
    if (is_current_shape && !uses_1f1b_instead) return Programs{current.training.phases(), current_shape};
    const schedule::Schedule* const schedule =
        schedule::find_schedule(uses_1f1b_instead ? "1f1b" : current.schedule);
    if (schedule == nullptr) return std::nullopt;  // programs of a file or a search exist for one layout only
    shape = apply_update_rule(*schedule, std::move(shape));
    shape.has_tied_embeddings = current_shape.has_tied_embeddings;
    shape.slots = shape.microbatches * shape.stages() + shape.stages();
    if (!find_phases_obstacle(*schedule, shape).empty()) return std::nullopt;
    const schedule::Phases compute = remove_frozen_work(generate_phases(*schedule, shape), shape);
    if (!find_lowering_obstacle(compute, shape).empty()) return std::nullopt;
    return Programs{lower_phases(compute, shape), shape};
}

// Returns the costs of the micro-batches in each stage, at the pace of the team that executes them.
schedule::StepCosts compute_step_costs(const layout::Layout& layout, const StagePaces& paces,
                                       const LayerRunWork& work, const schedule::PipelineShape& shape) {
    std::vector<std::vector<schedule::StageCost>> costs;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const LayerWork& run = work.find(layout.stages[s].layers);
        std::map<int, schedule::StageCost> cost_by_team;
        for (std::size_t r = 0; r < paces[s].size(); ++r) {
            const double work_seconds = run.matmuls + run.other_kernels;
            const double factor = work_seconds > 0 ? paces[s][r].seconds(run) / work_seconds : 0;
            const double backward_input = work_seconds - run.forward - run.backward_weight;
            cost_by_team[shape.holders[s][r]] = {.forward = factor * run.forward,
                                                 .backward_input = factor * backward_input,
                                                 .backward_weight = factor * run.backward_weight};
        }
        std::vector<schedule::StageCost>& stage_costs = costs.emplace_back();
        for (const int team : shape.executor[s]) stage_costs.push_back(cost_by_team.at(team));
    }
    return schedule::StepCosts(std::move(costs));
}

}  // namespace

struct PaceOutlook::State {
    State(const UnevenRules& rules, const plan::Observation& observed, const plan::Plan& plan)
        : current(plan), work(list_layers(rules, plan.layout)), paces(observed, plan, work, rules) {}

    // The paces of the current layout have the effect of its offloaded work.
    TeamPace find_pace(const layout::ReplicaLayout& replica, bool is_current) const {
        if (!is_current) return paces.predict_pace(replica.ranks, replica.shares);
        const auto team = static_cast<std::size_t>(current.find_team(replica.ranks.front()));
        return paces.compute_current_pace(current.teams[team], replica.shares);
    }

    const plan::Plan& current;
    LayerRunWork work;
    TeamPaces paces;
};

PaceOutlook::PaceOutlook(const UnevenRules& rules, const plan::Observation& observed, const plan::Plan& current)
    : state_(std::make_unique<State>(rules, observed, current)) {}

PaceOutlook::~PaceOutlook() = default;

std::optional<double> PaceOutlook::predict_step_seconds(const layout::Layout& layout) const {
    const std::optional<Programs> programs = make_programs(layout, state_->current);
    if (!programs) return std::nullopt;
    const bool is_current = layout == state_->current.layout;
    StagePaces paces;
    for (const layout::StageLayout& stage : layout.stages) {
        std::vector<TeamPace>& replicas = paces.emplace_back();
        for (const layout::ReplicaLayout& replica : stage.replicas)
            replicas.push_back(state_->find_pace(replica, is_current));
    }
    return predict_step(programs->phases, programs->shape,
                        compute_step_costs(layout, paces, state_->work, programs->shape))
        .seconds;
}

}  // namespace trireme::policy
