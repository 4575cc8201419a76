#include "trireme/layout/balanced_cut.hpp"

#include <algorithm>

#include "layout/group_plan.hpp"
#include "trireme/base/error.hpp"
#include "trireme/layout/best_cut.hpp"

namespace trireme::layout {
namespace {

double larger(double a, double b) { return std::max(a, b); }
double sum(double a, double b) { return a + b; }

std::vector<LayerLoad> all_recomputed(const std::vector<LayerLoad>& layers) {
    std::vector<LayerLoad> again;
    for (const LayerLoad& layer : layers) again.push_back(recomputed(layer));
    return again;
}

// The costs of a run of layers as a stage on one kind of device.
class KindCosts {
public:
    KindCosts(const std::vector<LayerLoad>& layers, const BalanceRules& rules)
        : kept_(layers), recomputed_(all_recomputed(layers)), rules_(rules) {}

    double seconds(std::size_t stage, Range run) const {
        const LayerLoad& load = load_of(stage, run);
        const bool is_last = stage + 1 == rules_.stages.size();
        const double onward =
            is_last ? 0 : rules_.stages[stage].onward.seconds(static_cast<double>(load.row_bytes));
        const double back =
            stage == 0 ? 0 : rules_.stages[stage - 1].onward.seconds(static_cast<double>(rows_before(run)));
        return load.seconds + load.update_seconds / static_cast<double>(rules_.microbatches) + onward + back;
    }

    double update_seconds(std::size_t stage, Range run) const { return load_of(stage, run).update_seconds; }

    double bytes(std::size_t stage, Range run) const {
        const StagePlace& place = rules_.stages[stage];
        const LayerLoad& load = load_of(stage, run);
        const std::size_t largest_rows = std::max(load.row_bytes, rows_before(run));
        return static_cast<double>(load.held_bytes + load.workspace_bytes + place.in_flight * load.kept_bytes +
                                   place.row_buffers * largest_rows);
    }

private:
    const LayerLoad& load_of(std::size_t stage, Range run) const {
        return (rules_.stages[stage].recomputes ? recomputed_ : kept_).of(run);
    }
    std::size_t rows_before(Range run) const {
        return run.begin == 0 ? 0 : kept_.of({run.begin - 1, 1}).row_bytes;
    }

    RunLoads kept_, recomputed_;
    const BalanceRules& rules_;
};

// The costs of a run of layers as a stage: the maximum over the kinds of devices that hold the stage.
class StageCosts {
public:
    StageCosts(const std::vector<std::vector<LayerLoad>>& kinds, const BalanceRules& rules) : rules_(rules) {
        for (const std::vector<LayerLoad>& layers : kinds) kinds_.emplace_back(layers, rules);
    }

    double seconds(std::size_t stage, Range run) const { return most(stage, run, &KindCosts::seconds); }
    double update_seconds(std::size_t stage, Range run) const {
        return most(stage, run, &KindCosts::update_seconds);
    }
    double bytes(std::size_t stage, Range run) const { return most(stage, run, &KindCosts::bytes); }

    // Returns the seconds, or `impossible` if the stage exceeds the memory limit.
    double allowed_seconds(std::size_t stage, Range run) const {
        const auto limit = static_cast<double>(rules_.memory_limit);
        const bool is_allowed = rules_.memory_limit == 0 || bytes(stage, run) <= limit;
        return is_allowed ? seconds(stage, run) : impossible;
    }

private:
    double most(std::size_t stage, Range run, double (KindCosts::*figure)(std::size_t, Range) const) const {
        double most = 0;
        for (const std::size_t kind : rules_.stages[stage].kinds)
            most = std::max(most, (kinds_[kind].*figure)(stage, run));
        return most;
    }

    std::vector<KindCosts> kinds_;
    const BalanceRules& rules_;
};

[[noreturn]] void refuse_limit(const StageCosts& costs, std::size_t layers, const BalanceRules& rules) {
    const std::size_t stages = rules.stages.size();
    const auto bytes = [&](std::size_t stage, Range run) { return costs.bytes(stage, run); };
    const double least = best_cut(layers, stages, bytes, larger).cost;
    throw ConfigError(cat("no cut of ", layers, " layers into ", stages, " stages keeps each within ",
                          rules.memory_limit, " bytes: the best needs ", static_cast<std::size_t>(least),
                          "; raise --memory-limit, or use more stages, smaller micro-batches or --recompute"));
}

}  // namespace

void check_stage_count(std::size_t layers, std::size_t stages) {
    if (stages >= 1 && stages <= layers) return;
    throw ConfigError(cat("--partition measured cannot cut ", layers, " layers into ", stages,
                          " stages; use 1 to ", layers, " stages: change --pipe or --chunks"));
}

std::vector<std::size_t> balanced_cuts(const std::vector<LayerLoad>& layers, const BalanceRules& rules) {
    return balanced_cuts(std::vector<std::vector<LayerLoad>>{layers}, rules);
}

std::vector<std::size_t> balanced_cuts(const std::vector<std::vector<LayerLoad>>& kinds,
                                       const BalanceRules& rules) {
    const std::size_t layers = kinds.front().size();
    const std::size_t stages = rules.stages.size();
    check_stage_count(layers, stages);
    const StageCosts costs(kinds, rules);
    const auto seconds = [&](std::size_t stage, Range run) { return costs.allowed_seconds(stage, run); };
    const double slowest = best_cut(layers, stages, seconds, larger).cost;
    if (slowest == impossible) refuse_limit(costs, layers, rules);
    const auto update = [&](std::size_t stage, Range run) {
        return seconds(stage, run) <= slowest ? costs.update_seconds(stage, run) : impossible;
    };
    const double longest_update = best_cut(layers, stages, update, larger).cost;
    const auto square = [&](std::size_t stage, Range run) {
        const double cost = seconds(stage, run);
        return update(stage, run) <= longest_update ? cost * cost : impossible;
    };
    return best_cut(layers, stages, square, sum).lengths;
}

}  // namespace trireme::layout
