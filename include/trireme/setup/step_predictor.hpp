// Predicts the time and the memory of training steps in the course of a run.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "trireme/setup/cached_visits.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_fitter.hpp"

namespace trireme::setup {

// A step, and its predicted costs. The tables have one row per stage with one entry per micro-batch.
struct PredictedStep {
    std::vector<plan::MicrobatchShape> microbatches;
    std::vector<std::vector<std::size_t>> replicas;  // index of the replica that executes the micro-batch
    std::vector<std::vector<double>> pass_seconds;   // forward plus backward
    double seconds = 0;                              // of the whole step
    StepFit memory = {};                             // see StepPredictor::predict_memory()
};

// Returns PredictedStep::replicas.
std::vector<std::vector<std::size_t>> find_replicas(const schedule::PipelineShape& shape);

class StepPredictor {
public:
    // `job` is kept by reference, and `current` is copied. `flops` is the FLOP rate of all ranks together.
    // `slowness` has one factor per rank: the observed time for a matmul relative to the median rank, or 1 if
    // the rank is not slow. If it is empty, no rank is slow.
    // Times are predicted for the devices and links of --cluster if set, otherwise from the layers, kernels and
    // links of --profile. If neither option is set, times follow from the work of the kernels and from `flops`,
    // and messages take no time. In this case only the ratios between the times of steps are meaningful. Throws
    // the errors of read_machine().
    StepPredictor(const Job& job, const PlanState& current, int ranks, double flops,
                  const std::vector<double>& slowness = {});
    // Predicts times for `machine`. `memories` is the result of predict_run_memory(). Predictors for plans of
    // the same job may share `works`.
    StepPredictor(const Job& job, PlanState current, Machine machine, std::shared_ptr<StageWorks> works,
                  const std::vector<RankMemory>& memories);
    ~StepPredictor();

    // Returns the predicted seconds of a step, which is numbered from 0.
    double predict_seconds(std::size_t step);
    // Returns the whole prediction. Steps must not overlap.
    PredictedStep predict_step(std::size_t step);
    // Returns the parts of the samples of a step that the prediction assumes to be in the cache.
    CachedShares find_cached_shares(std::size_t step) const;
    // True if the step fits into memory.
    bool can_execute(std::size_t step);
    // Same as predict_step(), but returns nothing if the step does not fit into memory.
    std::optional<PredictedStep> try_predict_step(std::size_t step);
    // Same as predict_seconds(), but returns nothing if the step does not fit into memory.
    std::optional<double> try_predict_seconds(std::size_t step);
    // Returns the seconds that additional recomputation and offload add to a step. Returns nothing if the step
    // does not fit into memory with them. Steps must not overlap.
    std::optional<double> try_predict_memory_plan_seconds(std::size_t step);
    // Returns the predicted memory of a step. Without --elastic length, predicted_bytes is that of the rank
    // that needs the most, and deficit_bytes and recomputed_bytes are not set.
    StepFit predict_memory(std::size_t step);
    // Returns StepFit::deficit_bytes. Takes less time than predict_memory().
    std::size_t predict_deficit_bytes(std::size_t step);

private:
    double predict_independent_step(std::size_t step);

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::setup
