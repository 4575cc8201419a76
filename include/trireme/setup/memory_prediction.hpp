// Predicts the memory of ranks, by purpose, before anything is allocated.
#pragma once

#include <span>

#include "trireme/layout/pieces.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_stages.hpp"
#include "trireme/stage/resizer.hpp"

namespace trireme::setup {

// A plan, and the sizes that together with the plan determine the memory of a run. The run may be hypothetical.
// The referenced objects must outlive this struct.
struct SizedPlan {
    const model::ModelConfig& model;
    const plan::Plan& plan;
    device::DType dtype;
    const std::vector<stage::BatchShape>& largest_microbatches;  // see PlanState::largest_microbatches
    device::MemorySpace memory_space;  // memory space of tensors; `ghost` is counted like `host`
    // Per rank: see PlanState::step_limits. Empty: only the largest micro-batches limit a step.
    std::span<const StepLimit> step_limits = {};
    std::span<const StepLevel> step_levels = {};  // see PlanState::step_levels
    bool uses_cache = false;                      // see stage::PassVariant

    SizedPlan(const model::ModelConfig& model_config, const plan::Plan& run_plan, device::DType value_dtype,
              const std::vector<stage::BatchShape>& largest_shapes,
              device::MemorySpace space = device::MemorySpace::host)
        : model(model_config),
          plan(run_plan),
          dtype(value_dtype),
          largest_microbatches(largest_shapes),
          memory_space(space) {}
    SizedPlan(const Job& job, const PlanState& state)
        : SizedPlan(job.model, state.plan, job.dtype, state.largest_microbatches, job.memory_space) {
        step_limits = state.step_limits;
        step_levels = state.step_levels;
        uses_cache = config::uses_cache(job.config.policy);
    }
};

// Returns the rank's stages and shares. If the rank is idle, the result has team -1 and no stages.
stage::LocalWork make_local_work(const SizedPlan& sized_plan, int rank);
// Limits the buffers of a step in `work` to those of a step, or of an evaluation, with the largest
// micro-batches, and to SizedPlan::step_limits of the rank. If steps choose their recomputation, the buffers
// suffice for all choices. `work` is the work of a rank that is not idle.
void limit_step_memory(const SizedPlan& sized_plan, stage::LocalWork& work);

// The input batches, one per micro-batch, that a rank holds at a time during steps and evaluations, at most.
struct HeldBatches {
    std::size_t count = 0;       // batches that are in use, or have been read in advance
    std::size_t bytes_each = 0;  // largest number of input bytes that are copied to a GPU per micro-batch
};
// Returns the batches that a rank of the team with index `team` holds.
HeldBatches count_held_batches(const SizedPlan& sized_plan, int team);

// True if the program of the team with index `team` splits backward passes into gradients of inputs and
// gradients of weights.
bool splits_backward_passes(const plan::ProvedPrograms& training, int team);

// True if ranks may skip input channels of matmuls or compute matmuls of other ranks.
bool may_offload_or_skip(const plan::Plan& plan);

// Returns the configuration that determines the memory of a stage::Resizer. Training replaces
// some of its fields, such as the memory space.
stage::ResizerConfig make_resizer_config(const SizedPlan& sized_plan);

// Returns the tensors of the plan, and the pieces and buckets in which their gradients are reduced. The result
// is the same on every rank.
stage::GradientPlan make_gradient_plan(const SizedPlan& sized_plan, const layout::BucketRules& rules = {});

// Returns the parameter shards that a rank updates. With a sharded optimizer, these are the rank's own shards
// in `exchange`; otherwise they cover all of `specs`, the parameters that the rank holds.
std::vector<optim::ParameterShard> list_updated_shards(const SizedPlan& sized_plan,
                                                       const stage::GradientExchange& exchange,
                                                       const std::vector<model::ParameterSpec>& specs);

// Returns the predicted memory of a rank; 0 bytes for an idle rank. `optimizer` is null if the run only
// evaluates: the rank then has neither gradients nor optimizer state. `gradients` is the result of
// make_gradient_plan() for `sized_plan`. If `saves_checkpoints` is true, the run writes checkpoints during
// training. The result then includes the copy from which checkpoints are written.
RankMemory predict_rank_memory(const SizedPlan& sized_plan, const optim::OptimizerConfig* optimizer,
                               const stage::GradientPlan& gradients, int rank, bool saves_checkpoints = false);

// Returns the result of predict_rank_memory() for each of the ranks 0 to ranks - 1. Predicts the ranks of a
// class together (see find_rank_classes()), which is faster.
std::vector<RankMemory> predict_memory_of_ranks(const SizedPlan& sized_plan,
                                                const optim::OptimizerConfig* optimizer,
                                                const stage::GradientPlan& gradients, int ranks,
                                                bool saves_checkpoints = false);
// Returns the same for the plan `state` of a simulated run. Gradients are grouped into buckets as in a run that
// computes; a ghost run with many ranks has larger buckets.
std::vector<RankMemory> predict_plan_memory(const Job& job, const PlanState& state, int ranks);
// Returns the memory of each rank with the buckets of the job and, if the run writes checkpoints during
// training, with the copy from which they are written.
std::vector<RankMemory> predict_run_memory(const Job& job, const PlanState& state, int ranks);

// Describes the lack of memory on the first rank whose device in --cluster has too little. Returns an empty
// text if all devices have enough.
std::string explain_lack_on_devices(const Job& job, const std::vector<RankMemory>& memories);

}  // namespace trireme::setup
