// Executes a rank's program, instruction by instruction, and never decides. The meaning of instructions is that
// of schedule/check.hpp, which has proved the program.
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

// Where a rank stands among the others, and the two groups its messages travel in: rank r of a group is
// ranks[r] of the job. What the engine is made with outlives it.
struct EngineWiring {
    int rank = 0;  // in the job
    const std::vector<layout::Team>& teams;
    const schedule::PipelineShape& shape;
    bool are_rows_cut = false;  // sequence parallelism: a rank of a team has its own rows only
    comm::Communicator& activations;
    comm::Communicator& gradients;
    const std::vector<int>& ranks;   // of the job, ascending: those in the groups
    int steps_in_flight = 1;         // at once, at most
    device::Trace* trace = nullptr;  // of what it does; none: nobody asks
};

class Engine {
public:
    explicit Engine(const EngineWiring& wiring);
    ~Engine();

    // Point-to-point with the executors of neighbouring stages. A message that is not the one the program names
    // is a BugError naming both instructions; one that stalls a ResourceError naming the instruction that waits
    // and its place in the program. Messages may be in flight still when it returns, and are there for the
    // programs that go on from here.
    void go_on(const schedule::Program& program, StageWorker& worker);
    // Returns when all messages are complete.
    void finish(StageWorker& worker);
    // Both: of a program that stands by itself.
    void execute(const schedule::Program& program, StageWorker& worker);

    // Lets messages go on while a worker computes; called by it now and then.
    void progress();

    bool is_executing() const;
    // "stands at 2RECV_B0, instruction 7 of 20"; "is between programs".
    std::string position() const;
    double part_done() const;  // of the instructions of the program that is executed

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::pipeline
