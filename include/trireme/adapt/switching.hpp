// Carries out a change of plan between two steps, when no micro-batch is in flight.
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

// The trainer, which is rebuilt for each plan of a run, and the objects that it is built with.
struct RunningPlan {
    const setup::Job& job;
    setup::PlanState& current;
    const comm::Session& session;
    comm::Communicator& control;
    comm::Communicator& mover;  // group of all ranks, only for moving state
    rank::Watchdog& watchdog;
    std::optional<rank::RankTrainer>& trainer;
    int threads = 1;
    rank::GpuRoad road = {};
    device::Trace* trace = nullptr;
    rank::Stopping* stopping = nullptr;
    const std::vector<int>& nodes;     // node of each rank
    comm::NodeMemory* twin = nullptr;  // node memory for --move twins
    // Collective over all ranks. Saves the whole state and returns the checkpoint's path, for --move restart.
    std::function<std::filesystem::path()> save = {};
};

// Collective over the ranks of a node. Returns the node memory that --move twins needs; null for other values.
std::unique_ptr<comm::NodeMemory> make_twin(config::MoveWay way, const comm::Session& session,
                                            device::Patience patience);

// Collective over all ranks. Makes the trainer of the current plan and its groups.
void start_trainer(const RunningPlan& running);

// Collective over all ranks, which must all have settled the same steps. Frees the groups and memory of the old
// plan except for the state, makes those of the new plan, and moves the state as --move requests.
records::PlanChange switch_to(PlanTransition& transition, const RunningPlan& running);

}  // namespace trireme::adapt
