#include "trireme/setup/energy_planning.hpp"

#include <algorithm>
#include <utility>

#include "trireme/schedule/clocks.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/setup/clock_costs.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/energy_clocks.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_costs.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {
namespace {

// Returns the slowness of each team, which is that of its slowest rank; an empty list if no rank is slow.
std::vector<double> find_team_slowness(const plan::Plan& plan, const std::vector<double>& slowness) {
    if (std::ranges::all_of(slowness, [](double factor) { return factor <= 1; })) return {};
    std::vector<double> of_teams;
    for (const layout::Team& team : plan.teams) {
        double& slowest = of_teams.emplace_back(1);
        for (const int rank : team.ranks) slowest = std::max(slowest, slowness[static_cast<std::size_t>(rank)]);
    }
    return of_teams;
}

// Multiplies the times and the joules of the passes of each team by its slowness.
schedule::StepCosts slow_down(const schedule::StepCosts& costs, const plan::Plan& plan,
                              const std::vector<double>& team_slowness) {
    const schedule::PipelineShape& shape = plan.training.shape;
    const auto make_costs = [&](std::size_t clock) {
        std::vector<std::vector<schedule::StageCost>> slower(costs.stages());
        std::vector<bool> empty_microbatches;
        for (int m = 0; m < shape.microbatches; ++m) empty_microbatches.push_back(costs.is_empty(m));
        for (int stage = 0; stage < shape.stages(); ++stage) {
            for (int m = 0; m < shape.microbatches; ++m) {
                schedule::StageCost cost = costs.find(stage, m, clock);
                const double factor = team_slowness[static_cast<std::size_t>(shape.find_executor(stage, m))];
                for (double* const value :
                     {&cost.forward, &cost.backward_input, &cost.backward_weight, &cost.joules.forward,
                      &cost.joules.backward_input, &cost.joules.backward_weight})
                    *value *= factor;
                slower[static_cast<std::size_t>(stage)].push_back(cost);
            }
        }
        return schedule::StepCosts(std::move(slower), std::move(empty_microbatches));
    };
    schedule::StepCosts slower = make_costs(0);
    slower.add_clocks(costs.clocks(), make_costs);
    return slower;
}

}  // namespace

PlannedRun describe_planned_run(const Job& job, int ranks, const PlanState& state) {
    return {.config = job.config,
            .model = job.model,
            .request = make_plan_request(job.config),
            .ranks = ranks,
            .dtype = job.dtype,
            .largest_microbatches = state.largest_microbatches,
            .step_levels = state.step_levels,
            .device_memory = find_device_memory(job.config, job.devices, ranks)};
}

schedule::StepCosts predict_clocked_costs(const Job& job, const Machine& machine, const PlanState& state,
                                          std::size_t step) {
    StepPlanner planner(job, state);
    std::vector<plan::MicrobatchShape> shapes;
    for (const stage::BatchShape& shape : planner.list_shapes(step)) shapes.push_back(count_shape(shape));
    const PricedPlan priced = make_priced_plan(job, state);
    return StepCostPredictor(priced, machine).predict_at_all_clocks(shapes, planner.plan_step(step).fit.levels);
}

PlannedEnergy plan_energy(const Job& job, int ranks, const PlanState& state, std::size_t step,
                          const plan::ClockCosts* measured, const std::vector<double>& slowness) {
    PlanState without_clocks = state;
    set_pass_clocks([](int, const auto&) { return 0; }, without_clocks.plan);
    const plan::Plan& plan = without_clocks.plan;
    schedule::StepCosts costs =
        measured != nullptr ? make_measured_costs(*measured, plan, list_devices(job))
                            : predict_clocked_costs(job, choose_machine(job, ranks), without_clocks, step);
    const std::vector<double> team_slowness = find_team_slowness(plan, slowness);
    if (!team_slowness.empty()) costs = slow_down(costs, plan, team_slowness);
    const schedule::StepTime before = predict_step(plan.training.phases(), plan.training.shape, costs);
    const auto sum_all = [&](const std::vector<double>& joules) {
        return sum_joules(plan, joules, before.seconds, ranks, [&](int rank) {
            return job.devices ? find_clocks(job, rank) : std::span<const plan::DeviceClock>();
        });
    };
    const std::vector<double> min_joules =
        find_min_joules(plan.training.phases(), plan.training.shape, costs, before.seconds);
    return {
        .plan = choose_energy(plan, costs, describe_planned_run(job, ranks, without_clocks), team_slowness),
        .before = {
            .seconds = before.seconds, .joules = sum_all(before.joules), .min_joules = sum_all(min_joules)}};
}

}  // namespace trireme::setup
