// Executes a rank's program, instruction by instruction, without decisions of its own. schedule/check.hpp
// defines the meaning of instructions and has proved the program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/pipeline/stage_worker.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::pipeline {

// The position of a rank in the job, and the two groups that carry its messages. Rank r of a group is ranks[r]
// of the job. All references must outlive the engine.
struct EngineWiring {
    int rank = 0;  // in the job
    const std::vector<layout::Team>& teams;
    const schedule::PipelineShape& shape;
    bool are_rows_cut = false;  // sequence parallelism: each rank of a team has only its own rows
    comm::Communicator& activations;
    comm::Communicator& gradients;
    const std::vector<int>& ranks;   // members of the groups as ranks of the job, ascending
    int steps_in_flight = 1;         // at most
    device::Trace* trace = nullptr;  // records what the engine does; null if not traced
};

class Engine {
public:
    explicit Engine(const EngineWiring& wiring);
    ~Engine();

    // Point-to-point with the executors of neighbouring stages. Executes a program. Messages may still be in
    // flight when it returns; later programs complete them. Throws BugError, naming both
    // instructions, if a message is not the one that the program names. Throws ResourceError, naming the
    // waiting instruction and its position in the program, if a message stalls.
    void go_on(const schedule::Program& program, StageWorker& worker);
    // Waits until all messages are complete.
    void finish(StageWorker& worker);
    // Calls go_on() and finish(), for a program that is complete by itself.
    void execute(const schedule::Program& program, StageWorker& worker);

    // Lets messages progress while a worker computes. The worker calls it from time to time.
    void progress();

    bool is_executing() const;
    // "stands at 2RECV_B0, instruction 7 of 20" or "is between programs"
    std::string position() const;
    double part_done() const;  // fraction of the current program's instructions

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::pipeline
