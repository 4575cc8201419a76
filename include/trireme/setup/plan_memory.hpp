// What a rank will hold, by what it is for: known before it holds anything.
#pragma once

#include "trireme/layout/pieces.hpp"
#include "trireme/optim/config.hpp"
#include "trireme/setup/rank_memory.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_stages.hpp"
#include "trireme/stage/resizer.hpp"

namespace trireme::setup {

// What decides how much a rank holds: of a run, or of one that is only thought of.
struct SizedPlan {
    const model::ModelConfig& model;
    const plan::Plan& plan;
    device::DType dtype;
    const std::vector<stage::BatchShape>& largest;  // micro-batches
    device::MemorySpace place;                      // of tensors; of ghosts whatever is counted

    SizedPlan(const model::ModelConfig& of_model, const plan::Plan& of_plan, device::DType of_numbers,
              const std::vector<stage::BatchShape>& of_batches,
              device::MemorySpace of_tensors = device::MemorySpace::host)
        : model(of_model), plan(of_plan), dtype(of_numbers), largest(of_batches), place(of_tensors) {}
    SizedPlan(const Job& job, const PlanState& state)
        : SizedPlan(job.model, state.plan, job.dtype, state.largest, job.place) {}
};

// What the rank has been given by the plan; no stages where it is idle.
stage::LocalWork work_of(const SizedPlan& sized, int rank);

// What comes and goes while steps are made, and evaluations: how many a rank has at once, at most.
struct InFlight {
    std::size_t flights = 0;
    std::size_t row_buffers = 0;
    std::size_t batches = 0;      // micro-batches, as they are read
    std::size_t batch_bytes = 0;  // of the largest one where it is sent to a GPU
};
InFlight in_flight(const SizedPlan& sized, const stage::LocalWork& work);

// Returns the in-flight counts per team; `batch_bytes` stays 0, since the plan alone does not determine it.
std::vector<InFlight> in_flight_of_teams(const plan::Plan& plan);

// True if the program of the team divides backward passes.
bool goes_back_in_halves(const plan::ProvedPrograms& training, int team);

// Whether some rank may leave out a part of its products, or computes one of another's.
bool shares_products(const plan::Plan& plan);

// What decides how much memory it takes to choose channels.
stage::ResizerConfig resizer_config(const SizedPlan& sized);

// Which gradients are summed with whom: the same on every rank.
stage::GradientPlan gradient_plan(const SizedPlan& sized, const layout::BucketRules& rules = {});

// The shards that a rank updates: its own of each piece, or all that it holds.
std::vector<optim::ParameterShard> updated_shards(const SizedPlan& sized,
                                                  const stage::GradientExchange& exchange,
                                                  const std::vector<model::ParameterSpec>& specs);

// Without optimizer and gradients where the rank only evaluates: `optimizer` is none. With the copy that
// checkpoints are written from where the run `saves` on its way.
RankMemory plan_memory(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
                       const stage::GradientPlan& gradients, int rank, bool saves = false);

// plan_memory() of each of the ranks 0 to ranks - 1. The work of a class of equal ranks is walked once: see
// rank_classes().
std::vector<RankMemory> memory_of_ranks(const SizedPlan& sized, const optim::OptimizerConfig* optimizer,
                                        const stage::GradientPlan& gradients, int ranks, bool saves = false);

}  // namespace trireme::setup
