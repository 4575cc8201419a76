// A rank's engine on a bench: groups of MPI, and a counting worker.
#pragma once

#include <memory>
#include <vector>

#include "ranks/pipeline/counting_worker.hpp"
#include "ranks/pipeline/trials.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/pipeline/engine.hpp"

namespace trireme::pipeline {

int world_rank();
int world_size();

// Of the last ranks of the job, so that numbers in a group are not those in the job; they alone make one,
// together. The trial outlives it.
class Bench {
public:
    explicit Bench(const Trial& trial, device::Patience patience = {.stall_seconds = 20});

    // Whether this rank takes part in a trial.
    static bool is_needed(const Trial& trial) { return world_rank() >= world_size() - trial.ranks(); }

    int team() const { return team_of_rank(teams_, world_rank()); }

    // The shape outlives both; the bench outlives the engine.
    Engine engine(const schedule::PipelineShape& shape) const;
    CountingWorker worker(const schedule::PipelineShape& shape, bool updates_in_vain = false) const;

private:
    const Trial& trial_;
    std::vector<int> ranks_;           // of the job
    std::vector<layout::Team> teams_;  // of the job's ranks
    std::unique_ptr<comm::Communicator> activations_, gradients_;
};

}  // namespace trireme::pipeline
