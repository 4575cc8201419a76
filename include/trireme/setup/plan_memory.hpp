// Predicts the memory of a rank by purpose, before anything is allocated.
#pragma once

#include "trireme/layout/pieces.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_stages.hpp"
#include "trireme/stage/resizer.hpp"

namespace trireme::setup {

// A plan and the sizes with which it determines the memory of an actual or hypothetical run.
struct SizedPlan {
    const model::ModelConfig& model;
    const plan::Plan& plan;
    device::DType dtype;
    const std::vector<stage::BatchShape>& largest_microbatches;  // shapes of a step and of an evaluation
    device::MemorySpace memory_space;                            // of tensors; `ghost` is counted like `host`

    SizedPlan(const model::ModelConfig& model_config, const plan::Plan& run_plan, device::DType value_dtype,
              const std::vector<stage::BatchShape>& largest_shapes,
              device::MemorySpace space = device::MemorySpace::host)
        : model(model_config),
          plan(run_plan),
          dtype(value_dtype),
          largest_microbatches(largest_shapes),
          memory_space(space) {}
    SizedPlan(const Job& job, const PlanState& state)
        : SizedPlan(job.model, state.plan, job.dtype, state.largest_microbatches, job.memory_space) {}
};

// Returns the rank's stages, shares and buffer sizes; without stages if the rank is idle.
stage::LocalWork make_local_work(const SizedPlan& sized_plan, int rank);

// Upper limits of what a rank holds at a time during steps and evaluations.
struct InFlight {
    std::size_t stashes = 0;      // activation stashes: in-flight micro-batches, summed over the rank's stages
    std::size_t row_buffers = 0;  // buffers for the rows of messages between stages
    std::size_t batches = 0;      // micro-batches whose input is read in advance or in use
    std::size_t batch_bytes = 0;  // input of the largest micro-batch that is copied to a GPU
};
// Returns the counts of the rank whose work is `work`.
InFlight count_in_flight(const SizedPlan& sized_plan, const stage::LocalWork& work);

// Returns the in-flight counts per team; `batch_bytes` stays 0, since the plan alone does not determine it.
std::vector<InFlight> count_in_flight_per_team(const plan::Plan& plan);

// True if the team's program splits backward passes into gradients of inputs and gradients of weights.
bool splits_backward_passes(const plan::ProvedPrograms& training, int team);

// True if ranks may skip input channels of matmuls or compute matmuls of other ranks.
bool may_offload_or_skip(const plan::Plan& plan);

// Returns the configuration that determines how much memory the choice of skipped channels needs. Training
// completes the configuration, e.g. with its memory space.
stage::ResizerConfig make_resizer_config(const SizedPlan& sized_plan);

// Returns the plan of gradient reductions, which is the same on every rank.
stage::GradientPlan make_gradient_plan(const SizedPlan& sized_plan, const layout::BucketRules& rules = {});

// Returns the parameter shards that a rank updates: those that it owns if the optimizer is sharded, otherwise
// all parameters that it holds.
std::vector<optim::ParameterShard> list_updated_shards(const SizedPlan& sized_plan,
                                                       const stage::GradientExchange& exchange,
                                                       const std::vector<model::ParameterSpec>& specs);

// Returns the predicted memory of a rank. If `optimizer` is null, the rank only evaluates and has neither
// gradients nor optimizer state. `saves_checkpoints` is true if the run writes checkpoints during training:
// then the copy from which they are written is included.
RankMemory predict_rank_memory(const SizedPlan& sized_plan, const optim::OptimizerConfig* optimizer,
                               const stage::GradientPlan& gradients, int rank, bool saves_checkpoints = false);

// Returns predict_rank_memory() of each of the ranks 0 to ranks - 1. Ranks of a class are computed together:
// see find_rank_classes().
std::vector<RankMemory> predict_memory_of_ranks(const SizedPlan& sized_plan,
                                                const optim::OptimizerConfig* optimizer,
                                                const stage::GradientPlan& gradients, int ranks,
                                                bool saves_checkpoints = false);

}  // namespace trireme::setup
