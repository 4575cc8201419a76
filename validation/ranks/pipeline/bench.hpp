// The environment of a rank's engine in a test: MPI groups and a counting worker.
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

// Uses the last ranks of the job, so that ranks within a group differ from ranks of the job. Construction is
// collective over these ranks. `trial` must outlive the bench.
class Bench {
public:
    explicit Bench(const Trial& trial, device::WaitPolicy wait_policy = {.stall_seconds = 20});

    // True if this rank takes part in a trial.
    static bool is_needed(const Trial& trial) { return world_rank() >= world_size() - trial.ranks(); }

    int team() const { return find_team_of_rank(teams_, world_rank()); }

    // `shape` must outlive the engine and the worker; the bench must outlive the engine.
    Engine engine(const schedule::PipelineShape& shape) const;
    CountingWorker worker(const schedule::PipelineShape& shape, bool rollbacks = false) const;

private:
    const Trial& trial_;
    std::vector<int> ranks_;           // ranks of the job
    std::vector<layout::Team> teams_;  // with ranks of the job
    std::unique_ptr<comm::Communicator> activations_, gradients_;
};

}  // namespace trireme::pipeline
