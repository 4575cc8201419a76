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

// The properties of an actual or hypothetical run that determine its memory.
struct SizedPlan {
    const model::ModelConfig& model;
    const plan::Plan& plan;
    device::DType dtype;
    const std::vector<stage::BatchShape>& largest;  // micro-batches
    device::MemorySpace place;                      // of tensors; ghosts are counted like the host

    SizedPlan(const model::ModelConfig& of_model, const plan::Plan& of_plan, device::DType of_numbers,
              const std::vector<stage::BatchShape>& of_batches,
              device::MemorySpace of_tensors = device::MemorySpace::host)
        : model(of_model), plan(of_plan), dtype(of_numbers), largest(of_batches), place(of_tensors) {}
    SizedPlan(const Job& job, const PlanState& state)
        : SizedPlan(job.model, state.plan, job.dtype, state.largest, job.place) {}
};

// Returns the rank's work in the plan; without stages if the rank is idle.
stage::LocalWork work_of(const SizedPlan& sized, int rank);

// Upper limits of what a rank holds at a time during steps and evaluations.
struct InFlight {
    std::size_t flights = 0;
    std::size_t row_buffers = 0;
    std::size_t batches = 0;      // micro-batches read in advance or in use
    std::size_t batch_bytes = 0;  // of the largest batch, if it is sent to a GPU
};
InFlight in_flight(const SizedPlan& sized, const stage::LocalWork& work);

// Returns the in-flight counts per team; `batch_bytes` stays 0, since the plan alone does not determine it.
std::vector<InFlight> in_flight_of_teams(const plan::Plan& plan);

// True if the team's program splits backward passes.
bool goes_back_in_halves(const plan::ProvedPrograms& training, int team);

// True if ranks may skip channels of matmuls or compute matmuls of other ranks.
bool shares_products(const plan::Plan& plan);

// Returns the configuration that determines the memory of channel selection.
stage::ResizerConfig resizer_config(const SizedPlan& sized);

// Returns the plan of gradient reductions, which is the same on every rank.
stage::GradientPlan gradient_plan(const SizedPlan& sized, const layout::BucketRules& rules = {});

// Returns the shards that a rank updates: the ones that it owns if the optimizer is sharded, otherwise all that
// it holds.
std::vector<optim::ParameterShard> updated_shards(const SizedPlan& sized,
                                                  const stage::GradientExchange& exchange,
                                                  const std::vector<model::ParameterSpec>& specs);

// Returns the predicted memory of a rank. If `optimizer` is null, the rank only evaluates and has neither
// gradients nor optimizer state. If the run `saves` during training, the copy that checkpoints are written from
// is included.
RankMemory plan_memory(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
                       const stage::GradientPlan& gradients, int rank, bool saves = false);

// Returns plan_memory() of each of the ranks 0 to ranks - 1. Equal ranks are computed once: see rank_classes().
std::vector<RankMemory> memory_of_ranks(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
                                        const stage::GradientPlan& gradients, int ranks, bool saves = false);

}  // namespace trireme::setup
