#include "trireme/layout/balanced_cut.hpp"

#include <algorithm>

#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"
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

// The costs of a run of layers as a stage on one kind of device.
class KindCosts {
public:
    KindCosts(const std::vector<LayerLoad>& layers, const BalanceRules& rules)
        : loads_(layers), recomputed_loads_(recompute_all(layers)), rules_(rules) {}

    // Returns the seconds per micro-batch.
    double seconds(std::size_t stage, Range run) const {
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

    double update_seconds(std::size_t stage, Range run) const { return find_load(stage, run).update_seconds; }

    double bytes(std::size_t stage, Range run) const {
        const StagePosition& position = rules_.stages[stage];
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
    // Returns the bytes per micro-batch of the rows that the previous stage sends; 0 for the first stage.
    std::size_t find_input_bytes(Range run) const {
        return run.begin == 0 ? 0 : loads_.find_load({run.begin - 1, 1}).row_bytes;
    }

    RunLoads loads_, recomputed_loads_;
    const BalanceRules& rules_;
};

// The costs of a run of layers as a stage: the maximum over the kinds of devices that hold the stage.
class StageCosts {
public:
    StageCosts(const std::vector<std::vector<LayerLoad>>& kinds, const BalanceRules& rules) : rules_(rules) {
        for (const std::vector<LayerLoad>& layers : kinds) kinds_.emplace_back(layers, rules);
    }

    double seconds(std::size_t stage, Range run) const { return find_max(stage, run, &KindCosts::seconds); }
    double update_seconds(std::size_t stage, Range run) const {
        return find_max(stage, run, &KindCosts::update_seconds);
    }
    double bytes(std::size_t stage, Range run) const { return find_max(stage, run, &KindCosts::bytes); }

    // Returns the seconds per micro-batch, or `infinite_cost` if the stage exceeds the memory limit.
    double allowed_seconds(std::size_t stage, Range run) const {
        const auto limit = static_cast<double>(rules_.memory_limit);
        const bool fits_in_memory = rules_.memory_limit == 0 || bytes(stage, run) <= limit;
        return fits_in_memory ? seconds(stage, run) : infinite_cost;
    }

private:
    // Returns the maximum of a cost over the kinds of devices that hold the stage.
    double find_max(std::size_t stage, Range run, double (KindCosts::*figure)(std::size_t, Range) const) const {
        double maximum_figure = 0;
        for (const std::size_t kind : rules_.stages[stage].kinds)
            maximum_figure = std::max(maximum_figure, (kinds_[kind].*figure)(stage, run));
        return maximum_figure;
    }

    std::vector<KindCosts> kinds_;
    const BalanceRules& rules_;
};

[[noreturn]] void throw_limit_exceeded(const StageCosts& costs, std::size_t layers, const BalanceRules& rules) {
    const std::size_t stages = rules.stages.size();
    const auto bytes = [&](std::size_t stage, Range run) { return costs.bytes(stage, run); };
    const double min_bytes = find_best_cut(layers, stages, bytes, maximum).cost;
    throw ConfigError(cat("no cut of ", layers, " layers into ", stages, " stages keeps each within ",
                          rules.memory_limit, " bytes: the best needs ", static_cast<std::size_t>(min_bytes),
                          "; raise --memory-limit, or use more stages, smaller micro-batches or --recompute"));
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
    const auto seconds = [&](std::size_t stage, Range run) { return costs.allowed_seconds(stage, run); };
    const double slowest = find_best_cut(layers, stages, seconds, maximum).cost;
    if (slowest == infinite_cost) throw_limit_exceeded(costs, layers, rules);
    const auto update_cost = [&](std::size_t stage, Range run) {
        return seconds(stage, run) <= slowest ? costs.update_seconds(stage, run) : infinite_cost;
    };
    const double longest_update = find_best_cut(layers, stages, update_cost, maximum).cost;
    const auto squared_cost = [&](std::size_t stage, Range run) {
        const double cost = seconds(stage, run);
        return update_cost(stage, run) <= longest_update ? cost * cost : infinite_cost;
    };
    return find_best_cut(layers, stages, squared_cost, sum).lengths;
}

}  // namespace trireme::layout
