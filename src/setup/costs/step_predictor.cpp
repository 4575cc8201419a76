#include "trireme/setup/step_predictor.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/schedule/clocks.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_bytes.hpp"
#include "trireme/setup/step_costs.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {

std::vector<std::vector<std::size_t>> find_replicas(const schedule::PipelineShape& shape) {
    std::vector<std::vector<std::size_t>> replicas;
    for (std::size_t stage = 0; stage < shape.holders.size(); ++stage) {
        const std::vector<int>& teams = shape.holders[stage];
        std::vector<std::size_t>& row = replicas.emplace_back();
        for (int m = 0; m < shape.microbatches; ++m) {
            const int team = shape.find_executor(static_cast<int>(stage), m);
            row.push_back(static_cast<std::size_t>(std::ranges::find(teams, team) - teams.begin()));
        }
    }
    return replicas;
}

struct StepPredictor::State {
    State(const Job& job, PlanState plan_state, Machine machine_of_job, std::shared_ptr<StageWorks> works,
          const std::vector<RankMemory>& memories)
        : steps(job.steps),
          samples(job.samples.train.size()),
          is_elastic(is_elastic_by_length(job.config.policy)),
          current(std::move(plan_state)),
          placed_share(current.plan.frozen > 0 ? predict_placed_share(job) : 0),
          has_clocks(sets_clocks(current.plan.training.phases())),
          planner(job, current),
          machine(std::move(machine_of_job)),
          priced(make_priced_plan(job, current)),
          costs(priced, machine, std::move(works)),
          bytes({job, current}, memories) {}

    std::vector<plan::MicrobatchShape> count_shapes(std::size_t step) {
        std::vector<plan::MicrobatchShape> shapes;
        for (const stage::BatchShape& shape : planner.list_shapes(step)) shapes.push_back(count_shape(shape));
        return shapes;
    }

    CachedShares predict_shares(std::size_t step) const {
        return predict_cached_shares(current.samples, step, samples, placed_share);
    }

    schedule::StepCosts predict_costs(std::size_t step) {
        const std::vector<plan::MicrobatchShape> shapes = count_shapes(step);
        const std::vector<plan::MicrobatchLevels>& levels = planner.plan_step(step).fit.levels;
        const CachedShares cached = predict_shares(step);
        return has_clocks ? costs.predict_at_all_clocks(shapes, levels, cached)
                          : costs.predict(shapes, levels, cached);
    }

    std::size_t steps;
    std::size_t samples;  // of training
    bool is_elastic;
    PlanState current;
    double placed_share;  // of the samples, in the cache
    bool has_clocks;      // the plan sets clocks
    StepPlanner planner;
    Machine machine;
    PricedPlan priced;
    StepCostPredictor costs;
    StepBytes bytes;
    // The seconds of recent steps, if steps do not overlap.
    std::map<std::pair<std::vector<plan::MicrobatchShape>, CachedShares>, double> known_seconds = {};
};

StepPredictor::StepPredictor(const Job& job, const PlanState& current, int ranks, double flops,
                             const std::vector<double>& slowness) {
    Machine machine = choose_machine(job, ranks, flops);
    machine.slowness = find_slowness_on_machine(machine, slowness);
    state_ = std::make_unique<State>(job, current, std::move(machine), std::make_shared<StageWorks>(job.model),
                                     predict_run_memory(job, current, ranks));
}

StepPredictor::StepPredictor(const Job& job, PlanState current, Machine machine,
                             std::shared_ptr<StageWorks> works, const std::vector<RankMemory>& memories)
    : state_(std::make_unique<State>(job, std::move(current), std::move(machine), std::move(works), memories)) {
}

StepPredictor::~StepPredictor() = default;

// The time of a step depends on its neighbours only if steps overlap.
double StepPredictor::predict_seconds(std::size_t step) {
    const plan::ProvedPrograms& training = state_->current.plan.training;
    if (training.are_steps_independent()) return predict_independent_step(step);
    const std::size_t neighbours = static_cast<std::size_t>(training.look_ahead) + 1;
    const std::size_t first = step - std::min(step, neighbours);
    const std::size_t last = std::min(step + neighbours, std::max(step + 1, state_->steps) - 1);
    std::vector<schedule::StepCosts> costs;
    for (std::size_t each = first; each <= last; ++each) costs.push_back(state_->predict_costs(each));
    return predict_steps(training.phases(), training.shape, costs)[step - first] +
           state_->planner.plan_step(step).fit.offload_seconds;
}

double StepPredictor::predict_independent_step(std::size_t step) {
    constexpr std::size_t max_known_steps = 64;
    const std::pair key{state_->count_shapes(step), find_cached_shares(step)};
    if (const auto known = state_->known_seconds.find(key); known != state_->known_seconds.end())
        return known->second;
    if (state_->known_seconds.size() == max_known_steps) state_->known_seconds.clear();
    const plan::ProvedPrograms& training = state_->current.plan.training;
    const double seconds =
        predict_steps(training.phases(), training.shape, {state_->predict_costs(step)}).front() +
        state_->planner.plan_step(step).fit.offload_seconds;
    return state_->known_seconds[key] = seconds;
}

PredictedStep StepPredictor::predict_step(std::size_t step) {
    const schedule::PipelineShape& shape = state_->current.plan.training.shape;
    PredictedStep predicted{.microbatches = state_->count_shapes(step),
                            .replicas = find_replicas(shape),
                            .pass_seconds = {},
                            .seconds = predict_independent_step(step),
                            .memory = predict_memory(step)};
    for (const std::vector<schedule::StageCost>& of_stage : state_->costs.predict_costs(
             predicted.microbatches, predicted.memory.levels, find_cached_shares(step))) {
        std::vector<double>& row = predicted.pass_seconds.emplace_back();
        for (const schedule::StageCost& cost : of_stage) row.push_back(cost.compute_pass_time());
    }
    return predicted;
}

CachedShares StepPredictor::find_cached_shares(std::size_t step) const { return state_->predict_shares(step); }

bool StepPredictor::can_execute(std::size_t step) {
    try {
        state_->planner.plan_step(step);
        return true;
    } catch (const ConfigError&) {
        return false;
    }
}

std::optional<PredictedStep> StepPredictor::try_predict_step(std::size_t step) {
    try {
        return predict_step(step);
    } catch (const ConfigError&) {
        return std::nullopt;
    }
}

std::optional<double> StepPredictor::try_predict_seconds(std::size_t step) {
    try {
        return predict_seconds(step);
    } catch (const ConfigError&) {
        return std::nullopt;
    }
}

std::optional<double> StepPredictor::try_predict_memory_plan_seconds(std::size_t step) {
    const std::optional<double> seconds = try_predict_seconds(step);
    if (!seconds) return std::nullopt;
    const plan::ProvedPrograms& training = state_->current.plan.training;
    const double without =
        predict_steps(training.phases(), training.shape,
                      {state_->costs.predict(state_->count_shapes(step), {}, find_cached_shares(step))})
            .front();
    return std::max(0.0, *seconds - without);
}

std::size_t StepPredictor::predict_deficit_bytes(std::size_t step) {
    return state_->planner.plan_step(step).fit.deficit_bytes;
}

StepFit StepPredictor::predict_memory(std::size_t step) {
    StepFit fit = state_->planner.predict_memory(step);
    if (!state_->is_elastic)
        fit.predicted_bytes = state_->bytes.predict_max_bytes(state_->count_shapes(step), fit.levels);
    return fit;
}

}  // namespace trireme::setup
