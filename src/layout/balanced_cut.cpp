#include "trireme/layout/balanced_cut.hpp"

#include <algorithm>

#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/best_cut.hpp"

namespace trireme::layout {
namespace {

double maximum(double a, double b) { return std::max(a, b); }
double sum(double a, double b) { return a + b; }

std::vector<LayerLoad> recompute_all(const std::vector<LayerLoad>& layers) {
    std::vector<LayerLoad> loads;
    for (const LayerLoad& layer : layers) loads.push_back(add_full_recomputation(layer));
    return loads;
}

// The costs of each stage on one kind of device, for each range of layers `run` that the stage may hold.
class KindCosts {
public:
    KindCosts(const std::vector<LayerLoad>& layers, const BalanceRules& rules)
        : loads_(layers), recomputed_loads_(recompute_all(layers)), rules_(rules) {}

    // Returns the seconds per micro-batch: see find_balanced_cuts().
    double predict_seconds(std::size_t stage, Range run) const {
        const LayerLoad& load = find_load(stage, run);
        const bool is_last = stage + 1 == rules_.stages.size();
        const double send_seconds =
            is_last ? 0
                    : rules_.stages[stage].link_to_next.predict_seconds(static_cast<double>(load.row_bytes));
        const double send_back_seconds = stage == 0 ? 0
                                                    : rules_.stages[stage - 1].link_to_next.predict_seconds(
                                                          static_cast<double>(find_input_bytes(run)));
        return load.seconds + load.update_seconds / static_cast<double>(rules_.microbatches) + send_seconds +
               send_back_seconds;
    }

    // Returns the seconds of the stage's update, which is executed once per step.
    double predict_update_seconds(std::size_t stage, Range run) const {
        return find_load(stage, run).update_seconds;
    }

    double count_bytes(std::size_t stage, Range run) const {
        const StageProperties& position = rules_.stages[stage];
        const LayerLoad& load = find_load(stage, run);
        const std::size_t max_row_bytes = std::max(load.row_bytes, find_input_bytes(run));
        return static_cast<double>(load.state_bytes + load.workspace_bytes +
                                   position.in_flight * load.activation_bytes +
                                   position.row_buffers * max_row_bytes);
    }

private:
    const LayerLoad& find_load(std::size_t stage, Range run) const {
        return (rules_.stages[stage].recomputes ? recomputed_loads_ : loads_).find_load(run);
    }
    // Returns the bytes per micro-batch of the rows that the stage receives; 0 for the first stage.
    std::size_t find_input_bytes(Range run) const {
        return run.begin == 0 ? 0 : loads_.find_load({run.begin - 1, 1}).row_bytes;
    }

    RunLoads loads_, recomputed_loads_;
    const BalanceRules& rules_;
};

// The costs of each stage for each range of layers `run` that the stage may hold. Each cost is the maximum over
// the kinds of the stage's devices.
class StageCosts {
public:
    StageCosts(const std::vector<std::vector<LayerLoad>>& kinds, const BalanceRules& rules) : rules_(rules) {
        for (const std::vector<LayerLoad>& layers : kinds) costs_by_kind_.emplace_back(layers, rules);
    }

    double predict_seconds(std::size_t stage, Range run) const {
        return find_max_cost(stage, run, &KindCosts::predict_seconds);
    }
    double predict_update_seconds(std::size_t stage, Range run) const {
        return find_max_cost(stage, run, &KindCosts::predict_update_seconds);
    }
    double count_bytes(std::size_t stage, Range run) const {
        return find_max_cost(stage, run, &KindCosts::count_bytes);
    }

    // Returns the seconds per micro-batch, or `infinite_cost` if the stage exceeds the memory limit.
    double predict_seconds_within_limit(std::size_t stage, Range run) const {
        const auto max_bytes = static_cast<double>(rules_.memory_limit);
        const bool is_within_limit = rules_.memory_limit == 0 || count_bytes(stage, run) <= max_bytes;
        return is_within_limit ? predict_seconds(stage, run) : infinite_cost;
    }

private:
    // Returns the maximum of `cost` over the kinds of the stage's devices.
    double find_max_cost(std::size_t stage, Range run,
                         double (KindCosts::*cost)(std::size_t, Range) const) const {
        double max_cost = 0;
        for (const std::size_t kind : rules_.stages[stage].kinds)
            max_cost = std::max(max_cost, (costs_by_kind_[kind].*cost)(stage, run));
        return max_cost;
    }

    std::vector<KindCosts> costs_by_kind_;
    const BalanceRules& rules_;
};

[[noreturn]] void throw_limit_exceeded(const StageCosts& costs, std::size_t layers, const BalanceRules& rules) {
    const std::size_t stages = rules.stages.size();
    const auto count_bytes = [&](std::size_t stage, Range run) { return costs.count_bytes(stage, run); };
    const double min_bytes = find_best_cut(layers, stages, count_bytes, maximum).cost;
    throw ConfigError(cat("no cut of ", layers, " layers into ", format_count(stages, "stage"),
                          " keeps every stage within ", rules.memory_limit,
                          " bytes, its part of --memory-limit: the best cut needs ",
                          static_cast<std::size_t>(min_bytes),
                          " bytes; raise the limit, or use more stages, smaller micro-batches or --recompute"));
}

}  // namespace

void check_stage_count(std::size_t layers, std::size_t stages) {
    if (stages >= 1 && stages <= layers) return;
    throw ConfigError(cat("--partition measured cannot cut ", layers, " layers into ", stages,
                          " stages; use 1 to ", layers, " stages: change --pipe or --chunks"));
}

std::vector<std::size_t> find_balanced_cuts(const std::vector<LayerLoad>& layers, const BalanceRules& rules) {
    return find_balanced_cuts(std::vector<std::vector<LayerLoad>>{layers}, rules);
}

std::vector<std::size_t> find_balanced_cuts(const std::vector<std::vector<LayerLoad>>& kinds,
                                            const BalanceRules& rules) {
    const std::size_t layers = kinds.front().size();
    const std::size_t stages = rules.stages.size();
    check_stage_count(layers, stages);
    const StageCosts costs(kinds, rules);
    const auto predict_seconds = [&](std::size_t stage, Range run) {
        return costs.predict_seconds_within_limit(stage, run);
    };
    const double max_stage_seconds = find_best_cut(layers, stages, predict_seconds, maximum).cost;
    if (max_stage_seconds == infinite_cost) throw_limit_exceeded(costs, layers, rules);
    // An infinite cost excludes the cuts that an earlier criterion rejects.
    const auto predict_update_seconds = [&](std::size_t stage, Range run) {
        return predict_seconds(stage, run) <= max_stage_seconds ? costs.predict_update_seconds(stage, run)
                                                                : infinite_cost;
    };
    const double max_update_seconds = find_best_cut(layers, stages, predict_update_seconds, maximum).cost;
    const auto compute_squared_seconds = [&](std::size_t stage, Range run) {
        const double stage_seconds = predict_seconds(stage, run);
        return predict_update_seconds(stage, run) <= max_update_seconds ? stage_seconds * stage_seconds
                                                                        : infinite_cost;
    };
    return find_best_cut(layers, stages, compute_squared_seconds, sum).lengths;
}

}  // namespace trireme::layout
