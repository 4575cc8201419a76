// A run changes its plan between two steps, when nothing is in flight.
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

// The objects that are made anew for each plan of a run, and those that they are made with.
struct RunningPlan {
    const setup::Job& job;
    setup::PlanState& current;
    const comm::Session& session;
    comm::Communicator& control;
    comm::Communicator& mover;  // of all ranks, for state that moves
    rank::Watchdog& watchdog;
    std::optional<rank::RankTrainer>& trainer;  // of the plan
    int threads = 1;
    rank::GpuRoad road = {};
    device::Trace* trace = nullptr;
    rank::Stopping* stopping = nullptr;
    const std::vector<int>& nodes;     // of each rank
    comm::NodeMemory* twin = nullptr;  // for --move twins
    // Collective over all ranks. Saves all of the state and returns where, for --move restart.
    std::function<std::filesystem::path()> save = {};
};

// Collective over the ranks of a node. Nothing where the way needs none.
std::unique_ptr<comm::NodeMemory> make_twin(config::MoveWay way, const comm::Session& session,
                                            device::Patience patience);

// Collective over all ranks. The trainer of the running plan, with groups of its own.
void start_trainer(const RunningPlan& running);

// Collective over all ranks, which have all settled the same steps. Frees the groups and memory of the old plan
// except for the state, makes those of the new one, and moves the state in the way that --move says.
records::PlanChange switch_to(PlanTransition& transition, const RunningPlan& running);

}  // namespace trireme::adapt
