// Changes the plan of a run between two steps, when no micro-batch is in flight.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "trireme/adapt/plan_transition.hpp"
#include "trireme/comm/node_memory.hpp"
#include "trireme/rank/gpu_groups.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "trireme/rank/watchdog.hpp"
#include "trireme/records/figures.hpp"

namespace trireme::adapt {

// The trainer of the current plan, and the objects from which the trainers of later plans are built.
struct RunningPlan {
    const setup::Job& job;
    setup::PlanState& current;
    const comm::Session& session;
    comm::Communicator& control;  // group of all ranks, for agreements such as the maximum of a time
    comm::Communicator& mover;    // group of all ranks; carries only the state that a transition moves
    rank::Watchdog& watchdog;
    std::optional<rank::RankTrainer>& trainer;
    int threads = 1;
    rank::GpuTransport transport = {};
    device::Trace* trace = nullptr;
    rank::Stopping* stopping = nullptr;
    comm::NodeMemory* staging_memory = nullptr;  // node memory for `--move twins`
    // Collective over all ranks. For --move restart: saves the whole state in a checkpoint and returns the path
    // of the checkpoint.
    std::function<std::filesystem::path()> save = {};
    // Collective over all ranks. Completes the trainer of a new plan, whose state has arrived.
    std::function<void()> complete_trainer = [] {};
};

// Collective over the ranks of a node. Returns the node memory that `--move twins` needs; null for other values
// of `method`.
std::unique_ptr<comm::NodeMemory> make_staging_memory(config::MoveMethod method, const comm::Session& session,
                                                      device::WaitPolicy wait_policy);

// Collective over all ranks. Makes the trainer and the communication groups of the current plan. `values` is
// that of rank::TrainingRank.
void start_trainer(const RunningPlan& running, std::optional<model::ParameterTensors> values = {});

// Collective over all ranks. The caller ensures that all ranks have settled the same steps (see
// RankTrainer::step()). Frees the groups of the old plan and its memory except the state. Then makes the groups
// and the memory of the new plan, and moves the state as --move requests.
records::PlanChange carry_out_transition(PlanTransition& transition, const RunningPlan& running);

}  // namespace trireme::adapt
