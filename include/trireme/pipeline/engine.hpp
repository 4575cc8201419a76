// Executes a rank's program, instruction by instruction, without decisions of its own. schedule/check.hpp
// defines the meaning of instructions. verify_programs() of that header must have found no fault in the
// program.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/pipeline/stage_worker.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::pipeline {

// The rank that an engine serves, and the two groups that carry its messages. All references must outlive the
// engine.
struct EngineContext {
    int rank = 0;  // in the job
    const std::vector<layout::Team>& teams;
    const schedule::PipelineShape& shape;
    bool is_sequence_parallel = false;          // each rank of a team holds only its own rows of a micro-batch
    bool completes_sends_before_steps = false;  // a STEP waits until all sends of this rank are complete
    comm::Communicator& activations;            // group for messages with activations
    comm::Communicator& gradients;        // group for messages with gradients; same members as `activations`
    const std::vector<int>& group_ranks;  // rank r of both groups is rank group_ranks[r] of the job; ascending
    int max_steps_in_flight = 1;          // maximum number of steps with messages in flight at the same time
    device::Trace* trace = nullptr;       // records what the engine does; null if not traced
};

class Engine {
public:
    explicit Engine(const EngineContext& context);
    ~Engine();

    // Executes a program, with point-to-point messages to and from the teams of neighbouring stages. Messages
    // may still be in flight when advance() returns; they are completed by later calls of advance() or by
    // finish(). Throws BugError, naming both instructions, if a received message is not the one that the
    // program names. Throws ResourceError, naming the waiting instruction and its position in the program, if a
    // message does not arrive in time.
    void advance(const schedule::Program& program, StageWorker& worker);
    // Waits until all messages are complete.
    void finish(StageWorker& worker);
    // Calls advance() and finish(), for a program after which no work is in flight.
    void execute(const schedule::Program& program, StageWorker& worker);

    // Measures the times of passes from now on, or no longer. While it measures, it waits for the device after
    // each pass.
    void measure_passes(bool on);
    // Returns the times of the passes that the last call of advance() executed; none if they were not measured.
    plan::MeasuredPasses pass_times() const;

    // Lets messages progress while a worker computes. The worker should call progress() regularly.
    void progress();

    bool is_executing() const;  // true within advance() and finish()
    // Returns for example "stands at 2RECV_B0, instruction 7 of 20" or "is between programs".
    std::string describe_position() const;
    double compute_executed_fraction() const;  // executed fraction of the current program's instructions

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::pipeline
