// What a rank will hold, by what it is for: known before it holds anything.
#pragma once

#include "train/setup.hpp"
#include "trireme/layout/pieces.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_stages.hpp"
#include "trireme/stage/resizer.hpp"

namespace trireme {

struct RankMemory {
    std::size_t parameters = 0;
    std::size_t gradients = 0;
    std::size_t optimizer = 0;
    std::size_t activations = 0;  // of all micro-batches in flight
    std::size_t workspace = 0;
    std::size_t messages = 0;  // on their way between stages and between replicas
    std::size_t copy = 0;      // of what a checkpoint is written from while the run goes on

    std::size_t total() const {
        return parameters + gradients + optimizer + activations + workspace + messages + copy;
    }
};

// What decides how much a rank holds: of a run, or of one that is only thought of.
struct SizedPlan {
    const ModelConfig& model;
    const Plan& plan;
    DType dtype;
    const std::vector<BatchShape>& largest;  // micro-batches

    SizedPlan(const ModelConfig& of_model, const Plan& of_plan, DType of_numbers,
              const std::vector<BatchShape>& of_batches)
        : model(of_model), plan(of_plan), dtype(of_numbers), largest(of_batches) {}
    SizedPlan(const Setup& setup) : SizedPlan(setup.model, setup.plan, setup.dtype, setup.largest) {}
};

// What the rank has been given by the plan; no stages where it is idle.
LocalWork work_of(const SizedPlan& sized, int rank);

// Whether some rank may leave out a part of its products, or computes one of another's.
bool shares_products(const Plan& plan);

// What decides how much memory it takes to choose channels.
ResizerConfig resizer_config(const SizedPlan& sized);

// Which gradients are summed with whom: the same on every rank.
GradientPlan gradient_plan(const SizedPlan& sized, const BucketRules& rules = {});

// The shards that a rank updates: its own of each piece, or all that it holds.
std::vector<ParameterShard> updated_shards(const SizedPlan& sized, const GradientExchange& exchange,
                                           const std::vector<ParameterSpec>& specs);

// Without optimizer and gradients where the rank only evaluates: `optimizer` is none. With the copy that
// checkpoints are written from where the run `saves` on its way.
RankMemory plan_memory(const SizedPlan& sized, const OptimizerConfig* optimizer, const GradientPlan& gradients,
                       int rank, bool saves = false);

// Of what a rank owns, with its moments.
std::size_t saved_bytes(const SizedPlan& sized, const OptimizerConfig& optimizer, const GradientPlan& gradients,
                        int rank);

}  // namespace trireme
